//! `man`: writes the man pages, `quietcore.1` and one for each command.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use root::{Failure, Status};
use session::Session;
use std::io::Write;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `man`.
#[derive(clap::Args)]
pub struct Args {
    /// Write the pages to this directory, which is made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be written.
pub fn run(args: &Args, _: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    screen.refuse_json("man", "it writes pages for the program man", "leave --json out")?;
    let mut command = crate::command().disable_help_subcommand(true);
    command.build();
    root::output::make_folder(&args.out)?;
    let mut written = String::new();
    for (name, page) in pages(&command, "") {
        let path = args.out.join(format!("{name}.1"));
        root::output::write(&path, &page)?;
        written.push_str(&format!("{}\n", path.display()));
    }
    screen.text(&written);
    Ok(Status::Done)
}

/// The page of a command and of those below it, each with its name (`quietcore-boot-set`). `above` lists the pages above
/// it, for SEE ALSO.
fn pages(command: &Command, above: &str) -> Vec<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut page = Vec::new();
    // Writing into memory does not fail.
    let _ = write_page(command, name, above, &mut page);
    // A request for a line break beside an empty line, of which checkers of pages warn.
    let page = String::from_utf8_lossy(&page)
        .replace(".br\n\n.br\n", "\n")
        .into_bytes();
    let path = match above {
        "" => format!("{name}(1)"),
        _ => format!("{above}, {name}(1)"),
    };
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    let own = std::iter::once((name.to_owned(), page));
    own.chain(below.flat_map(|one| pages(one, &path))).collect()
}

/// The sections of `clap_mangen`, except its list of all options in SYNOPSIS, and EXTRA, which has our examples.
fn write_page(command: &Command, name: &str, above: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    // Pages have no date, and its place must not be empty: the source would take it.
    let version = env!("CARGO_PKG_VERSION");
    writeln!(page, ".TH {name} 1 \"\" \"quietcore {version}\"")?;
    let man = Man::new(command.clone());
    man.render_name_section(page)?;
    let usage = command.clone().render_usage().to_string();
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]);
    add_lines(&mut synopsis, usage.trim_start_matches("Usage: "));
    synopsis.to_writer(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.get_subcommands().any(|one| !one.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    let mut closing = Roff::new();
    let text = command
        .get_after_long_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    for part in text.trim().split("\n\n") {
        let (heading, lines) = part
            .split_once(":\n")
            .filter(|(heading, _)| !heading.contains('\n'))
            .unwrap_or(("Notes", part));
        closing.control("SH", [heading.to_uppercase().as_str()]);
        add_lines(&mut closing, lines);
    }
    if !above.is_empty() {
        closing.control("SH", ["SEE ALSO"]);
        closing.text([roman(above)]);
    }
    closing.to_writer(page)
}

/// Adds lines that are not filled.
fn add_lines(roff: &mut Roff, lines: &str) {
    roff.control("nf", []);
    roff.text([roman(lines)]);
    roff.control("fi", []);
}
