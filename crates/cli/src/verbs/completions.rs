//! `completions`: prints a script that completes commands, options and their words in a shell.

use clap_complete::Shell;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Args, _: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "quietcore", &mut script);
    screen.stream(|out| out.write_all(&script));
    Ok(Status::Done)
}
