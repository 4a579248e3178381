//! The static release binary leaves out the tables of stack unwinding: with `panic = "abort"` nobody reads them, and the
//! compiler emits them all the same, for itself and for the standard library.

use std::env::var;

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
    }
}
