//! What a panic prints, and the status with which it ends the process.

use root::Status;
use std::io::Write;

/// A panic is a bug of ours: say so in plain words and end with its status.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut err = std::io::stderr();
        // There is nobody left to tell when standard error is gone.
        let _ = writeln!(
            err,
            "error: quietcore met a bug in itself\n  why: {panic}\n next: please report it; `quietcore undo` takes \
             back whatever was in force"
        );
        std::process::exit(i32::from(Status::Bug.code()));
    }));
}
