//! The quietcore binary.

fn main() -> std::process::ExitCode {
    quietcore::main()
}
