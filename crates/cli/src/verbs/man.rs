//! `man`: writes the man pages, `quietcore.1` and one for each command.

use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `man`.
#[derive(clap::Args)]
pub struct Args {
    /// The directory, which must exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be written.
pub fn run(args: &Args, _: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let mut command = crate::command().disable_help_subcommand(true);
    command.build();
    let mut written = String::new();
    for (name, page) in pages(&command) {
        let path = args.out.join(format!("{name}.1"));
        root::output::write(&path, &page)?;
        written.push_str(&format!("{}\n", path.display()));
    }
    screen.text(&written);
    Ok(Status::Done)
}

/// The page of a command and of those below it, each with its name (`quietcore-boot-set`).
fn pages(command: &clap::Command) -> Vec<(String, Vec<u8>)> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    let mut page = Vec::new();
    // Writing into memory does not fail.
    let _ = clap_mangen::Man::new(command.clone())
        .source(concat!("quietcore ", env!("CARGO_PKG_VERSION")))
        .render(&mut page);
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    std::iter::once((name, page)).chain(below.flat_map(pages)).collect()
}
