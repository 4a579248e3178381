//! Prints cset's messages: each one on standard output with cset's name as prefix, and in the requested log.

use super::CsetError;
use super::tables::{ListingReader, Width};
use root::output::Appender;
use session::Session;
use std::ffi::OsString;
use std::path::Path;
use terminal::Screen;

/// The version of the implemented command line.
pub const VERSION: &str = "Cpuset (cset) 1.6";

/// The targets of messages, and the audience of listings.
pub struct CsetOutput<'a> {
    screen: &'a mut Screen,
    log: Option<Appender>,
    /// The audience of listings.
    pub reader: ListingReader,
}

impl<'a> CsetOutput<'a> {
    /// Standard output, for people, unless `/etc/cset.conf` requests machine-readable output (`mread`). That file may also
    /// contain the mount point of cpusets, which is detected here instead.
    pub fn new(session: &Session, screen: &'a mut Screen) -> CsetOutput<'a> {
        let configuration = session.root().readable_text("/etc/cset.conf");
        let reader = match configuration.as_deref().is_some_and(for_programs) {
            true => ListingReader::Program,
            false => ListingReader::Person(Width::Screen),
        };
        CsetOutput {
            screen,
            log: None,
            reader,
        }
    }

    /// `-l FILE`: also writes messages to this log.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn log_to(&mut self, file: &str, args: &[OsString]) -> Result<(), CsetError> {
        self.log = Some(Appender::create(Path::new(file))?);
        let line: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        self.note("DEBUG", "---------- STARTING ----------");
        self.note("DEBUG", VERSION);
        self.note("DEBUG", &format!("cmdline: cset {}", line.join(" ")));
        Ok(())
    }

    /// `-m`: machine-readable listings.
    pub fn for_programs(&mut self) {
        self.reader = ListingReader::Program;
    }

    /// The number of `-v` options.
    pub fn verbose(&mut self, count: usize) {
        if count > 0 && self.reader != ListingReader::Program {
            self.reader = ListingReader::Person(Width::Full);
        }
    }

    /// The number of `-v` options beyond those that request a list.
    pub fn verbose_again(&mut self, count: usize) {
        if self.reader != ListingReader::Program {
            let width = if count > 0 { Width::Full } else { Width::Screen };
            self.reader = ListingReader::Person(width);
        }
    }

    /// Prints one message.
    pub fn print(&mut self, message: &str) {
        self.note("INFO", message);
        self.screen.text(&format!("cset: {message}\n"));
    }

    /// Prints a text without prefix.
    pub fn raw(&mut self, text: &str) {
        self.note("INFO", text);
        self.screen.text(text);
    }

    /// Prints to standard error.
    pub fn print_error(&mut self, text: &str) {
        self.note("ERROR", text);
        self.screen.note(text);
    }

    /// The progress bar after the move of more than a few tasks.
    pub fn bar(&mut self, tasks: usize) {
        const FEW: usize = 3;
        if tasks > FEW {
            self.raw(&format!("[{}]%\n", "=".repeat(50)));
        }
    }

    /// A log that cannot be written does not stop the command.
    fn note(&mut self, level: &str, text: &str) {
        if let Some(log) = &mut self.log {
            let time = machine::utc_text(session::seconds_now());
            let _ = log.append(format!("{time} cset   {level:<8} {}\n", text.trim_end()).as_bytes());
        }
    }
}

/// Whether the configuration requests machine-readable listings.
fn for_programs(configuration: &str) -> bool {
    let set = |line: &str| {
        let (key, value) = line.split_once(['=', ':'])?;
        (key.trim() == "mread").then(|| value.trim().to_lowercase())
    };
    let value = configuration.lines().filter_map(set).next_back();
    value.is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_can_enable_machine_readable_output() {
        assert!(for_programs("[default]\nmountpoint = /cpusets\nmread = True\n"));
        for other in [
            "",
            "[default]\nmread = False\n",
            "mread = True\nmread = 0\n",
            "# mread = 1\n",
            "mountpoint = /x\n",
        ] {
            assert!(!for_programs(other), "{other}");
        }
    }
}
