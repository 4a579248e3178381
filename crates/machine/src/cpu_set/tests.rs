//! Tests CPU sets: the notations in both directions, and the laws of sets.

use super::*;
use proptest::prelude::*;

fn check_list(text: &str, expected: &str) {
    assert_eq!(CpuSet::parse_list(text).unwrap().to_string(), expected, "of {text:?}");
}

#[test]
fn cpu_lists_are_parsed_and_printed() {
    check_list("", "");
    check_list(" \n", "");
    check_list("(null)\n", "");
    check_list("3", "3");
    check_list("0-3,8,10-12\n", "0-3,8,10-12");
    check_list(" 1 , 3 ", "1,3");
    check_list("5-7,2", "2,5-7");
    check_list("1-3,2-5,4", "1-5");
    check_list("0-15:1/4", "0,4,8,12");
    check_list("0-10:2/5", "0-1,5-6,10");
    check_list("0-6:2", "0,2,4,6");
    check_list("1-7:3/3", "1-7");
    check_list("63-64,127-128", "63-64,127-128");
    check_list("65535", "65535");
    check_list("3-3", "3");
}

#[test]
fn the_words_n_and_all_are_resolved_by_the_machine() {
    let possible = CpuSet::parse_list("0,2-5").unwrap();
    let check = |text: &str, expected: &str| {
        assert_eq!(
            CpuSet::parse_list_of(text, &possible).unwrap().to_string(),
            expected,
            "of {text}"
        );
    };
    check("N", "5");
    check("3-N", "3-5");
    check("all", "0,2-5");
    check("all,9", "0,2-5,9");
    check("0-N:1/2", "0,2,4");
    assert!(CpuSet::parse_list("N").is_err() && CpuSet::parse_list("all").is_err());
    assert!(CpuSet::parse_list_of("N", &CpuSet::new()).is_err());
}

#[test]
fn invalid_lists_are_refused() {
    let long = "1,".repeat(1000);
    for text in [
        "x",
        "-1",
        "1-",
        "1--2",
        "3-1",
        "1,,2",
        ",",
        "1,",
        "1:2",
        "0-3:0/2",
        "0-3:3/2",
        "0-3:/2",
        "0-3:1/",
        "0-3:1/0",
        "65536",
        "99999999999999999999",
        "0x3",
        "1 2",
        "+1",
        "1.5",
        "\u{661}",
        &long,
    ] {
        let error = CpuSet::parse_list(text).unwrap_err();
        assert!(error.text.chars().count() <= 60, "{error}");
    }
}

#[test]
fn cpu_masks_are_parsed() {
    let check = |text: &str, expected: &str| {
        assert_eq!(CpuSet::parse_mask(text).unwrap().to_string(), expected, "of {text:?}");
    };
    check("0", "");
    check("f", "0-3");
    check("0x5\n", "0,2");
    check("0X5", "0,2");
    check("1,00000000", "32");
    check("00000000,00000003", "0-1");
    check("8000,00000000,00000001", "0,79");
    check("ffffffffffffffffff", "0-71");
    for text in [
        "",
        "0x",
        "g",
        "1,2",
        "1,,2",
        ",1",
        "1,000000001",
        "f f",
        &"f".repeat(20_000),
    ] {
        assert!(CpuSet::parse_mask(text).is_err(), "{text:.20}");
    }
}

#[test]
fn masks_are_printed_as_the_kernel_prints_them() {
    let check = |list: &str, width: u32, expected: &str| {
        assert_eq!(
            CpuSet::parse_list(list).unwrap().to_mask(width),
            expected,
            "of {list} in {width}"
        );
    };
    check("", 1, "0");
    check("0-1", 2, "3");
    check("1", 8, "02");
    check("0-19", 20, "fffff");
    check("0,16-23", 112, "0000,00000000,00000000,00ff0001");
    check("17", 192, "00000000,00000000,00000000,00000000,00000000,00020000");
    check("63", 64, "80000000,00000000");
    check("40", 2, "100,00000000");
}

