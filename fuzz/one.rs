//! The body of every fuzzing binary: the target of the same name.
#![no_main]

mod targets;

use std::sync::OnceLock;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    let find = || {
        let mut all = targets::TARGETS.iter();
        all.find(|target| target.name == env!("CARGO_BIN_NAME"))
            .expect("a target of this name")
            .run
    };
    TARGET.get_or_init(find)(bytes);
});
