//! Compares the line of the configuration files, the lines of the loader's entries and the running line. A word that only
//! some of them have is lost at the next change or the next boot, so each is reported: in [`Loader::all_remarks`], and as
//! an error if `boot set` itself would remove a word from the running line.

use super::contradiction::contradiction;
use super::word_list::{WordSet, has_name, nearest};
use super::{BootEntry, EntrySource, Loader, LoaderAdditions};
use crate::releases::is_rescue_line;
use crate::tree::FileTree;
use crate::trial::MARK;
use crate::{BootError, tuned};
use machine::cmdline::{Parameter, same_name, words};

/// Parameters that loaders, their tools and the installers of kernels add to a line.
const ADDED: &[&str] = &[
    "BOOT_IMAGE",
    "LANG",
    "boot",
    "init",
    "initrd",
    "modules",
    "resume",
    "ro",
    "root",
    "rootflags",
    "rootfstype",
    "rw",
    "systemd.machine_id",
    "vt.handoff",
];

/// Variables in entries whose words are known from elsewhere: TuneD's, the line of all entries, and Ubuntu's `vt.handoff=`.
const VARIABLES: &[&str] = &["$tuned_params", "$kernelopts", "$vt_handoff"];

/// The lines of one loader.
struct LoaderLines {
    /// The line of the configuration files; `None` if the entries are the configuration.
    settings: Option<String>,
    /// Names that the loader or the tool adds to them.
    adds: LoaderAdditions,
    /// Words that the tool adds to them.
    by_tool: Vec<String>,
    /// The normal entries.
    entries: Vec<BootEntry>,
    /// The running line, if this loader created it.
    running: Option<String>,
}

/// The differences between the lines of a loader. Words of ours that take effect at the next boot do not count.
pub(super) fn remarks(tree: &dyn FileTree, loader: &Loader, ours: &[String]) -> Vec<String> {
    let source = (loader.source)(tree);
    let Some(lines) = LoaderLines::read(tree, loader, &source) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let EntrySource::Settings {
        files, tool, generated, ..
    } = &source
    {
        let running = lines.running_words();
        let mut lost = lines.lost();
        lost.retain(|word| !running.has(word));
        if !lost.is_empty() {
            found.push(format!(
                "`{tool}` removes these parameters from {generated}, because {files} does not contain them: {}",
                lost.join(" ")
            ));
        }
        let waiting = lines.waiting();
        if !waiting.is_empty() {
            found.push(format!(
                "no entry of {generated} has these parameters of {files}, because `{tool}` has not run since that \
                 change: {}",
                waiting.join(" ")
            ));
        }
    }
    found.extend(lines.against_running(tree, loader, ours));
    if matches!(source, EntrySource::Entries) {
        found.extend(lines.against_later(tree, loader));
    }
    found
}

/// Why the files are not edited: the tool that must run after an edit would remove words of the running line.
pub(super) fn refusal(tree: &dyn FileTree, loader: &Loader) -> Option<BootError> {
    let source = (loader.source)(tree);
    let EntrySource::Settings {
        files,
        place,
        tool,
        generated,
        ..
    } = &source
    else {
        return None;
    };
    let lines = LoaderLines::read(tree, loader, &source)?;
    let running = lines.running_words();
    let mut lost = lines.lost();
    lost.retain(|word| running.has(word));
    (!lost.is_empty()).then(|| BootError::Disagree {
        files: files.clone(),
        generated: generated.clone(),
        why: format!(
            "{generated} and the running line have parameters that {files} does not contain, and `{tool}` would remove \
             them: {}",
            lost.join(" ")
        ),
        next: format!("to keep them, add them to {place}; to remove them, run `{tool}`; then try again"),
    })
}

impl LoaderLines {
    /// Reads the lines; `None` if the configured line cannot be computed, which is a separate error.
    fn read(tree: &dyn FileTree, loader: &Loader, source: &EntrySource) -> Option<LoaderLines> {
        let (settings, entries, by_tool) = match source {
            EntrySource::Entries => (None, (loader.entries)(tree), Vec::new()),
            EntrySource::Settings { entries, by_tool, .. } => {
                let lines = (loader.lines)(tree).ok()?;
                let line = lines.first()?.text(tree).ok()?;
                (Some(line), entries.clone(), by_tool.clone())
            }
        };
        let is_normal = |entry: &BootEntry| {
            !is_rescue_line(&entry.line) && !entry.id.contains("quietcore-") && !entry.line.is_empty()
        };
        let running = tree.read_text("/proc/cmdline").unwrap_or_default();
        let by_grub = words(&running).any(|word| word.starts_with("BOOT_IMAGE="));
        let is_ours = words(&running).next().is_some()
            && contradiction(tree, loader).is_none()
            && (loader.efi_name != Some("grub") || by_grub);
        Some(LoaderLines {
            settings,
            adds: loader.adds,
            by_tool,
            entries: entries.into_iter().filter(is_normal).collect(),
            running: is_ours.then(|| running.trim_end().to_owned()),
        })
    }