#[test]
fn huge_texts_are_parsed_in_linear_time() {
    let fastest_of_three = |ranges: usize| {
        let text = vec!["0-65535"; ranges].join(",");
        // CPU time of this thread only: other processes may use the CPU too.
        let spent = || {
            let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            std::time::Duration::try_from(spent).unwrap()
        };
        let once = || {
            let begin = spent();
            assert_eq!(CpuSet::parse_list(&text).unwrap().len(), 65_536);
            spent() - begin
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (few, many) = (fastest_of_three(1_000), fastest_of_three(10_000));
    // Ten times the text: a parser that backtracks would take a hundred times as long.
    assert!(many < few * 40, "{few:?}, then {many:?}");
}

fn any_set() -> impl Strategy<Value = CpuSet> {
    let spans = prop::collection::vec((0_u32..9000, 0_u32..70), 0..12);
    spans.prop_map(|spans| {
        spans.into_iter().fold(CpuSet::new(), |set, (first, more)| {
            set.or(&CpuSet::range(first, first + more))
        })
    })
}

#[test]
fn a_set_takes_no_memory_for_the_cpus_below_it() {
    assert_eq!(CpuSet::range(9_000, 9_001).words.len(), 1);
    let far = CpuSet::range(0, 60_000).and(&CpuSet::range(59_990, 65_000));
    assert_eq!((far.words.len(), far.words.capacity()), (1, 1));
}

proptest! {
    #[test]
    fn lists_round_trip(set in any_set()) {
        prop_assert_eq!(CpuSet::parse_list(&set.to_string()).unwrap(), set);
    }

    #[test]
    fn masks_round_trip(set in any_set(), width in 1_u32..10_000) {
        let mask = set.to_mask(width);
        prop_assert_eq!(&CpuSet::parse_mask(&mask).unwrap(), &set);
        let digits = mask.bytes().filter(u8::is_ascii_hexdigit).count() as u32;
        let wide = set.last().map_or(0, |cpu| cpu.0 + 1).max(width);
        prop_assert_eq!(digits, wide.div_ceil(4), "as many digits as CPUs need");
    }

    #[test]
    fn json_round_trips(set in any_set()) {
        let text = serde_json::to_string(&set).unwrap();
        prop_assert_eq!(serde_json::from_str::<CpuSet>(&text).unwrap(), set);
    }

    #[test]
    fn set_operations_agree_with_their_definition(a in any_set(), b in any_set()) {
        let (and, or, minus) = (a.and(&b), a.or(&b), a.minus(&b));
        for cpu in (0..9100).map(CpuId) {
            prop_assert_eq!(and.contains(cpu), a.contains(cpu) && b.contains(cpu));
            prop_assert_eq!(or.contains(cpu), a.contains(cpu) || b.contains(cpu));
            prop_assert_eq!(minus.contains(cpu), a.contains(cpu) && !b.contains(cpu));
        }
        prop_assert_eq!(a.intersects(&b), !and.is_empty());
        prop_assert_eq!(a.is_subset(&b), minus.is_empty());
        prop_assert_eq!(or.len(), and.len() + minus.len() + b.minus(&a).len());
        prop_assert_eq!(a.iter().collect::<CpuSet>(), a.clone());
        prop_assert_eq!(a.first(), a.iter().min());
        prop_assert_eq!(a.last(), a.iter().max());
        for set in [&a, &and, &or, &minus] {
            let used = |word: Option<&u64>| word.is_none_or(|word| *word != 0);
            prop_assert!(used(set.words.first()) && used(set.words.last()));
            let mut again = CpuSet::range(77, 300);
            again.set_words(&set.words());
            prop_assert_eq!(&again, set);
            let descending: Vec<CpuId> = set.iter().collect();
            prop_assert_eq!(&descending.into_iter().rev().collect::<CpuSet>(), set);
        }
        prop_assert_eq!(a.cmp(&b), a.words().cmp(&b.words()));
    }

    #[test]
    fn groups_are_expanded_as_the_kernel_expands_them(first in 0_u32..200, more in 0_u32..200, used in 1_u32..20, extra in 0_u32..20) {
        let size = used + extra;
        let text = format!("{first}-{}:{used}/{size}", first + more);
        let expected: CpuSet = (first..=first + more).filter(|cpu| (cpu - first) % size < used).map(CpuId).collect();
        prop_assert_eq!(CpuSet::parse_list(&text).unwrap(), expected);
    }

    #[test]
    fn no_text_causes_a_panic(text in "[0-9,:/xNal \\-]{0,40}") {
        let _ = CpuSet::parse_list(&text);
        let _ = CpuSet::parse_mask(&text);
        let _ = CpuSet::parse_list_of(&text, &CpuSet::range(0, 7));
    }
}
