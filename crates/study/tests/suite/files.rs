//! Study files, valid and invalid: the cells that they define, and the errors with their lines.

use proptest::prelude::*;
use study::{MOST_BYTES, parse};

const PLAIN: &str = r#"repetitions = 2
[measure]
what = "latency"
cpus = "1"
for = "1s"
[axes]
"#;

fn with_axes(axes: &str) -> String {
    format!("{PLAIN}{axes}\n")
}

#[test]
fn cells_are_the_product_of_the_axes() {
    let text = with_axes(
        "isolation = [\"balanced\", \"own\"]\nload = [\"idle\", \"cpu+memory\"]\nknob = [\"stat_interval=60\", \"timer_migration\"]\n\
         [isolation.own]\nprofile = \"strict\"\nwithout = [\"transparent_hugepage\"]",
    );
    let study = parse(text.as_bytes()).unwrap();
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names.len(), 2 * 2 * 2 * 2);
    assert_eq!(names[0], "balanced-idle-stat_interval.off-timer_migration.off");
    assert_eq!(names[15], "own-cpu+memory-stat_interval.on-timer_migration.on");
    let unique: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    let last = study.cells[15].intent.as_ref().unwrap();
    assert_eq!(last.with["stat_interval"].as_deref(), Some("60"));
    assert!(last.without.contains("transparent_hugepage"));
    assert!(
        study.cells[0]
            .intent
            .as_ref()
            .unwrap()
            .without
            .contains("timer_migration")
    );
    assert_eq!(study.cells[15].load.len(), 2);
    assert_eq!(study.levels_of(&study.cells[15])["timer_migration"], "on");

    // Every pair differs in its axis and in no other. Four axes of two levels have 4 * 8 pairs.
    let pairs = study::pairs(&study.axes, &study.cells);
    assert_eq!(pairs.len(), 32);
    for pair in pairs {
        let (one, two) = (&study.cells[pair.first].levels, &study.cells[pair.other].levels);
        for axis in 0..study.axes.len() {
            assert_eq!(one[axis] != two[axis], axis == pair.axis);
        }
    }
}

#[test]
fn a_missing_axis_has_its_default_level() {
    let study = parse(with_axes("isolation = [\"none\", \"minimal\"]").as_bytes()).unwrap();
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["none-idle", "minimal-idle"]);
    assert!(study.cells[0].intent.is_none());
}

