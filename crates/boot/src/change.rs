//! Sets and clears our words, as data. A repeated set starts from the files as they would be without us, so the original
//! content is never lost.

use crate::blocks::without_blocks;
use crate::checks::{check_length, check_lists, check_others, check_words, refuse_uneditable};
use crate::edit::FileEdit;
use crate::line::{self, EntryLine, LineSlot};
use crate::merge::{MergeSlot, Swap, merge, undo_swaps};
use crate::tools::ToolRun;
use crate::tree::{EditedTree, FileTree};
use crate::{BootError, Fallback, LineAuthor, LineLimit, Loader, WordChange};
use root::{Failure, Status};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Our changes to a machine, as the journal stores them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnChanges {
    /// Name of the loader.
    pub loader: String,
    /// The requested words.
    pub words: Vec<String>,
    /// The files that were changed.
    pub files: Vec<OwnFile>,
    /// Every file with a boot line at that time. A file that appeared later has inherited our words.
    pub seen: Vec<String>,
}

/// A file that we changed or created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFile {
    /// Its path.
    pub path: String,
    /// Its content without our change; `None` for a file of our own.
    pub base: Option<String>,
    /// Its content with our change.
    pub written: Option<String>,
    /// Its permission bits if we created it.
    pub mode: u32,
    /// Which word replaced which, so that undo can restore each one.
    pub swaps: Vec<Swap>,
}

/// The work to do, in this order: the edits, then the tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Files to write, in this order.
    pub edits: Vec<FileEdit>,
    /// The loader's own tools.
    pub runs: Vec<ToolRun>,
    /// Our changes afterwards.
    pub own_changes: Option<OwnChanges>,
    /// Remarks: replaced words, entries that stay.
    pub notes: Vec<String>,
    /// Changes by others since then, which are left alone.
    pub left: Vec<String>,
}

impl Work {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.edits.is_empty() && self.runs.is_empty()
    }
}

/// Whether an entry without our words must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackRequirement {
    /// An entry without our words must stay, to boot from when ours does not boot.
    Fallback,
    /// No, by explicit request.
    Nothing,
}

/// The properties of every boot from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EveryBoot<'a> {
    /// Words of the line, in addition to those of the machine.
    pub words: &'a [String],
    /// Whether an entry without them must stay.
    pub need: FallbackRequirement,
}

impl EveryBoot<'_> {
    /// From its two parts.
    #[must_use]
    pub fn new(words: &[String], need: FallbackRequirement) -> EveryBoot<'_> {
        EveryBoot { words, need }
    }
}

/// Adds words to the lines of a loader.
///
/// # Errors
/// Any [`BootError`]; nothing must be written then.
pub fn set(
    tree: &dyn FileTree,
    loader: &'static Loader,
    ours: Option<&OwnChanges>,
    wanted: EveryBoot,
    limit: &LineLimit,
) -> Result<Work, BootError> {
    let EveryBoot { words, need } = wanted;
    loader.check_words(words)?;
    let without = without_own_changes(tree, loader, ours)?;
    let bare = EditedTree::new(tree, &without.edits);
    refuse_uneditable(tree, &bare, loader, words)?;
    // The entry that stays is made from the original state, before anything is added to it.
    let (mut edits, note) = fallback(&bare, loader, need)?;
    let mut notes = vec![note];
    let with_copy = EditedTree::new(&bare, &edits);
    let lines = (loader.lines)(&with_copy)?;
    let mut swaps: BTreeMap<String, Vec<Swap>> = BTreeMap::new();
    let merged = merged_lines(&with_copy, &lines, words, &mut swaps)?;
    check_lists(&swaps, words)?;
    edits = joined(&edits, &line::fill(&with_copy, &merged)?);
    let done = EditedTree::new(&bare, &edits);
    check_length(&done, loader, limit)?;
    check_others(&with_copy, &lines, &(loader.lines)(&done)?, &done, words)?;
    check_words(&done, loader, words)?;
    add_replaced(&swaps, &mut notes);
    let files = edits.iter().map(|edit| OwnFile {
        path: edit.path.clone(),
        base: edit.before.clone(),
        written: edit.after.clone(),
        mode: edit.mode,
        swaps: swaps.get(&edit.path).cloned().unwrap_or_default(),
    });
    let now = OwnChanges {
        loader: loader.name.to_owned(),
        words: words.to_vec(),
        files: files.collect(),
        seen: paths(&lines),
    };
    let edits = joined(&without.edits, &edits);
    let (edits, runs) = files_and_tools(tree, loader, edits)?;
    Ok(Work {
        runs,
        // If all words were there already, nothing is ours.
        own_changes: (!now.files.is_empty() || !swaps.values().all(Vec::is_empty)).then_some(now),
        edits,
        notes,
        left: without.left,
    })
}

