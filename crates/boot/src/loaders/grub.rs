//! Contains what all GRUBs with a generated `grub.cfg` share: the two variables of `/etc/default/grub`, the entries of
//! `grub.cfg`, and our own script in `/etc/grub.d`.

use super::grub_cfg::{self, SCRIPT_DIR, entries, is_distributions, is_rescue};
use super::{BootEntry, EntrySource, Fallback, grub_kernels};
use crate::line::LineSlot;
use crate::shell::{Assignment, AssignmentEffect, assignments};
use crate::shell_line::ShellLine;
use crate::tools::{ToolRun, first_of};
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, OneShotSelection, TrialWork, trial_line};
use crate::{BootError, FileEdit, TextEncoding};
use machine::cmdline::words;

/// The file of defaults.
pub const DEFAULTS: &str = "/etc/default/grub";

/// Words for every entry, including rescue entries.
pub const ALL: &str = "GRUB_CMDLINE_LINUX";

/// Words for the normal entries.
pub const NORMAL: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

/// The effective slots of the two variables, in the kernel's order. An assignment that drops the former value makes the
/// earlier ones ineffective.
///
/// # Errors
/// A file that is not text.
pub fn places(tree: &dyn FileTree, files: &[String]) -> Result<Vec<LineSlot>, BootError> {
    let mut all = Vec::new();
    for variable in [ALL, NORMAL] {
        let mut live: Vec<LineSlot> = Vec::new();
        for path in files {
            let (path, text) = tree.resolved_text(path)?;
            let mut number = 0;
            for one in assignments(&text).into_iter().filter(|one| one.name == variable) {
                number += 1;
                if one.former_value_use == AssignmentEffect::Nothing {
                    live.clear();
                }
                live.extend(slot(&path, number, &one));
            }
        }
        all.extend(live);
    }
    Ok(all)
}

fn slot(path: &str, number: usize, one: &Assignment) -> Option<LineSlot> {
    let key = match number {
        1 => one.name.clone(),
        number => format!("{} {number}", one.name),
    };
    Some(LineSlot::new(path, key, one.range.clone(), one.writing?))
}

/// How a shell builds the line from these files.
#[must_use]
pub fn shell_line(files: Vec<String>) -> ShellLine {
    ShellLine {
        files,
        variables: vec![ALL, NORMAL],
        unset: "",
    }
}

/// The value of one of the two variables.
///
/// # Errors
/// A file that is not text, or a value that cannot be computed.
fn meant(tree: &dyn FileTree, files: &[String], variable: &'static str) -> Result<String, BootError> {
    let line = ShellLine {
        variables: vec![variable],
        ..shell_line(files.to_vec())
    };
    line.text(tree)
}

/// Words in the files that do not reach the kernel.
pub fn dropped(tree: &dyn FileTree, files: &[String]) -> Vec<String> {
    shell_line(files.to_vec()).dropped(tree)
}

/// Configuration files, and the file that a tool generates from them.
pub struct Generator {
    /// The files, in the order in which they are read.
    pub files: Vec<String>,
    /// The `grub.cfg`.
    pub cfg: String,
    /// The tool.
    pub tool: &'static str,
}

impl Generator {
    fn command(&self) -> String {
        match self.tool.ends_with("-o") {
            true => format!("{} {}", self.tool, self.cfg),
            false => self.tool.to_owned(),
        }
    }

    /// The generator of the entries of the distribution's script.
    #[must_use]
    pub fn source(&self, tree: &dyn FileTree) -> EntrySource {
        EntrySource::Settings {
            files: DEFAULTS.to_owned(),
            place: place(),
            tool: self.command(),
            generated: self.cfg.clone(),
            entries: grub_cfg::own_entries(tree, &self.cfg),
            by_tool: words_of_script(tree),
        }
    }

