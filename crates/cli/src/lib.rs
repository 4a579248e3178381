//! The quietcore program as a library: parses the command line, runs one command, returns its exit status.
//!
//! `main.rs` only calls it. Tests of single parts link this instead of including sources by path.

pub mod allocator;
mod flags;
mod foreign;
mod help;
mod intent;
mod page_args;
mod plans;
mod reading;
#[cfg(feature = "schema")]
pub mod schemas;
mod verbs;

use clap::{CommandFactory, FromArgMatches, Parser};
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use terminal::{OutputFormat, Screen, StandardError};

/// Give a program CPU cores that nothing else touches, and prove it.
#[derive(Parser)]
#[command(name = "quietcore", version, propagate_version = true, max_term_width = 100)]
#[command(disable_help_flag = true, disable_version_flag = true)]
#[command(
    after_long_help = "CPUS is a list (2-3,8), a mask (0xc) or topology words (core-of:3): `quietcore cpus --help`.\n\
    Front ends (quietcore cset ...), also by the name of the binary: cset, partrt, bitcalc,\n\
    count_ticks, systress.\n"
)]
struct Cli {
    #[command(flatten)]
    screen: flags::Flags,
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
}

/// The command line. Its help lists the commands by what they are for.
#[must_use]
pub fn command() -> clap::Command {
    let command = help::described(bare_command());
    let groups = verbs::groups_text(&command);
    let template = format!(
        "{{about}}\n{{usage-heading}} {{usage}}\n\n{groups}Global options:\n{{options}}{{after-help}}\n\
         `quietcore COMMAND --help` explains a command; `quietcore` alone prints the status.\n"
    );
    command.help_template(template)
}

/// The command line without examples and exit statuses.
fn bare_command() -> clap::Command {
    Cli::command().args(flags::help_and_version())
}

/// The exit statuses of all commands: the number, and what it means.
#[must_use]
pub fn exit_statuses() -> &'static [(u8, &'static str)] {
    &help::STATUSES
}

/// The commands whose exit statuses say more: the command, the status, and when it is returned.
#[must_use]
pub fn command_exit_statuses() -> &'static [(&'static str, &'static str, &'static str)] {
    &help::COMMAND_STATUSES
}

/// Runs the program with the arguments of this process.
pub fn main() -> std::process::ExitCode {
    allocator::survives_forks();
    report_panics();
    if experiment::is_init_of_a_guest() {
        return experiment::run_as_init(&StandardError::Normal).into();
    }
    let command_line: Vec<OsString> = std::env::args_os().collect();
    #[cfg(feature = "compat")]
    let command_line = match compat::run(&command_line) {
        Some(compat::CompatOutcome::Finished(status)) => return status.into(),
        Some(compat::CompatOutcome::Instead(words)) => words,
        None => command_line,
    };
    let command = match help::is_long_requested(&command_line) {
        true => help::compact(command()),
        false => command(),
    };
    let matches = command
        .try_get_matches_from(&command_line)
        .unwrap_or_else(|error| help::with_synonym(error, &command_line).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let session = Session::live(cli.screen.reporter());
    let mut screen = cli.screen.screen();
    let verb = cli
        .verb
        .unwrap_or_else(|| verbs::Verb::Status(verbs::status::Args::default()));
    let status = match verbs::run(&verb, &session, &mut screen) {
        Ok(status) => status,
        Err(error) => screen.error(&error),
    };
    screen.final_status(status).into()
}

/// Where a parallel command writes: to standard error if standard output carries our JSON.
fn command_output(form: OutputFormat) -> Option<BorrowedFd<'static>> {
    (form == OutputFormat::Json).then(rustix::stdio::stderr)
}

/// Writes a document to the named file, else to standard output.
fn deliver(text: &str, out: Option<&Path>, screen: &mut Screen) -> Result<(), Failure> {
    match out {
        Some(path) => root::output::write(path, text.as_bytes())?,
        None => screen.stream(|out| out.write_all(text.as_bytes())),
    }
    Ok(())
}

/// A panic is a bug of ours: prints a plain message and exits with its status.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut err = std::io::stderr();
        // Without standard error, the message cannot be reported anywhere.
        let _ = writeln!(
            err,
            "error: this is a bug in quietcore\n  why: {panic}\n next: please report it; `quietcore undo` restores the \
             machine"
        );
        std::process::exit(i32::from(Status::Bug.code()));
    }));
}