/// The edits that make an entry that stays bootable as it was, and a note about it.
fn fallback(
    bare: &EditedTree,
    loader: &'static Loader,
    need: FallbackRequirement,
) -> Result<(Vec<FileEdit>, String), BootError> {
    match (loader.fallback)(bare)? {
        Fallback::Stays(what) => Ok((Vec::new(), format!("stays bootable as it was: {what}"))),
        Fallback::Made(made, what) => Ok((made, format!("stays bootable as it was: {what}"))),
        Fallback::None { why, next } if need == FallbackRequirement::Fallback => {
            let what = "no entry would keep the present boot line";
            Err(BootError::usage(what, why, next))
        }
        Fallback::None { why, .. } => Ok((Vec::new(), format!("no entry keeps the present boot line: {why}"))),
    }
}

/// A note for each word that is replaced or removed.
fn add_replaced(swaps: &BTreeMap<String, Vec<Swap>>, notes: &mut Vec<String>) {
    for swap in swaps.values().flatten() {
        if let (Some(before), after) = (&swap.before, &swap.after) {
            let note = match after {
                Some(after) => format!("{before} becomes {after}"),
                None => format!("{before} is removed"),
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}

/// Removes our words: restores the former bytes of unchanged files, and removes only our words from changed ones.
///
/// # Errors
/// Any [`BootError`]; nothing must be written then.
pub fn clear(tree: &dyn FileTree, loader: &'static Loader, ours: &OwnChanges) -> Result<Work, BootError> {
    let without = without_own_changes(tree, loader, Some(ours))?;
    let (edits, runs) = files_and_tools(tree, loader, without.edits)?;
    Ok(Work {
        edits,
        runs,
        left: without.left,
        ..Work::default()
    })
}

/// The work as it is carried out: files, then tools; or the tool alone if a tool owns the line.
fn files_and_tools(
    tree: &dyn FileTree,
    loader: &'static Loader,
    edits: Vec<FileEdit>,
) -> Result<(Vec<FileEdit>, Vec<ToolRun>), BootError> {
    if edits.is_empty() {
        return Ok((edits, Vec::new()));
    }
    // Tools that generate files from files need no words, so a line that cannot be computed can still be cleared.
    if loader.line_writer == LineAuthor::Files {
        let runs = (loader.commit)(tree, &WordChange::default())?;
        return Ok((edits, runs));
    }
    let done = EditedTree::new(tree, &edits);
    let words = |tree: &dyn FileTree| -> Result<Vec<String>, BootError> {
        let line = crate::trial::first_line(tree, &(loader.lines)(tree)?)?;
        Ok(machine::cmdline::words(&line).map(str::to_owned).collect())
    };
    let (now, then) = (words(tree)?, words(&done)?);
    let without =
        |all: &[String], others: &[String]| all.iter().filter(|word| !others.contains(word)).cloned().collect();
    let turn = WordChange {
        removed: without(&now, &then),
        new: without(&then, &now),
    };
    Ok((Vec::new(), (loader.commit)(tree, &turn)?))
}

/// The first line of a loader as it would be without us.
///
/// # Errors
/// Any [`BootError`].
pub fn former_line(
    tree: &dyn FileTree,
    loader: &'static Loader,
    ours: Option<&OwnChanges>,
) -> Result<String, BootError> {
    let without = without_own_changes(tree, loader, ours)?;
    let bare = EditedTree::new(tree, &without.edits);
    // `set` refuses a line that cannot be computed; the written words are the closest approximation.
    let lines = match (loader.lines)(&bare) {
        Err(BootError::NotComputed { .. }) => return Ok(String::new()),
        lines => lines?,
    };
    crate::trial::first_line(&bare, &lines).or_else(|_| match lines.first() {
        Some(line) => line.written(&bare),
        None => Ok(String::new()),
    })
}

/// The edits that restore the files to their state without us.
fn without_own_changes(
    tree: &dyn FileTree,
    loader: &'static Loader,
    ours: Option<&OwnChanges>,
) -> Result<Work, BootError> {
    let mut work = Work::default();
    let Some(ours) = ours else {
        return Ok(work);
    };
    if ours.loader != loader.name {
        return Err(BootError::Failed(Failure::new(
            Status::Conflict,
            format!("quietcore added parameters to the files of loader {}", ours.loader),
            "quietcore changes the boot line of one loader only",
            "remove them first with `quietcore boot clear`",
        )));
    }
    let mut slots: Vec<LineSlot> = Vec::new();
    for line in lines_with(tree, loader, ours)? {
        slots.extend(line.slots.into_iter().filter(|slot| tree.is_there(&slot.path)));
    }
    let mut seen = BTreeSet::new();
    slots.retain(|slot| seen.insert((slot.path.clone(), slot.key.clone())));
    if loader.line_writer == LineAuthor::Tool {
        undo_default_line(tree, ours, &slots, &mut work)?;
        return Ok(work);
    }
    for file in &ours.files {
        undo_file(tree, file, &slots, &mut work)?;
    }
    let inherited = undo_inherited(tree, ours, &slots)?;
    work.edits.extend(inherited);
    Ok(work)
}

/// Undoes a change through the loader's tool, which creates new files with each change: only the current default line counts.
fn undo_default_line(
    tree: &dyn FileTree,
    ours: &OwnChanges,
    slots: &[LineSlot],
    work: &mut Work,
) -> Result<(), BootError> {
    let all: Vec<Swap> = ours.files.iter().flat_map(|file| file.swaps.clone()).collect();
    let mut texts = Vec::new();
    for slot in slots {
        let raw = slot.raw(tree)?;
        let (back, missing) = undo_swaps(&part(slot, &raw), &all);
        let missing_note = |word: String| format!("{word} is no longer there");
        work.left.extend(missing.into_iter().map(missing_note));
        texts.push((slot, back));
    }
    work.edits = line::fill(tree, &texts)?;
    Ok(())
}

/// Undoes the change of one file: its former bytes if it is unchanged since, else only our words.
fn undo_file(tree: &dyn FileTree, file: &OwnFile, slots: &[LineSlot], work: &mut Work) -> Result<(), BootError> {
    let now = tree.text(&file.path)?;
    if now == file.base {
        return Ok(());
    }
    if now == file.written {
        work.edits.push(FileEdit {
            mode: file.mode,
            ..FileEdit::new(&file.path, now, file.base.clone())
        });
        return Ok(());
    }
    // A file without swaps is one of ours as a whole.
    let changed = match (now.is_none(), file.swaps.is_empty()) {
        (true, _) => Some("removed"),
        (false, true) => Some("changed"),
        (false, false) => None,
    };
    if let Some(changed) = changed {
        work.left.push(format!(
            "{}: another program {changed} it after quietcore wrote it",
            file.path
        ));
        return Ok(());
    }
    let mut texts = Vec::new();
    for slot in slots.iter().filter(|slot| slot.path == file.path) {
        let raw = slot.raw(tree)?;
        let swaps = file.swaps.iter().filter(|swap| swap.key == slot.key);
        let swaps: Vec<Swap> = swaps.cloned().collect();
        let (back, missing) = undo_swaps(&part(slot, &raw), &swaps);
        let missing_note = |word: String| format!("{}: {word} is no longer there", file.path);
        work.left.extend(missing.into_iter().map(missing_note));
        texts.push((slot, back));
    }
    for edit in line::fill(tree, &texts)? {
        let own = file.base.is_none() && edit.after == own_template(slots, &file.path);
        let after = edit.after.as_deref().filter(|_| !own).map(without_blocks);
        work.edits.push(FileEdit { after, ..edit });
    }
    Ok(())
}

/// Takes our words out of the entries of kernels that were installed since, which have inherited them.
fn undo_inherited(tree: &dyn FileTree, ours: &OwnChanges, slots: &[LineSlot]) -> Result<Vec<FileEdit>, BootError> {
    let known = |path: &String| ours.seen.contains(path) || ours.files.iter().any(|file| file.path == *path);
    let mut each: Vec<Swap> = Vec::new();
    for swap in ours.files.iter().flat_map(|file| &file.swaps) {
        if swap.after.is_some() && !each.iter().any(|other| other.after == swap.after) {
            each.push(swap.clone());
        }
    }
    let mut texts = Vec::new();
    for slot in slots.iter().filter(|slot| !known(&slot.path)) {
        let raw = slot.raw(tree)?;
        texts.push((slot, undo_swaps(&part(slot, &raw), &each).0));
    }
    line::fill(tree, &texts)
}

/// The lines of files with our words. Unchanged files are restored whole, even if another file cannot be parsed.
fn lines_with(tree: &dyn FileTree, loader: &'static Loader, ours: &OwnChanges) -> Result<Vec<EntryLine>, BootError> {
    (loader.lines)(tree).or_else(|error| {
        let ours_still = |file: &OwnFile| tree.text(&file.path).is_ok_and(|now| now == file.written);
        match loader.line_writer == LineAuthor::Files && ours.files.iter().all(ours_still) {
            true => Ok(Vec::new()),
            false => Err(error),
        }
    })
}

fn own_template(slots: &[LineSlot], path: &str) -> Option<String> {
    slots.iter().find(|slot| slot.path == path)?.template.clone()
}

fn part<'a>(slot: &'a LineSlot, raw: &'a str) -> MergeSlot<'a> {
    MergeSlot {
        key: &slot.key,
        raw,
        writing: slot.writing,
    }
}

/// The new text of every slot that changes.
fn merged_lines<'a>(
    tree: &dyn FileTree,
    lines: &'a [EntryLine],
    words: &[String],
    swaps: &mut BTreeMap<String, Vec<Swap>>,
) -> Result<Vec<(&'a LineSlot, String)>, BootError> {
    let mut texts: Vec<(&LineSlot, String)> = Vec::new();
    for line in lines {
        let raws = line
            .slots
            .iter()
            .map(|slot| slot.raw(tree))
            .collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<MergeSlot> = line
            .slots
            .iter()
            .zip(&raws)
            .map(|(slot, raw)| part(slot, raw))
            .collect();
        for ((slot, raw), merged) in
            line.slots
                .iter()
                .zip(&raws)
                .zip(merge(&parts, line.new_word_slot, line.gather, words))
        {
            let done = texts
                .iter()
                .any(|(other, _)| other.path == slot.path && other.range == slot.range);
            if merged.raw != *raw && !done {
                swaps.entry(slot.path.clone()).or_default().extend(merged.swaps);
                texts.push((slot, merged.raw));
            }
        }
    }
    Ok(texts)
}

fn paths(lines: &[EntryLine]) -> Vec<String> {
    let paths: BTreeSet<&String> = lines
        .iter()
        .flat_map(|line| &line.slots)
        .map(|slot| &slot.path)
        .collect();
    paths.into_iter().cloned().collect()
}

/// Merges two rounds of edits; edits without effect are dropped.
fn joined(first: &[FileEdit], second: &[FileEdit]) -> Vec<FileEdit> {
    let mut all: Vec<FileEdit> = first.to_vec();
    for edit in second {
        match all.iter_mut().find(|other| other.path == edit.path) {
            Some(earlier) => earlier.after.clone_from(&edit.after),
            None => all.push(edit.clone()),
        }
    }
    all.retain(|edit| edit.before != edit.after);
    all
}
