//! `complete`: prints the words that may come next on a command line. The scripts of `completions` call it.
//!
//! Each line is a word, a tab and what it means. A line `<files>`, `<directories>` or `<programs>` requests the names
//! that the shell knows. An error would disturb a user who types: without an answer, the output is empty.
//!
//! `clap_complete` writes the fixed words into a script, once for each shell, and cannot know which values a shell
//! should ask for. One walk over the same `clap` commands is smaller, and serves fixed and changing words alike.

mod line;
mod values;

use line::CommandLine;
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use terminal::Screen;

/// Arguments of `complete`.
#[derive(clap::Args)]
pub struct Args {
    /// The words up to the cursor, without the name of the program
    #[arg(last = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// A word that may come next, or a request for the shell's own names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    word: String,
    /// What it means, in one line; may be empty.
    about: String,
}

impl Candidate {
    fn new(word: impl Into<String>, about: impl Into<String>) -> Candidate {
        Candidate {
            word: word.into(),
            about: about.into(),
        }
    }

    /// Whether it requests names that the shell knows.
    fn is_request(&self) -> bool {
        self.word.starts_with('<')
    }
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let mut words: Vec<String> = args
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let current = words.pop().unwrap_or_default();
    let mut program = crate::bare_command();
    program.build();
    let mut line = CommandLine::new(&program);
    words.iter().for_each(|word| line.take(word));
    let lines: String = line
        .candidates(&current, &line.machine(session))
        .iter()
        .map(|one| format!("{}\t{}\n", one.word, one.about))
        .collect();
    screen.stream(|out| out.write_all(lines.as_bytes()));
    Ok(Status::Done)
}
