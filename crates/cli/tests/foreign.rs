//! In its own process, because its allocator counts the memory that each input takes.
//!
//! Runs the fuzz targets of `fuzz/` on the stable compiler for a bounded time.
//!
//! The inputs are every seed, every input that once broke a target, and mutations of these that are the same in every
//! run. `QUIETCORE_FUZZ=100000` runs that many mutations, `QUIETCORE_FUZZ_TARGET=NAME` runs one target only.
//! `QUIETCORE_SEEDS=fuzz/corpus` writes the seeds to the directory where cargo-fuzz looks for them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../../fuzz/growth.rs"]
mod growth;
#[path = "../../../fuzz/limits.rs"]
mod limits;
#[path = "../../../fuzz/targets/mod.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use targets::{FuzzTarget, TARGETS};

#[global_allocator]
static ALLOCATOR: limits::CountingAllocator = limits::CountingAllocator;

/// The number of mutations per target.
const ROUNDS: u64 = 400;

/// Longer inputs are truncated.
const LONGEST: usize = 1 << 20;

/// A small random number generator with a period of 2^64 (Steele and others, "`SplitMix`").
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

/// Values that often break parsers: numeric limits, separators, control characters, non-Latin text.
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

fn try_one(target: &FuzzTarget, what: &str, bytes: &[u8]) {
    let run = || limits::run_within(target.name, target.run, bytes);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        let shown: String = bytes
            .iter()
            .take(2_000)
            .flat_map(|byte| std::ascii::escape_default(*byte))
            .map(char::from)
            .collect();
        eprintln!("target {}, {what}, {} bytes: b\"{shown}\"", target.name, bytes.len());
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn no_input_breaks_a_parser() {
    let rounds = std::env::var("QUIETCORE_FUZZ")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(ROUNDS);
    let only = std::env::var("QUIETCORE_FUZZ_TARGET").ok();
    let is_meant = |target: &&FuzzTarget| only.as_ref().is_none_or(|name| name == target.name);
    assert!(TARGETS.iter().any(|target| is_meant(&target)), "no target is {only:?}");
    for target in TARGETS.iter().filter(is_meant) {
        let seeds = inputs(target);
        for (number, seed) in seeds.iter().enumerate() {
            try_one(target, &format!("seed {number}"), seed);
        }
        for round in 0..rounds {
            try_one(target, &format!("round {round}"), &mutated(&seeds, round));
        }
    }
}

/// Returns the seeds of a target and the inputs that once broke it.
fn inputs(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let mut inputs = (target.seeds)();
    assert!(!inputs.is_empty(), "{} has no seeds", target.name);
    let mut files: Vec<_> = std::fs::read_dir(fuzz().join("regressions").join(target.name))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    inputs.extend(files.iter().map(|file| std::fs::read(file).unwrap()));
    inputs
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

#[test]
fn seeds_are_written_where_cargo_fuzz_expects_them() {
    let dir = tempfile::tempdir().unwrap();
    // Tests run in the directory of their crate.
    let named = std::env::var_os("QUIETCORE_SEEDS").map(|named| fuzz().join("..").join(named));
    let into = named.unwrap_or_else(|| dir.path().to_owned());
    for target in TARGETS {
        let into = into.join(target.name);
        std::fs::create_dir_all(&into).unwrap();
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(into.join(format!("seed-{number}")), seed).unwrap();
        }
        assert!(into.join("seed-0").is_file(), "{}", target.name);
    }
}

/// A compressed configuration that unpacks to 64 MiB. The target may use 144 MiB; without the limit of
/// [`root::Root::inflated`] it takes 192 MiB.
#[test]
fn a_decompression_bomb_stays_within_the_memory_limit() {
    const BOMB: &[u8] = &[5, 26, b'a'];
    let target = TARGETS.iter().find(|target| target.name == "packed_files");
    try_one(target.unwrap(), "bomb", BOMB);
}

#[test]
fn a_target_that_exceeds_its_memory_limit_fails() {
    let uses = |run: fn(&[u8])| catch_unwind(|| limits::run_within("cpu_lists", run, b"0-3"));
    assert!(uses(|_| drop(std::hint::black_box(vec![1_u8; 15 << 20]))).is_ok());
    let panic = uses(|_| drop(std::hint::black_box(vec![1_u8; 17 << 20]))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("target cpu_lists used 17825792 bytes"), "{message}");
}

#[test]
fn no_input_leaks_memory() {
    for target in TARGETS {
        for (number, seed) in inputs(target).iter().enumerate() {
            // The first run also allocates what is cached for later runs.
            (target.run)(seed);
            (target.run)(seed);
            let left = limits::memory_of(|| (target.run)(seed)).left_bytes;
            assert_eq!(left, 0, "target {}, seed {number}", target.name);
        }
    }
}

#[test]
fn work_and_memory_grow_at_most_linearly_with_the_input() {
    let mut steep = Vec::new();
    // The `packed_files` target is left out: its inputs contain the length of the unpacked data as a number.
    for target in TARGETS.iter().filter(|target| target.name != "packed_files") {
        for (number, seed) in inputs(target).iter().enumerate() {
            let found = growth::steep(target.name, target.run, seed);
            steep.extend(
                found
                    .iter()
                    .map(|what| format!("target {}, seed {number} {what}", target.name)),
            );
        }
    }
    assert!(steep.is_empty(), "{}", steep.join("\n"));
}

#[test]
fn mutations_are_numerous_and_deterministic() {
    let seeds = vec![b"0-31:2/4".to_vec(), b"all".to_vec()];
    let all = || (0..500).map(|round| mutated(&seeds, round)).collect::<Vec<_>>();
    let first = all();
    assert_eq!(first, all());
    let different: std::collections::BTreeSet<_> = first.iter().collect();
    assert!(different.len() > 250, "{} different inputs", different.len());
}

#[test]
fn every_fuzz_target_has_a_file_and_a_binary() {
    let fuzz = fuzz();
    let listed: Vec<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert!(listed.is_sorted());
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let binaries: Vec<String> = manifest
        .lines()
        .filter_map(|line| Some(line.trim().strip_prefix("{ name = \"")?.split('"').next()?.to_owned()))
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
