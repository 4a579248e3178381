//! The body of every fuzzing binary: runs the target of the same name.
#![no_main]

mod limits;
mod targets;

use std::sync::OnceLock;
use targets::FuzzTarget;

#[global_allocator]
static ALLOCATOR: limits::CountingAllocator = limits::CountingAllocator;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static TARGET: OnceLock<&FuzzTarget> = OnceLock::new();
    let find = || {
        let mut all = targets::TARGETS.iter();
        all.find(|target| target.name == env!("CARGO_BIN_NAME"))
            .expect("a target of this name")
    };
    let target = TARGET.get_or_init(find);
    limits::run_within(target.name, target.run, bytes);
});
