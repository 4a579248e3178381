//! Writes lines to the log, and to systemd's journal if requested.

use plan::Level;
use root::{Failure, RootError, datagram, log};
use std::path::{Path, PathBuf};
use watch::drift::{LineEvent, LogLine, text};

/// The default log.
pub const LOG: &str = "/var/log/quietcore/watch.jsonl";

/// The log.
#[derive(Default)]
pub struct DaemonLog {
    path: PathBuf,
    error: Option<RootError>,
    lost: u64,
    /// Lines lost since the start.
    pub lost_ever: u64,
    has_recovered: bool,
}

impl DaemonLog {
    /// Writes to this file.
    pub fn new(path: &Path) -> DaemonLog {
        DaemonLog {
            path: path.to_owned(),
            ..DaemonLog::default()
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
        Failure::unable(
            format!("the log {} cannot be written", report::safe(&self.path())),
            report::safe(&why),
            "create the folder or free some space, or choose another file with --log",
        )
    }

    /// Its path.
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a line. A failed line is counted, and the next one is tried regardless.
    pub fn write_line(&mut self, line: &LogLine, to_journal: bool) {
        match log::append(&self.path, &text(line)) {
            Ok(()) => self.has_recovered = self.error.is_some(),
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
    pub fn last_error(&self) -> Option<String> {
        self.error
            .as_ref()
            .map(|error| format!("{error}; {} lines lost", self.lost))
    }

    /// After a full disk, one line with the number of lost lines.
    pub fn recovered(&mut self, now_s: u64) -> Option<LogLine> {
        if !std::mem::take(&mut self.has_recovered) {
            return None;
        }
        let error = self.error.take().map_or_else(String::new, |error| error.to_string());
        let lost = std::mem::take(&mut self.lost);
        Some(LogLine::new(
            now_s,
            LineEvent::Log,
            format!("{lost} lines before this one are lost: {error}"),
        ))
    }
}

/// One `FIELD=value` per line. A value with a line feed is preceded by its length (`systemd.journal-fields(7)`).
fn of_journal(line: &LogLine) -> Vec<u8> {
    let level = line.finding.as_ref().map(|finding| finding.level);
    let priority = match (line.event, level) {
        (LineEvent::Appeared | LineEvent::Changed, Some(Level::Error)) => "3",
        (LineEvent::Appeared | LineEvent::Changed, Some(Level::Warning)) => "4",
        (LineEvent::Gone, _) => "5",
        _ => "6",
    };
    let message = match &line.finding {
        Some(finding) => format!("{} [{}] {}: {}", line.event, finding.id, finding.subject, line.message),
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
    use root::Status;

    /// A full log loses lines, reports how many, and continues.
    #[test]
    fn a_full_log_is_reported_and_continues_later() {
        let mut outlets = DaemonLog::new(Path::new("/dev/full"));
        let line = LogLine::new(1, LineEvent::Started, "x");
        outlets.write_line(&line, false);
        outlets.write_line(&line, false);
        assert!(
            outlets.last_error().unwrap().ends_with("2 lines lost"),
            "{:?}",
            outlets.last_error()
        );
        assert_eq!(outlets.recovered(2), None);
        let dir = tempfile::tempdir().unwrap();
        outlets.path = dir.path().join("log");
        outlets.write_line(&line, false);
        let printed = outlets.recovered(3).unwrap();
        assert!(
            printed.message.starts_with("2 lines before this one are lost"),
            "{}",
            printed.message
        );
        assert_eq!((outlets.last_error(), outlets.recovered(4)), (None, None));
    }

    #[test]
    fn a_log_whose_first_write_fails_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let line = LogLine::new(1, LineEvent::Started, "x");
        let mut outlets = DaemonLog::new(dir.path());
        outlets.place().unwrap();
        outlets.write_line(&line, false);
        let error = outlets.check_first_write().unwrap_err();
        assert_eq!(error.status, Status::Unable, "{error:?}");
        let mut full = DaemonLog::new(Path::new("/dev/full"));
        full.place().unwrap();
        full.write_line(&line, false);
        full.check_first_write().unwrap();
        assert!(
            full.last_error()
                .is_some_and(|reported| reported.ends_with("1 lines lost"))
        );
        let error = DaemonLog::new(&dir.path().join("x/y.jsonl")).place().unwrap_err();
        assert!(error.why.starts_with("there is no folder "), "{}", error.why);
        DaemonLog::new(Path::new(crate::LOG)).place().unwrap();
        let mut outlets = DaemonLog::new(&dir.path().join("y.jsonl"));
        outlets.place().unwrap();
        outlets.write_line(&line, false);
        outlets.check_first_write().unwrap();
    }

    #[test]
    fn a_journal_message_cannot_add_fields() {
        let bytes = of_journal(&LogLine::new(1, LineEvent::Started, "a\nPRIORITY=0"));
        let mut wanted = b"MESSAGE\n".to_vec();
        wanted.extend(21_u64.to_le_bytes());
        wanted.extend(b"started: a\nPRIORITY=0\nPRIORITY=6\n");
        assert!(
            bytes.starts_with(&wanted),
            "a line feed in a message makes no field of its own"
        );
    }
}
