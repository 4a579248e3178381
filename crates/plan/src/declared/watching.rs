//! Defines the table `[watch]`: what `watch --daemon` does with its findings.

use super::{DeclarationError, Webhook};
use crate::{KNOBS, Level};
use serde::Deserialize;
use std::net::SocketAddr;

/// What to do with findings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct WatchSettings {
    /// A program and its arguments, started for each finding that appears or disappears, with the log line on its input.
    pub alert: Vec<String>,
    /// Where the same line is posted; `None` for nowhere.
    pub webhook: Option<Webhook>,
    /// Whether systemd's journal gets the same lines.
    pub journal: bool,
    /// What is repaired.
    pub repair: Repair,
    /// Findings to ignore: `ID`, or `ID:SUBJECT`.
    pub ignore: Vec<String>,
    /// The lowest level that is reported.
    pub level: Level,
    /// Where metrics are served over HTTP; `None` for nowhere.
    pub listen: Option<SocketAddr>,
    /// Whether `listen` may be an address that other machines can reach: `listen_openly = true`.
    pub listen_openly: bool,
    /// A file that gets the metrics, for the textfile collector of `node_exporter`; an absolute path.
    pub textfile: Option<String>,
    /// Interval between writes of `textfile`, in seconds.
    pub textfile_every_s: u64,
    /// A result of `measure` whose histograms are part of the metrics; an absolute path.
    pub results: Option<String>,
}

/// What is repaired automatically.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(
    untagged,
    expecting = "[watch] repair: write true, false, or a list of knobs such as [\"irq_affinity\"]"
)]
pub enum Repair {
    /// Everything that `check --fix` would set, or nothing.
    All(bool),
    /// What these knobs would set.
    Knobs(Vec<String>),
}

impl Default for WatchSettings {
    fn default() -> WatchSettings {
        WatchSettings {
            alert: Vec::new(),
            webhook: None,
            journal: false,
            repair: Repair::All(false),
            ignore: Vec::new(),
            level: Level::Warning,
            listen: None,
            listen_openly: false,
            textfile: None,
            textfile_every_s: 15,
            results: None,
        }
    }
}

impl Repair {
    /// Whether the changes of this knob are made.
    #[must_use]
    pub fn has(&self, knob: &str) -> bool {
        match self {
            Repair::All(all) => *all,
            Repair::Knobs(knobs) => knobs.iter().any(|one| one == knob),
        }
    }
}

impl WatchSettings {
    pub(super) fn checked(self) -> Result<WatchSettings, DeclarationError> {
        if let Repair::Knobs(knobs) = &self.repair
            && let Some(wrong) = knobs.iter().find(|name| !KNOBS.iter().any(|knob| knob.name == **name))
        {
            return Err(DeclarationError::new(
                0,
                format!("[watch] repair: there is no knob `{wrong}`"),
                "`quietcore explain --list` shows the knobs; `repair = true` repairs all of them",
            ));
        }
        if let Some(wrong) = self.ignore.iter().find(|pattern| !is_finding(pattern)) {
            return Err(DeclarationError::new(
                0,
                format!("[watch] ignore: there is no finding `{wrong}`"),
                "write ID, or ID:SUBJECT, as `quietcore check` shows them in brackets",
            ));
        }
        if self.alert.first().is_some_and(|program| !program.starts_with('/')) {
            return Err(DeclarationError::new(
                0,
                "[watch] alert: the program needs an absolute path",
                "alert = [\"/usr/bin/logger\", \"-t\", \"quietcore\"]: a program and its arguments; no shell is used",
            ));
        }
        self.outlets_checked()?;
        Ok(self)
    }

