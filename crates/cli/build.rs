//! Makes the static release binary small: packed relocations; equal functions once (with LLVM's linker); no tables of stack
//! unwinding. With `panic = "abort"` no code reads those, and the compiler emits them anyway, for itself and for the
//! standard library.

use std::env::var;
use std::process::Command;

/// The first Rust whose musl relocates itself by packed relocations (musl 1.2.5).
const RUST_WITH_NEW_MUSL: u32 = 93;

fn main() {
    const SCRIPT: &str = "no_unwinding.ld";
    println!("cargo::rerun-if-changed={SCRIPT}");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, expected: &str| var(name).is_ok_and(|value| value == expected);
    if is("CARGO_CFG_TARGET_ENV", "musl")
        && is("PROFILE", "release")
        && let Ok(folder) = var("CARGO_MANIFEST_DIR")
    {
        println!("cargo::rustc-link-arg-bins=-T");
        println!("cargo::rustc-link-arg-bins={folder}/{SCRIPT}");
        let is_llvm = var("RUSTC_LINKER").is_ok_and(|linker| linker.ends_with("lld"));
        if is_llvm {
            println!("cargo::rustc-link-arg-bins=--icf=all");
        }
        // A tenth of the space. A linker that does not know them ignores the word.
        match rust_minor().is_some_and(|minor| minor >= RUST_WITH_NEW_MUSL) {
            true if is_llvm => println!("cargo::rustc-link-arg-bins=-zpack-relative-relocs"),
            true => println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs"),
            false => {}
        }
    }
}

/// N of the compiler's version 1.N.
fn rust_minor() -> Option<u32> {
    let output = Command::new(var("RUSTC").ok()?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}
