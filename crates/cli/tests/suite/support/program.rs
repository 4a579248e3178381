//! What tests that ask the program and read its answer share.

use std::process::{Command, Output, Stdio};

/// Runs it with these arguments, with nothing to read, and waits for its end.
pub fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
