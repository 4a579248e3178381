//! Command-line arguments that the project itself parses: `--pin`, `--policy` and `--nice`, and the front ends `cset`,
//! `partrt` and `bitcalc`. The input is one argument for the options, and words separated by blanks for the front ends.

use super::{FuzzTarget, owned, text};
use compat::bitcalc::{MaskFormat, cpus as bitcalc_cpus, evaluate as bitcalc};
use compat::decoders::{cset_cpus, cset_operands, cset_pids, partrt_operands};
use machine::CpuSet;
use session::comm_pattern::Pin;
use session::policy::{SchedulingPolicy, parse as policy, parse_nice as nice};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The option letters of partrt's commands.
const LETTERS: &[&str] = &[":hn:r:vVwx", ":abcdhmn:rtuw", ":c:f:hor:"];

/// Thread names of lengths that the kernel keeps.
const NAMES: &[&str] = &["", "io/0", "a-very-long-nam", "[]x-]*?"];

/// Number of bits of the widest mask that is printed in every form.
const PRINTED: usize = 1 << 14;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "arguments",
    seeds: || {
        owned(&[
            "io[!a-c]*?=2-3",
            "a=b*=0x3",
            "fifo:80",
            "deadline:100us/500us/1ms",
            "-20",
            "#1-2,4-7,0x10,010 #2-4 xor",
            "0xfe00,0001 ff and &1f xor print-bit-count",
            "0,3,5-7",
            "1,2,600-4294967295",
            "--cpu=1-3 -lvv --kthread on rt -- chrt -f 99",
            "-an1 -x --move --pidspec=1-3",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        pinned(&text);
        if let Ok(SchedulingPolicy::Deadline {
            runtime_ns,
            deadline_ns,
            period_ns,
        }) = policy(&text)
        {
            assert!(runtime_ns <= deadline_ns && deadline_ns <= period_ns);
        }
        if let Ok(nice) = nice(&text) {
            assert!((-20..=19).contains(&nice));
        }
        calculated(&text);
        of_cset(&text);
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        for letters in LETTERS {
            assert!(words.ends_with(partrt_operands(letters, &words)));
        }
    },
};

fn pinned(text: &str) {
    let Ok(pin) = Pin::parse(text) else { return };
    assert_eq!(format!("{}={}", pin.glob.text(), pin.cpus), text);
    for name in NAMES {
        let _ = pin.glob.matches(name);
    }
}

fn calculated(text: &str) {
    let Ok(bits) = bitcalc(text) else { return };
    let set: Vec<usize> = bits.set().collect();
    if let Ok(cpus) = bitcalc_cpus(&bits) {
        assert!(cpus.iter().map(|cpu| cpu.0 as usize).eq(set.iter().copied()));
    }
    if bits.width() > PRINTED {
        return;
    }
    for format in [MaskFormat::Mask, MaskFormat::U32List] {
        let again = bitcalc(&bits.text(format));
        // A mask without bits prints no word.
        let again: Vec<usize> = again.iter().flat_map(|bits| bits.set()).collect();
        assert_eq!(again, set);
    }
    assert_eq!(
        CpuSet::parse_list(&bits.text(MaskFormat::List))
            .ok()
            .map(|list| list.len()),
        Some(set.len())
    );
    let words = bits.text(MaskFormat::Array);
    assert_eq!(words.split_whitespace().count(), set.len());
}

fn of_cset(text: &str) {
    if let Some((cpus, mask)) = cset_cpus(text, 63) {
        assert!(cpus.last().is_none_or(|last| last.0 <= 63));
        assert_eq!(CpuSet::parse_mask(&mask), Ok(cpus));
    }
    let existing: BTreeSet<u32> = [1, 2, 601, 603, u32::MAX].into();
    let _ = cset_pids(text, &existing);
    let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
    for operands in cset_operands(&words).into_iter().flatten() {
        assert!(operands.iter().all(|operand| words.contains(operand)));
    }
}