#[test]
fn errors_in_study_files_are_reported_with_their_line() {
    let two = "isolation = [\"none\", \"balanced\"]";
    for (axes, line, words) in [
        ("", 0, "a single cell"),
        ("isolation = []", 7, "`isolation` has no level"),
        ("load = []", 7, "`load` has no level"),
        ("knob = []\nisolation = [\"balanced\"]", 7, "`knob` has no level"),
        ("isolation = [\"none\", \"none\"]", 7, "`none` is listed twice"),
        ("load = [\"idle\",\n\"cpu\",\n\"cpu\"]", 9, "`cpu` is listed twice"),
        ("load = [\"cpu+io\", \"io+cpu\"]", 7, "the same load as `cpu+io`"),
        ("load = [\"cpu+cpu\", \"idle\"]", 7, "`cpu` is listed twice in"),
        ("load = [\"idle\", \"cpu+\"]", 7, "there is no load ``"),
        ("isolation = [\"none\",\n\"both\"]", 8, "there is no isolation `both`"),
        (
            "preemption = [\"full\", \"rt\"]",
            7,
            "there is no preemption model `rt`",
        ),
        ("preemption = []", 7, "`preemption` has no level"),
        ("preemption = [\"full\"]", 0, "a single cell"),
        (
            "kernel = [\"6.1\", \"/boot/\"]",
            7,
            "is neither a kernel release nor a path",
        ),
        (
            "kernel = [\"6.1\", \"..\"]",
            7,
            "is neither a kernel release nor a path",
        ),
        (
            "kernel = [\"/a/linux-6.1\", \"/b/linux-6.1\"]",
            7,
            "the same directories",
        ),
        (
            "isolation = [\"isolcpus\", \"balanced\"]\nknob = [\"timer_migration\"]",
            8,
            "`isolcpus` creates no partition",
        ),
        (
            "isolation = [\"none\", \"a\"]\n[isolation.a]\nboot = [\"nohz_full={cpus}\"]",
            8,
            "but no profile for the partition",
        ),
        (
            "isolation = [\"none\", \"a\"]\n[isolation.a]\nprofile = \"none\"\nwith = [\"timer_migration\"]",
            10,
            "creates no partition, so it has no knobs",
        ),
        (
            "isolation = [\"isolcpus\", \"a\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"isolcpus={cpus}\"]",
            7,
            "`a` is the same isolation as `isolcpus`",
        ),
        (
            "isolation = [\"none\", \"a\"]\npreemption = [\"full\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"preempt=none\"]",
            11,
            "`preempt=` is already set by an axis",
        ),
        (
            "isolation = [\"none\", \"cpuset\"]",
            7,
            "there is no isolation `cpuset`",
        ),
        (
            "isolation = [\"none\", \"../../etc\"]",
            7,
            "there is no isolation `../../etc`",
        ),
        ("isolation = [\"balanced\"]\nknob = [\"no_such\"]", 8, "no_such"),
        (
            "isolation = [\"balanced\"]\nknob = [\"stat_interval=x\"]",
            8,
            "stat_interval",
        ),
        (
            "isolation = [\"balanced\"]\nknob = [\"stat_interval=60\", \"stat_interval=30\"]",
            8,
            "is listed twice",
        ),
        (
            "isolation = [\"none\", \"balanced\"]\nknob = [\"timer_migration\"]",
            8,
            "`none` isolates nothing",
        ),
        (
            "isolation = [\"balanced\"]\nknob = [\"irq_affinity\"]\nspeed = [1]",
            9,
            "unknown field `speed`",
        ),
        (
            "isolation = [\"none\", \"a-b\"]\n[isolation.a-b]\n",
            8,
            "part of a directory name",
        ),
        (
            "isolation = [\"none\", \"a\"]\n[isolation.a]\n[isolation.b]",
            9,
            "no cell has the isolation `b`",
        ),
        (
            "isolation = [\"none\", \"strict\"]\n[isolation.strict]",
            8,
            "already has a meaning",
        ),
        (
            "isolation = [\"balanced\", \"a\"]\n[isolation.a]",
            7,
            "`a` is the same isolation as `balanced`",
        ),
        (
            "isolation = [\"none\", \"a\"]\n[isolation.a]\nwith = [\"stat_interval=60\"]\nwithout = [\"stat_interval\"]",
            10,
            "stat_interval",
        ),
        (
            "isolation = [\"a\"]\nknob = [\"timer_migration\"]\n[isolation.a]\nwith = [\"timer_migration\"]",
            8,
            "timer_migration",
        ),
        ("isolation = \"none\"", 7, "sequence"),
        ("isolation = [1]", 7, "string"),
    ] {
        let error = parse(with_axes(axes).as_bytes()).expect_err(axes);
        assert!(
            error.line == line && error.to_string().contains(words),
            "{axes}: {error}"
        );
        assert!(!error.next.is_empty(), "{axes}: {error}");
    }
    for (from, to, line, words) in [
        (
            "repetitions = 2",
            "repetitions = 0",
            1,
            "the number of repetitions is 0",
        ),
        ("repetitions = 2", "repetitions = 20000", 1, "more than 10000 runs"),
        ("repetitions = 2", "repetitions = 18446744073709551615", 1, ""),
        ("repetitions = 2", "repetitions = -2", 1, ""),
        (
            "repetitions = 2",
            "repetitions = 2\nbudget = \"900ms\"",
            2,
            "the budget is too short for a single run",
        ),
        ("repetitions = 2", "repetitions = 2\ncool_down = \"-1s\"", 2, ""),
        ("repetitions = 2", "repetitions = 2\ncool_to_c = 0", 2, "1 to 150"),
        ("repetitions = 2", "repetitions = 2\ncool_to_c = 151", 2, "1 to 150"),
        (
            "repetitions = 2",
            "repetitions = 2\ncool_to_c = -9223372036854775808",
            2,
            "1 to 150",
        ),
        (
            "repetitions = 2",
            "repetitions = 2\ncool_to_c = \"55\"",
            2,
            "invalid type",
        ),
        ("for = \"1s\"", "for = \"99ms\"", 5, "100ms to 24h"),
        ("for = \"1s\"", "for = \"25h\"", 5, "100ms to 24h"),
        ("for = \"1s\"", "for = \"1 parsec\"", 5, "parsec"),
        (
            "for = \"1s\"",
            "for = \"1s\"\ninterval = \"2s\"",
            6,
            "not longer than the run",
        ),
        (
            "what = \"latency\"",
            "what = \"noise\"\ninterval = \"1ms\"",
            4,
            "noise has no `interval`",
        ),
        (
            "what = \"latency\"",
            "what = \"all\"\npolicy = \"fifo:5\"",
            4,
            "chooses its policies itself",
        ),
        ("what = \"latency\"", "what = \"sleep\"", 3, "sleep"),
        ("cpus = \"1\"", "", 2, "missing field `cpus`"),
    ] {
        let text = with_axes(two).replace(from, to);
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.line == line && error.to_string().contains(words), "{to}: {error}");
    }
}

