//! The only place that prints. Results go to standard output, errors and progress to standard error.

use crate::{CommandError, Status};
use clap::{Args, ValueEnum};
use serde::Serialize;
use session::Reporter;
use std::io::{ErrorKind, IsTerminal, Write};

/// Flags of every verb.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Print the result as JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print nothing but errors (and the JSON, if asked for)
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Say more
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Colours: auto is yes on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

/// What the user asked the result to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How much to say beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Nothing but errors.
    Quiet,
    /// The usual.
    Normal,
    /// More.
    Verbose,
}

/// Where results and errors go.
pub struct Screen {
    /// Text or JSON.
    pub form: Form,
    /// How much to say.
    pub volume: Volume,
    /// Whether standard output takes colours.
    pub colour: bool,
    /// Why not all of the result could be written.
    lost: Option<String>,
}

impl Flags {
    /// Where the session of a command reports.
    #[must_use]
    pub fn reporter(&self) -> &'static StandardError {
        if self.quiet {
            &StandardError::Quiet
        } else {
            &StandardError::Normal
        }
    }
}

impl Screen {
    /// From the common flags.
    #[must_use]
    pub fn new(flags: &Flags) -> Screen {
        let colour = match flags.color {
            When::Always => true,
            When::Never => false,
            When::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let volume = match (flags.quiet, flags.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        Screen {
            form: if flags.json { Form::Json } else { Form::Text },
            volume,
            colour,
            lost: None,
        }
    }

    /// Plain text, as the front ends write it.
    #[must_use]
    pub fn plain() -> Screen {
        Screen {
            form: Form::Text,
            volume: Volume::Normal,
            colour: false,
            lost: None,
        }
    }

    /// How text looks here.
    #[must_use]
    pub fn style(&self) -> report::Style {
        if self.colour {
            report::Style::Colour
        } else {
            report::Style::Plain
        }
    }

    /// Prints text for people; nothing in JSON form or when quiet.
    pub fn text(&mut self, text: &str) {
        if self.form == Form::Text && self.volume > Volume::Quiet && !text.is_empty() {
            self.put_out(&report::for_terminal(text, self.style()));
        }
    }

    /// Puts the cursor of a terminal back by so many lines and clears what was there, so that new text replaces it.
    pub fn rewind(&mut self, lines: usize) {
        self.put_out(&format!("\x1b[{lines}F\x1b[J"));
    }

    fn put_out(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        self.written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Prints a JSON document; nothing in text form.
    pub fn json<T: Serialize>(&mut self, value: &T) {
        if self.form == Form::Json {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            let written = serde_json::to_writer(&mut out, value).map_err(std::io::Error::from);
            let written = written
                .and_then(|()| out.write_all(b"\n"))
                .and_then(|()| out.flush());
            self.written(written);
        }
    }

    /// Lets `write` stream a document to standard output, byte for byte. Text for people is for [`Screen::text`].
    pub fn stream(&mut self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let written = write(&mut out).and_then(|()| out.flush());
        self.written(written);
    }

    /// Remembers the first failure. A reader that went away (`| head`) has what it wanted.
    fn written(&mut self, written: std::io::Result<()>) {
        let closed = || std::io::Error::from_raw_os_error(libc::EBADF);
        let written = written.and_then(|()| match root::inherited::is_output_closed() {
            true => Err(closed()),
            false => Ok(()),
        });
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.lost.get_or_insert_with(|| error.to_string());
            }
            _ => {}
        }
    }

    /// The status of a verb whose result was to be written: one that nobody could get is not done.
    #[must_use]
    pub fn ended(&mut self, status: Status) -> Status {
        let Some(why) = self.lost.take() else {
            return status;
        };
        let own = match status {
            Status::Done => Status::Failed,
            other => other,
        };
        self.error(&CommandError::new(
            own,
            "the result was not written whole to standard output",
            why,
            "make room there, or write it elsewhere; what the verb did besides is done",
        ))
    }

    /// Says something beside the result, on standard error, unless quiet.
    pub fn note(&self, text: &str) {
        if self.volume > Volume::Quiet {
            put_error(text);
        }
    }

    /// Prints an error and gives its status back.
    pub fn error(&mut self, error: &CommandError) -> Status {
        put_error(&three_lines("error", [&error.what, &error.why, &error.next]));
        error.status
    }
}

/// Standard error, where a session reports. Warnings are shown also when quiet.
pub enum StandardError {
    /// Progress and remarks too.
    Normal,
    /// Only warnings.
    Quiet,
}

impl Reporter for StandardError {
    fn note(&self, text: &str) {
        if matches!(self, StandardError::Normal) {
            put_error(text);
        }
    }

    fn warn(&self, failure: &CommandError) {
        put_error(&three_lines(
            "warning",
            [&failure.what, &failure.why, &failure.next],
        ));
    }
}

/// Three parts. A part of several lines is indented, so that a foreign text in it cannot look like the begin of a part.
fn three_lines(kind: &str, parts: [&str; 3]) -> String {
    let [what, why, next] = parts.map(|part| {
        let lines: Vec<&str> = part.lines().map(str::trim_start).collect();
        lines.join("\n       ")
    });
    format!("{kind}: {what}\n  why: {why}\n next: {next}\n")
}

/// Writes to standard error and flushes. With standard error gone there is nowhere to report that.
fn put_error(text: &str) {
    let text = report::for_terminal(text, report::Style::Plain);
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
