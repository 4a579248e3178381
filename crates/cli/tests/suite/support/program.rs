//! Runs the program and captures its output.

use std::process::{Command, Output, Stdio};

/// Runs the program with these arguments and empty standard input, and waits for its end.
pub fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