    /// Why the files are not edited: their line cannot be computed, or it differs from the generated one.
    #[must_use]
    pub fn refuses(&self, tree: &dyn FileTree, requested: &[String]) -> Option<BootError> {
        let command = self.command();
        let line = match shell_line(self.files.clone()).text(tree) {
            Ok(line) => line,
            Err(error) => {
                return Some(error.by_hand(requested, &place(), &command));
            }
        };
        let entries: Vec<BootEntry> = entries(tree, &self.cfg).into_iter().filter(is_distributions).collect();
        let first = entries.first()?;
        let expected: Vec<&str> = words(&line).collect();
        let has_all = |entry: &BootEntry| {
            let there: Vec<&str> = words(&entry.line).collect();
            expected.is_empty() || there.windows(expected.len()).any(|some| some == expected)
        };
        if entries.iter().any(has_all) {
            return None;
        }
        Some(BootError::Disagree {
            files: DEFAULTS.to_owned(),
            generated: self.cfg.clone(),
            why: format!("the files produce `{line}`, and the first entry has `{}`", first.line),
            next: format!(
                "run `{command}` and read its output; if the two still differ, look at the files; then try again"
            ),
        })
    }
}

/// Where to add words by hand.
fn place() -> String {
    format!("{NORMAL} in {DEFAULTS}")
}

/// Words that the distribution's script itself appends after the kernel, such as Ubuntu's `panic=-1`.
fn words_of_script(tree: &dyn FileTree) -> Vec<String> {
    let text = tree.read_text(&format!("{SCRIPT_DIR}/10_linux")).unwrap_or_default();
    let lines = text
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("linux"));
    let all = lines.flat_map(|line| words(line).skip(2));
    all.filter(|word| !word.contains('$')).map(str::to_owned).collect()
}

/// The entry that stays: the rescue entry, which lacks the words of [`NORMAL`]; else one of our own with the former words.
///
/// # Errors
/// A file that is not text, or a line that cannot be computed.
pub fn fallback(tree: &dyn FileTree, files: &[String], cfg: &str) -> Result<Fallback, BootError> {
    let all = shell_line(files.to_vec()).evaluated(tree)?;
    // If the value is unknown, an entry of our own is right in both cases.
    let enabled = all
        .value("GRUB_DISABLE_RECOVERY")
        .is_ok_and(|value| value != Some("true"));
    let rescue = entries(tree, cfg).into_iter().find(is_rescue);
    if let (true, Some(entry)) = (enabled, rescue) {
        return Ok(Fallback::Stays(format!("`{}`", entry.title)));
    }
    own_fallback(tree, files)
}

/// An entry of our own with the former words, written out.
///
/// # Errors
/// A file that is not text, or a line that cannot be computed.
pub fn own_fallback(tree: &dyn FileTree, files: &[String]) -> Result<Fallback, BootError> {
    let (edit, title) = own_script(tree, files, OwnScripts::Before)?;
    let made_by = format!("`{title}`, written by {}", edit.path);
    Ok(Fallback::Made(vec![edit], made_by))
}

/// Creates an entry with these words and selects it for one boot.
///
/// # Errors
/// A file that is not text; missing tools; an environment block that GRUB cannot write; a kernel that no entry of
/// `cfg` starts.
pub fn trial(
    tree: &dyn FileTree,
    files: &[String],
    cfg: &str,
    one_boot: &OneShotEntry,
    tools: Tools,
) -> Result<TrialWork, BootError> {
    if let Some(why) = no_one_shot(tree) {
        let next = "set it with `boot set`: the rescue entry keeps the present boot line";
        return Err(BootError::no_trial("grub", why, next));
    }
    let release = one_boot.kernel.as_deref();
    let image = release.map(|release| grub_kernels::image(tree, cfg, release));
    let image = image.transpose()?;
    let line = trial_line(&meant(tree, files, NORMAL)?, &one_boot.words);
    let own = OwnScripts::Trial {
        line: &line,
        image: image.as_deref(),
    };
    let (edit, entry) = own_script(tree, files, own)?;
    let [_, id, _] = own.names();
    let reboot = first_of(tree, &[(tools.reboot, &[id])])?;
    Ok(TrialWork {
        edits: vec![edit],
        runs: vec![(tools.make)(tree)?],
        chosen: OneShotSelection::By(reboot),
        line: format!("{} {line}", meant(tree, files, ALL)?),
        entry,
    })
}