#[test]
fn a_million_cells_are_refused_without_creating_them() {
    // 20 optional knobs of a profile are 2^20 cells.
    let can_go = |knob: &&plan::Knob| knob.needed.is_empty() && matches!(knob.takes, plan::KnobValueKind::Nothing);
    let knobs: Vec<String> = plan::KNOBS
        .iter()
        .copied()
        .filter(can_go)
        .map(|knob| format!("\"{}\"", knob.name))
        .collect();
    assert!(knobs.len() >= 13, "only {} knobs", knobs.len());
    let all = format!("isolation = [\"balanced\"]\nknob = [{}]", knobs.join(", "));
    let error = parse(with_axes(&all).as_bytes()).unwrap_err();
    let cells = 1_u64 << knobs.len();
    assert!(error.what.contains(&format!("create {cells} cells")), "{error}");

    let many = |name: &str| -> String { (0..1024).map(|number| format!("\"{name}{number}\",")).collect() };
    let text = format!("isolation = [{}]\nload = [{}]", many("i"), many("l"));
    let error = parse(with_axes(&text).as_bytes()).unwrap_err();
    assert!(error.what.contains("create 1048576 cells"), "{error}");
}

#[test]
fn hostile_bytes_are_refused_with_a_printable_message() {
    let long = vec![b'#'; usize::try_from(MOST_BYTES).unwrap() + 1];
    for (bytes, words) in [
        (long.as_slice(), "larger than"),
        (b"a = 1\n\xff".as_slice(), "UTF-8"),
        (b"".as_slice(), "missing field"),
        (b"\"\x1b[2J\" = 1".as_slice(), ""),
        (b"[[[[[[[[".as_slice(), ""),
    ] {
        let error = parse(bytes).unwrap_err();
        let message = format!("{error}{}", error.next);
        assert!(
            message.contains(words) && !message.contains(char::is_control),
            "{message:?}"
        );
    }
    let escape = with_axes("isolation = [\"none\", \"\\u001b[2J\"]");
    let error = parse(escape.as_bytes()).unwrap_err();
    assert!(!error.to_string().contains(char::is_control), "{error:?}");
}

#[test]
fn boot_words_must_be_single_words_with_known_placeholders() {
    for (word, words) in [
        ("", "not a boot parameter"),
        ("a b", "not a boot parameter"),
        ("a\u{e9}", "not a boot parameter"),
        ("= 3", "not a boot parameter"),
        ("nohz_full={cpu}", "an unknown placeholder"),
        ("quietcore.trial=1", "of quietcore itself"),
    ] {
        let axes = format!(
            "isolation = [\"none\", \"a\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"skew_tick=1\",\n{word:?}]"
        );
        let error = parse(with_axes(&axes).as_bytes()).expect_err(word);
        assert!(
            error.line == 11 && error.to_string().contains(words),
            "{word:?}: {error}"
        );
    }
    let twice = "isolation = [\"none\", \"a\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"rcu_nocbs=1\", \"rcu-nocbs={cpus}\"]";
    let error = parse(with_axes(twice).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("is listed twice"), "{error}");
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in "\\PC*", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse(with_axes(&text).as_bytes());
        let _ = parse(with_axes(&format!("isolation = [\"none\", {text:?}]")).as_bytes());
    }
}
