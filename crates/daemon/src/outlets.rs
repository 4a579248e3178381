//! Writes lines to the log, and to systemd's journal if requested.

use plan::Level;
use root::{Failure, Status};
use root::{RootError, datagram, log};
use std::path::{Path, PathBuf};
use watch::drift::{Line, LineEvent, text};

/// The default log.
pub const LOG: &str = "/var/log/quietcore/watch.jsonl";

/// The log.
#[derive(Default)]
pub struct Outlets {
    path: PathBuf,
    error: Option<RootError>,
    lost: u64,
    /// Lines lost since the start.
    pub lost_ever: u64,
    is_back: bool,
}

impl Outlets {
    /// Writes to this file.
    pub fn new(path: &Path) -> Outlets {
        Outlets {
            path: path.to_owned(),
            ..Outlets::default()
        }
    }

    /// Reports a log path that cannot have a file, to catch a misspelled folder.
    ///
    /// # Errors
    /// A folder that does not exist.
    pub fn place(&self) -> Result<(), Failure> {
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
        match folder.filter(|_| self.path != Path::new(super::LOG)) {
            None => Ok(()),
            Some(folder) => Err(self.refused(format!("there is no folder {}", folder.display()))),
        }
    }

    /// Reports whether the first line could be written, which shows whether there is a log at all. A full disk may be
    /// temporary: it is logged later and does not stop the watch.
    ///
    /// # Errors
    /// Any other error of that write.
    pub fn check_first_write(&self) -> Result<(), Failure> {
        let is_full = |error: &&RootError| matches!(error.errno(), Some(libc::ENOSPC | libc::EDQUOT));
        match self.error.as_ref().filter(|error| !is_full(error)) {
            None => Ok(()),
            Some(why) => Err(self.refused(why.to_string())),
        }
    }

    fn refused(&self, why: String) -> Failure {
        Failure::new(
            Status::Unable,
            format!("the log {} cannot be written", report::safe(&self.path())),
            report::safe(&why),
            "make the folder or the room for it, or name another file with --log",
        )
    }

    /// Its path.
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a line. A failed line is counted, and the next one is tried regardless.
    pub fn say(&mut self, line: &Line, to_journal: bool) {
        match log::append(&self.path, &text(line)) {
            Ok(()) => self.is_back = self.error.is_some(),
            Err(error) => {
                self.error = Some(error);
                self.lost = self.lost.saturating_add(1);
                self.lost_ever = self.lost_ever.saturating_add(1);
            }
        }
        if to_journal {
            // Without a journal there is still the log.
            let _ = datagram::send(datagram::JOURNAL, &of_journal(line));
        }
    }

    /// The current error of the log.
    pub fn trouble(&self) -> Option<String> {
        self.error
            .as_ref()
            .map(|error| format!("{error}; {} lines lost", self.lost))
    }

    /// After a full disk, one line with the number of lost lines.
    pub fn recovered(&mut self, now_s: u64) -> Option<Line> {
        if !std::mem::take(&mut self.is_back) {
            return None;
        }
        let error = self
            .error
            .take()
            .map_or_else(String::new, |error| error.to_string());
        let lost = std::mem::take(&mut self.lost);
        Some(Line::new(
            now_s,
            LineEvent::Log,
            format!("{lost} lines before this one are lost: {error}"),
        ))
    }
}

/// One `FIELD=value` per line. A value with a line feed is preceded by its length (`systemd.journal-fields(7)`).
fn of_journal(line: &Line) -> Vec<u8> {
    let level = line.finding.as_ref().map(|finding| finding.level);
    let priority = match (line.event, level) {
        (LineEvent::Appeared | LineEvent::Changed, Some(Level::Error)) => "3",
        (LineEvent::Appeared | LineEvent::Changed, Some(Level::Warning)) => "4",
        (LineEvent::Gone, _) => "5",
        _ => "6",
    };
    let message = match &line.finding {
        Some(finding) => format!(
            "{} [{}] {}: {}",
            line.event, finding.id, finding.subject, line.message
        ),
        None => format!("{}: {}", line.event, line.message),
    };
    let mut fields = Vec::new();
    let mut put = |name: &str, value: &str| {
        fields.extend(name.as_bytes());
        match value.contains('\n') {
            false => fields.push(b'='),
            true => {
                fields.push(b'\n');
                fields.extend((value.len() as u64).to_le_bytes());
            }
        }
        fields.extend(value.as_bytes());
        fields.push(b'\n');
    };
    put("MESSAGE", &message);
    put("PRIORITY", priority);
    put("SYSLOG_IDENTIFIER", "quietcore");
    put("QUIETCORE_EVENT", line.event.as_str());
    if let Some(finding) = &line.finding {
        put("QUIETCORE_FINDING", &finding.id);
        put("QUIETCORE_SUBJECT", &finding.subject);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full log loses lines, reports how many, and continues.
    #[test]
    fn a_full_log_is_told_and_goes_on() {
        let mut outlets = Outlets::new(Path::new("/dev/full"));
        let line = Line::new(1, LineEvent::Started, "x");
        outlets.say(&line, false);
        outlets.say(&line, false);
        assert!(
            outlets.trouble().unwrap().ends_with("2 lines lost"),
            "{:?}",
            outlets.trouble()
        );
        assert_eq!(outlets.recovered(2), None);
        let dir = tempfile::tempdir().unwrap();
        outlets.path = dir.path().join("log");
        outlets.say(&line, false);
        let said = outlets.recovered(3).unwrap();
        assert!(
            said.message.starts_with("2 lines before this one are lost"),
            "{}",
            said.message
        );
        assert_eq!((outlets.trouble(), outlets.recovered(4)), (None, None));
    }

    #[test]
    fn a_log_that_cannot_begin_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let line = Line::new(1, LineEvent::Started, "x");
        let mut outlets = Outlets::new(dir.path());
        outlets.place().unwrap();
        outlets.say(&line, false);
        let error = outlets.check_first_write().unwrap_err();
        assert_eq!(error.status, Status::Unable, "{error:?}");
        let mut full = Outlets::new(Path::new("/dev/full"));
        full.place().unwrap();
        full.say(&line, false);
        full.check_first_write().unwrap();
        assert!(full.trouble().is_some_and(|told| told.ends_with("1 lines lost")));
        let error = Outlets::new(&dir.path().join("x/y.jsonl")).place().unwrap_err();
        assert!(error.why.starts_with("there is no folder "), "{}", error.why);
        Outlets::new(Path::new(crate::LOG)).place().unwrap();
        let mut outlets = Outlets::new(&dir.path().join("y.jsonl"));
        outlets.place().unwrap();
        outlets.say(&line, false);
        outlets.check_first_write().unwrap();
    }

    #[test]
    fn the_journal_gets_fields() {
        let bytes = of_journal(&Line::new(1, LineEvent::Started, "a\nPRIORITY=0"));
        let mut wanted = b"MESSAGE\n".to_vec();
        wanted.extend(21_u64.to_le_bytes());
        wanted.extend(b"started: a\nPRIORITY=0\nPRIORITY=6\n");
        assert!(
            bytes.starts_with(&wanted),
            "a line feed in a message makes no field of its own"
        );
    }
}
