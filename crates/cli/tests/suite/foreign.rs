//! The fuzzing targets of `fuzz/`, on stable and for a bounded time: every seed, then mutations of the seeds that are
//! the same in every run. `QUIETCORE_FUZZ=100000` tries more of them; `QUIETCORE_SEEDS=fuzz/corpus` writes the seeds
//! where cargo-fuzz looks for them.

#[path = "../../../../fuzz/targets/mod.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use targets::{TARGETS, Target};

/// Mutations of each target.
const ROUNDS: u64 = 400;

/// Longer inputs are cut.
const LONGEST: usize = 1 << 20;

/// A small generator with a period of 2^64 (Steele and others, "`SplitMix`").
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

/// What breaks parsers: limits of numbers, separators, control characters, text of other alphabets.
const WORDS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"\0",
    b"\n",
    b" ",
    b",",
    b":",
    b"../../..",
    b"\xff\xfe",
    "\u{202e}é".as_bytes(),
    b"(",
    b"-",
];

fn mutated(seeds: &[Vec<u8>], round: u64) -> Vec<u8> {
    let mut chance = Chance(round);
    let mut bytes = seeds[chance.below(seeds.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len() + 1);
        let to = (at + chance.below(64)).min(bytes.len());
        match chance.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 if at < bytes.len() => bytes[at] = chance.next().to_le_bytes()[0],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let word = WORDS[chance.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            5 => {
                let chunk = bytes[at..to].to_vec();
                let times = [1, 2, 20, 500][chance.below(4)];
                bytes.splice(at..at, chunk.repeat(times));
            }
            _ => {
                let other = &seeds[chance.below(seeds.len())];
                let from = chance.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

fn try_one(target: &Target, what: &str, bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))) {
        let shown: String = bytes
            .iter()
            .take(2_000)
            .flat_map(|byte| std::ascii::escape_default(*byte))
            .map(char::from)
            .collect();
        eprintln!(
            "target {}, {what}, {} bytes: b\"{shown}\"",
            target.name,
            bytes.len()
        );
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn no_input_breaks_a_parser() {
    let rounds = std::env::var("QUIETCORE_FUZZ")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(ROUNDS);
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        keep(target, &seeds);
        for (number, seed) in seeds.iter().enumerate() {
            try_one(target, &format!("seed {number}"), seed);
        }
        for round in 0..rounds {
            try_one(target, &format!("round {round}"), &mutated(&seeds, round));
        }
    }
}

fn keep(target: &Target, seeds: &[Vec<u8>]) {
    let Some(dir) = std::env::var_os("QUIETCORE_SEEDS") else {
        return;
    };
    // Tests run in the folder of their crate.
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(dir)
        .join(target.name);
    std::fs::create_dir_all(&dir).unwrap();
    for (number, seed) in seeds.iter().enumerate() {
        std::fs::write(dir.join(format!("seed-{number}")), seed).unwrap();
    }
}

#[test]
fn mutations_are_many_and_always_the_same() {
    let seeds = vec![b"0-31:2/4".to_vec(), b"all".to_vec()];
    let all = || (0..500).map(|round| mutated(&seeds, round)).collect::<Vec<_>>();
    let first = all();
    assert_eq!(first, all());
    let different: std::collections::BTreeSet<_> = first.iter().collect();
    assert!(different.len() > 250, "{} different inputs", different.len());
}

#[test]
fn every_target_has_its_file_and_its_binary() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let listed: Vec<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert!(listed.is_sorted());
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let binaries: Vec<String> = manifest
        .lines()
        .filter_map(|line| {
            Some(
                line.trim()
                    .strip_prefix("{ name = \"")?
                    .split('"')
                    .next()?
                    .to_owned(),
            )
        })
        .collect();
    assert_eq!(binaries, listed);
    let mut files: Vec<String> = std::fs::read_dir(fuzz.join("targets"))
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    assert_eq!(files, listed);
}
