//! Exports a plan in other formats: a shell script, systemd units, a `cgconfig.conf`, a TuneD profile.
//!
//! For machines without quietcore, or on which another tool manages tuning. Each format is one file here and one line in
//! [`EXPORTS`]. What a format cannot express appears as a comment in its text; nothing is omitted silently.

mod cgconfig;
mod quote;
mod shell;
mod systemd;
mod tuned;

use crate::shared_owners;
use crate::style::{safe, wrap};
use machine::{Hierarchy, Machine};
use plan::{Action, Change, ChangeKind, Intent, Level, Plan};
use serde::{Serialize, Serializer};

/// The schema of the document.
pub const EXPORT_SCHEMA: &str = "quietcore.export/1";

/// What is exported, and its origin.
#[derive(Clone, Copy)]
pub struct ExportSubject<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The intent.
    pub intent: &'a Intent,
    /// The machine that the plan is for.
    pub machine: &'a Machine,
}

/// One file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportedFile {
    /// Its path; a relative one may be placed anywhere.
    pub path: String,
    /// Its permissions; in JSON as octal text: `0755` for executables.
    #[serde(serialize_with = "octal")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub mode: u32,
    /// Its content.
    pub content: String,
}

fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{mode:04o}"))
}

/// Why a plan cannot be exported in a format, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ExportObstacle {
    /// Why.
    pub why: String,
    /// What to do instead.
    pub next: String,
}

/// An export format.
pub struct ExportForm {
    /// Its name for `--format`.
    pub name: &'static str,
    /// A description, in one sentence.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&ExportSubject) -> Result<Vec<ExportedFile>, ExportObstacle>,
}

/// Every format.
pub const EXPORTS: &[&ExportForm] = &[&shell::FORM, &systemd::FORM, &cgconfig::FORM, &tuned::FORM];

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ExportDocument<'a> {
    schema: &'static str,
    /// The format.
    form: &'a str,
    /// The files of the export.
    files: &'a [ExportedFile],
}

/// The JSON document `quietcore.export/1`.
#[must_use]
pub fn export_json<'a>(form: &'a ExportForm, files: &'a [ExportedFile]) -> impl Serialize + 'a {
    ExportDocument {
        schema: EXPORT_SCHEMA,
        form: form.name,
        files,
    }
}

/// The files one after the other, each under a line with its path; a single file is printed alone, so that it can be
/// redirected into a file.
#[must_use]
pub fn export_text(files: &[ExportedFile]) -> String {
    match files {
        [only] => only.content.clone(),
        _ => files
            .iter()
            .map(|file| format!("# ==== {} ({:04o}) ====\n{}\n", file.path, file.mode, file.content))
            .collect(),
    }
}

impl<'a> ExportSubject<'a> {
    fn hierarchy(&self) -> Option<&'a Hierarchy> {
        self.machine.cgroups.cpuset.as_ref()
    }

    /// The purpose of the isolated CPUs, which starts an exported file.
    fn promise(&self) -> String {
        let head = format!("CPU {} for partition `{}`", self.plan.isolated, self.plan.partition);
        match shared_owners(self.plan) {
            None => format!("{head}, exclusive"),
            Some(why) => format!("{head}, NOT exclusive: {why}"),
        }
    }

    /// The immediate changes, in order.
    fn changes(&self) -> impl DoubleEndedIterator<Item = &'a Change> {
        let changes = self.plan.changes.iter();
        changes.filter(|change| change.kind == ChangeKind::Runtime)
    }

    /// Memory nodes of the partition, if the plan names them.
    fn memory_nodes(&self) -> Option<&'a str> {
        let ours = |path: &str| {
            let set = path.rsplit('/').nth(1).unwrap_or_default();
            path.ends_with("mems")
                && (set == self.plan.partition || set == format!("quietcore-{}", self.plan.partition))
        };
        self.changes().find_map(|change| match &change.action {
            Action::Write { path, value, .. } if ours(path) => Some(value.as_str()),
            _ => None,
        })
    }

    /// The same intent as arguments of `quietcore apply`, quoted if necessary.
    fn arguments(&self, quote: fn(&str) -> String) -> Vec<String> {
        let profile = serde_json::to_value(self.intent.profile);
        let profile = profile.ok().and_then(|word| word.as_str().map(str::to_owned));
        let mut arguments = vec![
            "--cpus".to_owned(),
            self.plan.isolated.to_string(),
            "--partition".to_owned(),
            self.plan.partition.clone(),
            "--profile".to_owned(),
            profile.unwrap_or_default(),
        ];
        let mut add = |flag: &str, word: &str| {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.:=,/".contains(letter);
            let plain = !word.is_empty() && word.chars().all(is_plain);
            arguments.push(flag.to_owned());
            arguments.push(if plain { word.to_owned() } else { quote(word) });
        };
        for (knob, value) in &self.intent.with {
            match value {
                Some(value) => add("--with", &format!("{knob}={value}")),
                None => add("--with", knob),
            }
        }
        self.intent.without.iter().for_each(|knob| add("--without", knob));
        self.intent
            .irq_here
            .iter()
            .for_each(|pattern| add("--irq-here", pattern));
        arguments
    }

    /// Notes for the user, as comment lines: the boot line, changes for the next boot, findings.
    fn notes(&self) -> String {
        let mut text = String::new();
        if let Some(line) = &self.plan.boot_line {
            let words = "Only a reboot can move the tick, RCU callbacks and managed interrupts. To do that, add to the \
                 boot line:";
            text.push_str(&comment(words));
            text.push_str(&format!("#   {}\n", safe(line)));
        }
        for finding in &self.plan.findings {
            let level = match finding.level {
                Level::Error => "Error",
                Level::Warning => "Warning",
                Level::Info => "Note",
            };
            text.push_str(&comment(&format!("{level}: {}: {}", finding.subject, finding.message)));
            if !finding.fix.is_empty() {
                text.push_str(&comment(&format!("-> {}", finding.fix)));
            }
        }
        text
    }
}

/// A text as comment lines; foreign names in it cannot end the comment.
fn comment(text: &str) -> String {
    // In a comment a backslash has no special meaning.
    let lines = wrap(&safe(text).replace("\\\\", "\\"), 0, 108);
    lines.lines().map(|line| format!("# {line}\n")).collect()
}

/// Several paragraphs of comment.
fn comments(paragraphs: &[&str]) -> String {
    paragraphs.iter().map(|text| comment(text)).collect()
}
