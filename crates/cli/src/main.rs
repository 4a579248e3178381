//! The quietcore binary.

#[global_allocator]
static ALLOCATOR: quietcore::allocator::Allocator = quietcore::allocator::Allocator;

fn main() -> std::process::ExitCode {
    quietcore::main()
}