/// The tools of a distribution.
#[derive(Clone, Copy)]
pub struct Tools {
    /// Writes `grub.cfg`.
    pub make: fn(&dyn FileTree) -> Result<ToolRun, BootError>,
    /// Selects an entry for one boot.
    pub reboot: &'static str,
}

/// GRUB itself clears the selection, and cannot do so if it only reads: then the trial entry would boot forever (GRUB's
/// manual, "Environment block": no LVM, no RAID, no file system with checksums).
pub fn no_one_shot(tree: &dyn FileTree) -> Option<String> {
    let mounts = tree.read_text("/proc/mounts")?;
    let mut best: Option<(&str, &str, &str)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(place), Some(kind)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let holds = place == "/" || place == "/boot" || place == "/boot/grub" || place == "/boot/grub2";
        if holds && best.is_none_or(|(_, other, _)| place.len() >= other.len()) {
            best = Some((device, place, kind));
        }
    }
    let (device, place, kind) = best?;
    let mapped = ["/dev/mapper/", "/dev/dm-", "/dev/md"]
        .iter()
        .any(|start| device.starts_with(start));
    (mapped || matches!(kind, "btrfs" | "zfs"))
        .then(|| format!("its environment block is on {place} ({device}, {kind}), where GRUB cannot write at boot"))
}

/// Scripts of ours.
#[derive(Clone, Copy)]
enum OwnScripts<'a> {
    /// The former words.
    Before,
    /// Words on trial.
    Trial {
        /// The line.
        line: &'a str,
        /// The file name of the kernel; `None` for that of the first entry.
        image: Option<&'a str>,
    },
}

impl OwnScripts<'_> {
    /// The file, the entry's id and its title.
    fn names(self) -> [&'static str; 3] {
        match self {
            OwnScripts::Before => ["42_quietcore_before", "quietcore-before", "Linux, before quietcore"],
            OwnScripts::Trial { .. } => ["43_quietcore_trial", "quietcore-trial", "Linux, quietcore trial"],
        }
    }
}

/// A script that writes one entry: the first of the distribution's script, or its first with the given kernel, with
/// other words. The entry therefore follows kernel updates.
fn own_script(tree: &dyn FileTree, files: &[String], own: OwnScripts) -> Result<(FileEdit, String), BootError> {
    let (normal, image) = match own {
        OwnScripts::Before => (meant(tree, files, NORMAL)?, None),
        OwnScripts::Trial { line, image } => (line.to_owned(), image),
    };
    let [file, id, title] = own.names();
    let commands = match image {
        Some(image) => grub_kernels::pick(image, title, id),
        None => grub_kernels::first(title, id),
    };
    let quote = |text: &str| TextEncoding::SingleQuoted.write(text);
    let text = format!(
        "#!/bin/sh\n\
         # Written by quietcore: `quietcore boot clear` removes it.\n\
         set -e\n\
         [ -x {SCRIPT_DIR}/10_linux ] || exit 0\n\
         {ALL}='{}'\n\
         {NORMAL}='{}'\n\
         export {ALL} {NORMAL}\n\
         {SCRIPT_DIR}/10_linux 2>/dev/null | sed -n \"{commands}\"\n",
        quote(&meant(tree, files, ALL)?),
        quote(&normal),
    );
    let path = format!("{SCRIPT_DIR}/{file}");
    let before = tree.text(&path)?;
    Ok((FileEdit::script(path, before, Some(text)), title.to_owned()))
}
