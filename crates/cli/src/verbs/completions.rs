//! `completions`: prints a script that completes commands, options and their values in a shell.
//!
//! The scripts ask `quietcore complete` for each word, so they do not change with the commands.

use clap::ValueEnum;
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

/// A shell that can complete.
#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the command.
pub fn run(args: &Args, _: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    screen.refuse_json("completions", "it prints a script for a shell", "leave --json out")?;
    let script = match args.shell {
        Shell::Bash => include_str!("completions/quietcore.bash"),
        Shell::Zsh => include_str!("completions/quietcore.zsh"),
        Shell::Fish => include_str!("completions/quietcore.fish"),
    };
    screen.stream(|out| out.write_all(script.as_bytes()));
    Ok(Status::Done)
}
