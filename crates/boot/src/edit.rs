//! Represents a file change as data. The same data is displayed, written, journalled and compared in tests.

use serde::{Deserialize, Serialize};

/// One file, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// The file.
    pub path: String,
    /// Its current text; `None` if it does not exist.
    pub before: Option<String>,
    /// Its text afterwards; `None` if it is removed.
    pub after: Option<String>,
    /// Permission bits of a new file; an existing file keeps its own.
    pub mode: u32,
}

impl FileEdit {
    /// An edit of a plain file from `before` to `after`; `None` means no file.
    #[must_use]
    pub fn new(path: impl Into<String>, before: Option<String>, after: Option<String>) -> FileEdit {
        FileEdit {
            path: path.into(),
            before,
            after,
            mode: 0o644,
        }
    }

    /// The same for a script, which is executable.
    #[must_use]
    pub fn script(path: impl Into<String>, before: Option<String>, after: Option<String>) -> FileEdit {
        FileEdit {
            mode: 0o755,
            ..FileEdit::new(path, before, after)
        }
    }
}

/// The edits in the format of `diff -u`, without context for long files.
#[must_use]
pub fn diff(edits: &[FileEdit]) -> String {
    edits.iter().map(one_diff).collect()
}

const CONTEXT: usize = 2;

fn one_diff(edit: &FileEdit) -> String {
    let lines = |text: &Option<String>| -> Vec<String> {
        let text = text.as_deref().unwrap_or_default();
        text.split_inclusive('\n').map(str::to_owned).collect()
    };
    let (before, after) = (lines(&edit.before), lines(&edit.after));
    let name = |there: &Option<String>| match there {
        Some(_) => edit.path.as_str(),
        None => "/dev/null",
    };
    let mut text = format!("--- {}\n+++ {}\n", name(&edit.before), name(&edit.after));
    for hunk in hunks(&before, &after) {
        text.push_str(&hunk);
    }
    text
}

/// The fate of one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffStep {
    Same,
    Removed,
    New,
}

/// The hunks between two texts, by the longest common subsequence: boot files have a few hundred lines.
fn hunks(before: &[String], after: &[String]) -> Vec<String> {
    let steps = steps(before, after);
    let changed: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].0 != DiffStep::Same).collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in changed {
        let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(steps.len()));
        match ranges.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => ranges.push((from, to)),
        }
    }
    let mut hunks = Vec::new();
    for (from, to) in ranges {
        let count = |end: usize, not: DiffStep| steps[..end].iter().filter(|(step, _)| *step != not).count();
        let (old, new) = (count(from, DiffStep::New), count(from, DiffStep::Removed));
        let (olds, news) = (count(to, DiffStep::New) - old, count(to, DiffStep::Removed) - new);
        let start = |at: usize, length: usize| if length == 0 { at } else { at + 1 };
        let mut text = format!("@@ -{},{olds} +{},{news} @@\n", start(old, olds), start(new, news));
        for (step, line) in &steps[from..to] {
            text.push(match step {
                DiffStep::Same => ' ',
                DiffStep::Removed => '-',
                DiffStep::New => '+',
            });
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        hunks.push(text);
    }
    hunks
}

fn steps<'a>(before: &'a [String], after: &'a [String]) -> Vec<(DiffStep, &'a str)> {
    let same = |(one, other): &(&String, &String)| one == other;
    let head = before.iter().zip(after).take_while(same).count();
    let tail = before[head..]
        .iter()
        .rev()
        .zip(after[head..].iter().rev())
        .take_while(same)
        .count();
    let (old, new) = (&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let mut steps: Vec<(DiffStep, &str)> = before[..head]
        .iter()
        .map(|line| (DiffStep::Same, line.as_str()))
        .collect();
    let longest = common(old, new);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push((DiffStep::Same, &old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= new.len() || (i < old.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            steps.push((DiffStep::Removed, &old[i]));
            i += 1;
        } else {
            steps.push((DiffStep::New, &new[j]));
            j += 1;
        }
    }
    steps.extend(
        before[before.len() - tail..]
            .iter()
            .map(|line| (DiffStep::Same, line.as_str())),
    );
    steps
}

/// The length of the common subsequence of the remainders, for every pair of positions.
fn common(old: &[String], new: &[String]) -> Vec<Vec<u32>> {
    let mut longest = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_unified_format() {
        let edit = |before: &str, after: &str| FileEdit::new("/f", Some(before.to_owned()), Some(after.to_owned()));
        assert_eq!(
            diff(&[edit("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nX\nf\ng")]),
            "--- /f\n+++ /f\n@@ -3,4 +3,5 @@\n c\n d\n-e\n+X\n f\n+g\n\\ No newline at end of file\n"
        );
        assert_eq!(
            diff(&[FileEdit::new("/n", None, Some("one\n".to_owned()))]),
            "--- /dev/null\n+++ /n\n@@ -0,0 +1,1 @@\n+one\n"
        );
    }
}