    fn outlets_checked(&self) -> Result<(), DeclarationError> {
        let wrong = |what: String, next: &str| Err(DeclarationError::new(0, what, next));
        if let Some(address) = self.listen {
            if address.port() == 0 {
                return wrong(
                    format!("[watch] listen: `{address}` contains no port"),
                    "listen = \"127.0.0.1:9853\": the port must be fixed",
                );
            }
            if !address.ip().is_loopback() && !self.listen_openly {
                return wrong(
                    format!("[watch] listen: other machines can reach `{address}` without authentication"),
                    "use listen = \"127.0.0.1:9853\" for this machine only, or add `listen_openly = true` to allow \
                     others",
                );
            }
        }
        for (name, path) in [("textfile", &self.textfile), ("results", &self.results)] {
            if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
                return wrong(
                    format!("[watch] {name}: the file needs an absolute path"),
                    "start it with `/`: the daemon has no working directory",
                );
            }
        }
        if self.textfile.as_ref().is_some_and(|path| !path.ends_with(".prom")) {
            return wrong(
                "[watch] textfile: node_exporter reads only files whose name ends in `.prom`".to_owned(),
                "textfile = \"/var/lib/prometheus/node-exporter/quietcore.prom\"",
            );
        }
        if !(1..=3600).contains(&self.textfile_every_s) {
            return wrong(
                format!(
                    "[watch] textfile_every_s: {} is not in the range 1 to 3600",
                    self.textfile_every_s
                ),
                "write the seconds between two scrapes of node_exporter",
            );
        }
        Ok(())
    }
}

fn is_finding(pattern: &str) -> bool {
    let id = pattern.split_once(':').map_or(pattern, |(id, _)| id);
    crate::findings().any(|row| row.id.as_str() == id)
}

#[cfg(test)]
mod tests {
    use crate::Level;
    use crate::declared::{Repair, parse, watching};

    #[test]
    fn stated_keys_are_used_and_others_have_defaults() {
        let nothing = watching(b"").unwrap();
        assert!(!nothing.repair.has("irq_affinity") && nothing.alert.is_empty() && nothing.level == Level::Warning);
        let text = b"[[partition]]\ncpus = \"1\"\n[watch]\nalert = [\"/bin/page\", \"me\"]\njournal = true\n\
            repair = [\"irq_affinity\"]\nignore = [\"task-here:sh\"]\nlevel = \"error\"\n";
        assert_eq!(parse(text).unwrap().len(), 1);
        let message = watching(text).unwrap();
        assert!(message.repair.has("irq_affinity") && !message.repair.has("workqueue_cpumask"));
        assert_eq!(
            (message.alert[1].as_str(), message.journal, message.level),
            ("me", true, Level::Error)
        );
        let openly = b"[watch]\nlisten = \"0.0.0.0:9853\"\nlisten_openly = true";
        for text in [b"[watch]\nlisten = \"[::1]:9853\"".as_slice(), openly] {
            assert_eq!(watching(text).unwrap().listen.map(|address| address.port()), Some(9853));
        }
        assert_eq!(watching(b"[watch]\nrepair = true").unwrap().repair, Repair::All(true));
    }

    #[test]
    fn invalid_watch_tables_are_reported() {
        for (text, word) in [
            ("[watch]\nalert = \"sh\"", "sequence"),
            ("[watch]\nalert = [\"page\"]", "absolute path"),
            ("[watch]\nwebhook = \"https://ops/\"", "curl"),
            ("[watch]\nwebhook = \"http://ops:x/\"", "port"),
            ("[watch]\nrepair = [\"no_knob\"]", "no_knob"),
            ("[watch]\nrepair = 3", "true, false, or a list of knobs"),
            ("[watch]\nrepair = \"yes\"", "true, false, or a list of knobs"),
            ("[watch]\nunheard = 1", "webhook"),
            ("[watch]\nignore = [\"no-finding\"]", "no-finding"),
            ("[watch]\nlevel = \"loud\"", "loud"),
            ("[watch]\nlisten = \"9853\"", "socket address"),
            ("[watch]\nlisten = \"localhost:9853\"", "socket address"),
            ("[watch]\nlisten = \"127.0.0.1:0\"", "no port"),
            ("[watch]\nlisten = \"0.0.0.0:9853\"", "listen_openly"),
            (
                "[watch]\nlisten = \"[::]:9853\"\nlisten_openly = false",
                "other machines",
            ),
            ("[watch]\ntextfile = \"quietcore.prom\"", "absolute path"),
            ("[watch]\ntextfile = \"/x/quietcore.txt\"", ".prom"),
            ("[watch]\ntextfile_every_s = 0", "1 to 3600"),
            ("[watch]\nresults = \"x.json\"", "absolute path"),
            ("[watch]\nunheard = 1", "unheard"),
            ("[watch]\njournal = true\n[[partition]]\ncpus = ", "line 4"),
        ] {
            let message = watching(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(word), "{text}: {message}");
            assert!(
                !message.contains("untagged") && !message.contains(": line 0"),
                "{text}: {message}"
            );
        }
    }
}
