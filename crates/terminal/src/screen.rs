//! Writes to the terminal. Results go to standard output, errors and progress to standard error.

use report::{KnobDetail, Style};
use root::{Failure, Status};
use serde::Serialize;
use session::Reporter;
use std::io::{ErrorKind, Write};

/// The requested output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text.
    Text,
    /// JSON.
    Json,
}

/// How much to print beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Only errors, and a verdict of one line.
    Quiet,
    /// The default.
    Normal,
    /// More.
    Verbose,
}

/// Where results and errors go.
pub struct Screen {
    /// Text or JSON.
    pub form: OutputFormat,
    /// How much to print.
    pub volume: Volume,
    /// Whether standard output supports colours.
    style: Style,
    /// Why the result could not be written completely.
    lost: Option<String>,
}

impl Screen {
    /// A screen with this format, volume and style of standard output.
    #[must_use]
    pub fn new(form: OutputFormat, volume: Volume, style: Style) -> Screen {
        Screen {
            form,
            volume,
            style,
            lost: None,
        }
    }

    /// A screen with plain text, as the front ends write it.
    #[must_use]
    pub fn plain() -> Screen {
        Screen::new(OutputFormat::Text, Volume::Normal, Style::Plain)
    }

    /// The style of text.
    #[must_use]
    pub fn style(&self) -> Style {
        self.style
    }

    /// How much of a plan, a check, a comparison or the history is printed.
    #[must_use]
    pub fn detail(&self) -> KnobDetail {
        match self.volume {
            Volume::Verbose => KnobDetail::Whole,
            Volume::Quiet | Volume::Normal => KnobDetail::Short,
        }
    }

    /// Prints text; nothing in JSON format or when quiet.
    pub fn text(&mut self, text: &str) {
        if self.form == OutputFormat::Text && self.volume > Volume::Quiet && !text.is_empty() {
            self.write_output(&report::for_terminal(text, self.style()));
        }
    }

    /// Prints a report, or only its verdict of one line when quiet; nothing in JSON format.
    pub fn report(&mut self, verdict: &str, text: &str) {
        match self.volume {
            Volume::Quiet => self.verdict(verdict),
            Volume::Normal | Volume::Verbose => self.text(text),
        }
    }

    /// Prints a verdict of one line, also when quiet; nothing in JSON format.
    pub fn verdict(&mut self, line: &str) {
        self.document(line);
    }

    /// Prints a document that was requested in a format of its own, also when quiet; nothing in JSON format.
    pub fn document(&mut self, text: &str) {
        if self.form == OutputFormat::Text {
            self.write_output(&report::for_terminal(text, self.style()));
        }
    }

    /// Moves the cursor of a terminal up by this many lines and clears them, so that new text replaces them.
    pub fn rewind(&mut self, lines: usize) {
        self.write_output(&format!("\x1b[{lines}F\x1b[J"));
    }

    fn write_output(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        self.written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Prints a JSON document; nothing in text format.
    pub fn json<T: Serialize>(&mut self, value: &T) {
        if self.form == OutputFormat::Json {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            let written = serde_json::to_writer(&mut out, value).map_err(std::io::Error::from);
            let written = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
            self.written(written);
        }
    }

    /// Refuses `--json` for a command whose output has a form of its own.
    ///
    /// # Errors
    /// JSON was requested.
    pub fn refuse_json(&self, command: &str, why: &str, next: &str) -> Result<(), Failure> {
        match self.form {
            OutputFormat::Text => Ok(()),
            OutputFormat::Json => Err(Failure::usage(format!("`{command}` has no JSON output"), why, next)),
        }
    }

    /// Lets `write` stream a document to standard output, byte for byte. Use [`Screen::text`] for text.
    pub fn stream(&mut self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let written = write(&mut out).and_then(|()| out.flush());
        self.written(written);
    }

    /// Records the first failure. A reader that closed the pipe (`| head`) is not a failure.
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

    /// The exit status of a command after its result was written. A command whose result was lost has failed.
    #[must_use]
    pub fn final_status(&mut self, status: Status) -> Status {
        let Some(why) = self.lost.take() else {
            return status;
        };
        let own = match status {
            Status::Done => Status::Failed,
            other => other,
        };
        self.error(&Failure::new(
            own,
            "the result could not be written completely to standard output",
            why,
            "free space there, or write it elsewhere; all other actions of the command are complete",
        ))
    }

    /// Prints a remark to standard error, unless quiet.
    pub fn note(&self, text: &str) {
        if self.volume > Volume::Quiet {
            write_error(text);
        }
    }

    /// Prints an error and returns its exit status.
    pub fn error(&mut self, error: &Failure) -> Status {
        StandardError::Normal.error(error);
        error.status
    }
}

/// Standard error, where a session reports. Warnings and errors are shown even when quiet.
pub enum StandardError {
    /// Progress and remarks too.
    Normal,
    /// Only warnings and errors.
    Quiet,
}

impl Reporter for StandardError {
    fn note(&self, text: &str) {
        if matches!(self, StandardError::Normal) {
            write_error(text);
        }
    }

    fn warn(&self, failure: &Failure) {
        write_error(&three_lines("warning", [&failure.what, &failure.why, &failure.next]));
    }

    fn error(&self, failure: &Failure) {
        write_error(&three_lines("error", [&failure.what, &failure.why, &failure.next]));
    }
}

/// Formats three parts. A part of several lines is indented, so that foreign text in it cannot look like the start of a part.
fn three_lines(kind: &str, parts: [&str; 3]) -> String {
    let [what, why, next] = parts.map(|part| {
        let lines: Vec<&str> = part.lines().map(str::trim_start).collect();
        lines.join("\n       ")
    });
    format!("{kind}: {what}\n  why: {why}\n next: {next}\n")
}

/// Writes to standard error and flushes. A failure of standard error cannot be reported anywhere.
fn write_error(text: &str) {
    let text = report::for_terminal(text, Style::Plain);
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
