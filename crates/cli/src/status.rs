//! Prints a panic, and sets the exit status of the process.

use root::Status;
use std::io::Write;

/// A panic is a bug of ours: prints a plain message and exits with its status.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut err = std::io::stderr();
        // Without standard error, the message cannot be reported anywhere.
        let _ = writeln!(
            err,
            "error: quietcore met a bug in itself\n  why: {panic}\n next: please report it; `quietcore undo` takes \
             back whatever was in force"
        );
        std::process::exit(i32::from(Status::Bug.code()));
    }));
}
