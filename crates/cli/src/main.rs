//! The quietcore binary: parse the command line, run one verb, return its exit status.
fn main() {}