    fn running_words(&self) -> WordSet {
        WordSet::of_line(self.running.as_deref().unwrap_or_default())
    }

    /// Words of generated entries that are not in the configuration.
    fn lost(&self) -> Vec<&str> {
        let Some(settings) = &self.settings else {
            return Vec::new();
        };
        let by_tool = self.by_tool.iter().map(String::as_str);
        let mut known: WordSet = words(settings).chain(by_tool).collect();
        let is_by_name = |word: &str| matches!(self.adds, LoaderAdditions::These(names) if has_name(word, names));
        let all = self.entries.iter().flat_map(|entry| words(&entry.line));
        all.filter(|word| !is_added(word) && !is_by_name(word) && known.add(word))
            .collect()
    }

    /// Words of the configuration that no generated entry has.
    fn waiting(&self) -> Vec<&str> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let there: WordSet = self.entries.iter().flat_map(|entry| words(&entry.line)).collect();
        let mut missing = there.missing(self.settings.as_deref().unwrap_or_default());
        missing.retain(|word| !is_added(word));
        missing
    }

    /// Compares the running line with the line of the next boot.
    fn against_running(&self, tree: &dyn FileTree, loader: &Loader, ours: &[String]) -> Vec<String> {
        let Some(running) = &self.running else {
            return Vec::new();
        };
        let started = nearest(running, self.entries.iter().collect(), |entry| &entry.line);
        let entry = started.map(|entry| entry.line.as_str()).unwrap_or_default();
        let next = self.settings.as_deref().unwrap_or(entry);
        let sets_ours = |word: &str| {
            let name = Parameter::parse(word).name;
            ours.iter().any(|own| same_name(&Parameter::parse(own).name, &name))
        };
        let list = |all: &[&str]| {
            let all = all.iter().filter(|word| !is_added(word) && !sets_ours(word));
            all.copied().collect::<Vec<_>>().join(" ")
        };
        let mut found = Vec::new();
        let missing = list(&self.running_words().missing(next));
        if !missing.is_empty() {
            found.push(format!(
                "the running kernel was started without {missing}: the files changed since then, or another entry was \
                 chosen"
            ));
        }
        let is_trial = self.running_words().has(MARK);
        let LoaderAdditions::These(names) = loader.adds else {
            return found;
        };
        let foreign = |word: &str| word.starts_with('$') && !VARIABLES.contains(&word);
        if is_trial || next.is_empty() || words(entry).chain(words(next)).any(foreign) {
            return found;
        }
        let by_tuned = tuned(tree).map(|tuned| tuned.words).unwrap_or_default();
        let known = words(next)
            .chain(words(entry))
            .chain(by_tuned.iter().map(String::as_str));
        let mut more = known.collect::<WordSet>().missing(running);
        more.retain(|word| !has_name(word, names));
        let more = list(&more);
        if !more.is_empty() {
            found.push(format!(
                "the running kernel was started with parameters that no boot file contains, so the next boot will not \
                 have them: {more}"
            ));
        }
        found
    }

    /// Compares the running entry with the line that `kernel-install` gives to kernels installed later.
    fn against_later(&self, tree: &dyn FileTree, loader: &Loader) -> Vec<String> {
        let path = tree.resolved(super::kernel_cmdline::PATH);
        let lines = (loader.lines)(tree).unwrap_or_default();
        let of_later = |line: &&crate::EntryLine| line.slots.iter().any(|slot| slot.path == path);
        let later = lines.iter().find(of_later).and_then(|line| line.text(tree).ok());
        let running = self.running.as_deref().unwrap_or_default();
        let entry = nearest(running, self.entries.iter().collect(), |entry| &entry.line);
        let (Some(later), Some(entry)) = (later, entry) else {
            return Vec::new();
        };
        let list = |all: Vec<&str>| {
            let all = all.into_iter().filter(|word| !is_added(word));
            all.collect::<Vec<_>>().join(" ")
        };
        let (fewer, more) = (
            list(WordSet::of_line(&later).missing(&entry.line)),
            list(WordSet::of_line(&entry.line).missing(&later)),
        );
        let about = "kernels that are installed later take their line from";
        let mut found = Vec::new();
        if !fewer.is_empty() {
            found.push(format!(
                "{about} {path}, which lacks these parameters of the entry {}: {fewer}",
                entry.id
            ));
        }
        if !more.is_empty() {
            found.push(format!(
                "{about} {path}, which has parameters that the entry {} lacks: {more}",
                entry.id
            ));
        }
        found
    }
}

/// Whether a word is irrelevant to the configuration: a loader or a tool adds it, or writes it in another form.
fn is_added(word: &str) -> bool {
    word == "--" || word.contains(['$', '\\']) || has_name(word, ADDED)
}
