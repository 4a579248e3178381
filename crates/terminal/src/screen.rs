//! The screen. Results go to standard output, errors and progress to standard error.

use report::Style;
use root::{Failure, Status};
use serde::Serialize;
use session::Reporter;
use std::io::{ErrorKind, Write};

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
    style: Style,
    /// Why not all of the result could be written.
    lost: Option<String>,
}

impl Screen {
    /// With this form, volume and style of standard output.
    #[must_use]
    pub fn new(form: Form, volume: Volume, style: Style) -> Screen {
        Screen {
            form,
            volume,
            style,
            lost: None,
        }
    }

    /// Plain text, as the front ends write it.
    #[must_use]
    pub fn plain() -> Screen {
        Screen::new(Form::Text, Volume::Normal, Style::Plain)
    }

    /// How text looks here.
    #[must_use]
    pub fn style(&self) -> Style {
        self.style
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

    /// The status of a command whose result was to be written: a command without its result is not done.
    #[must_use]
    pub fn ended(&mut self, status: Status) -> Status {
        let Some(why) = self.lost.take() else {
            return status;
        };
        let own = match status {
            Status::Done => Status::Failed,
            other => other,
        };
        self.error(&Failure::new(
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
    pub fn error(&mut self, error: &Failure) -> Status {
        StandardError::Normal.error(error);
        error.status
    }
}

/// Standard error, where a session reports. Warnings and errors are shown also when quiet.
pub enum StandardError {
    /// Progress and remarks too.
    Normal,
    /// Only warnings and errors.
    Quiet,
}

impl Reporter for StandardError {
    fn note(&self, text: &str) {
        if matches!(self, StandardError::Normal) {
            put_error(text);
        }
    }

    fn warn(&self, failure: &Failure) {
        put_error(&three_lines(
            "warning",
            [&failure.what, &failure.why, &failure.next],
        ));
    }

    fn error(&self, failure: &Failure) {
        put_error(&three_lines(
            "error",
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
    let text = report::for_terminal(text, Style::Plain);
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
