//! The quietcore program as a library: parses the command line, runs one verb, returns its exit status.
//!
//! `main.rs` only calls it. Tests of single parts link this instead of including sources by path.

mod accounts;
pub mod allocator;
mod declared;
pub mod decoders;
mod entries;
mod first_process;
mod foreign;
mod front_ends;
mod intent;
mod pattern;
mod placement;
mod policy;
mod program;
mod reading;
mod resize;
mod rt_group;
mod screen;
mod status;
mod verbs;

use clap::Parser;
use root::{Failure as CommandError, Status};
use screen::Screen;
use session::Session;

/// Give a program CPU cores that nothing else touches, and prove it.
#[derive(Parser)]
#[command(name = "quietcore", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 done or quiet, 1 a check failed, 2 wrong usage, 3 not permitted, \
    4 this kernel or machine cannot, 5 conflict or drift, 70 a bug.\n\
    Front ends, also by the name of the binary: cset, partrt, bitcalc, count_ticks (quietcore cset ...)."
)]
struct Cli {
    #[command(flatten)]
    screen: screen::Flags,
    #[command(subcommand)]
    verb: verbs::Verb,
}

/// Runs the program with the arguments of this process.
pub fn main() -> std::process::ExitCode {
    allocator::survives_forks();
    status::report_panics();
    if first_process::is_this() {
        return first_process::run().into();
    }
    let session = Session::live(&screen::StandardError);
    if let Some(status) = front_ends::run(&session, std::env::args_os()) {
        return status.into();
    }
    let cli = Cli::parse();
    let mut screen = Screen::new(&cli.screen);
    let status = match verbs::run(&cli.verb, &session, &mut screen) {
        Ok(status) => status,
        Err(error) => screen.error(&error),
    };
    screen.ended(status).into()
}

/// Seconds since 1970.
fn seconds_now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}
