//! Checks before and after an edit of boot lines: that the files can be parsed, and that the kernel will get exactly the
//! requested words.

use crate::line::EntryLine;
use crate::merge::{Swap, is_repeated, on_line};
use crate::tree::FileTree;
use crate::{BootError, LineLimit, Loader};
use machine::cmdline::{Parameter, parse_cmdline, same_name, words};
use std::collections::BTreeMap;

/// Refuses files that must not be edited here. Files generated from them may be older or newer than our words.
pub fn refuse_uneditable(
    tree: &dyn FileTree,
    bare: &dyn FileTree,
    loader: &'static Loader,
    words: &[String],
) -> Result<(), BootError> {
    match (loader.refusal(bare, words), loader.refusal(tree, words)) {
        (Some(error), Some(_)) => Err(error),
        _ => Ok(()),
    }
}

/// No line exceeds the kernel's limit.
pub fn check_length(tree: &dyn FileTree, loader: &'static Loader, limit: &LineLimit) -> Result<(), BootError> {
    for line in (loader.lines)(tree)? {
        let length = line.text(tree)?.len();
        if length > limit.most {
            return Err(BootError::TooLong {
                entry: line.name,
                length,
                most: limit.most,
                source_name: limit.source_name.clone(),
            });
        }
    }
    Ok(())
}

/// Every word is on every line once, as the kernel will parse it: an open quote before a word would swallow it.
pub fn check_words(tree: &dyn FileTree, loader: &'static Loader, words: &[String]) -> Result<(), BootError> {
    for line in (loader.lines)(tree)? {
        let text = line.text(tree)?;
        let there: Vec<Parameter> = parse_cmdline(&text).parameters;
        let lost = words.iter().rev().find(|word| {
            let parameter = Parameter::parse(word);
            let same = there.iter().filter(|one| same_name(&one.name, &parameter.name));
            let is_last = words
                .iter()
                .rfind(|other| same_name(&Parameter::parse(other).name, &parameter.name))
                == Some(word);
            let times = same.clone().filter(|one| **one == parameter).count();
            match is_repeated(&parameter.name) {
                true => times == 0,
                false => is_last && (times, same.count()) != (1, 1),
            }
        });
        if let Some(word) = lost {
            return Err(BootError::no_place(
                line.slots.first().map_or("", |slot| slot.path.as_str()),
                format!(
                    "on the line of {} the kernel would not read `{word}` as one separate parameter",
                    line.name
                ),
                "look for a quote that is not closed on that line",
            ));
        }
    }
    Ok(())
}

/// A CPU list that comes from a variable is not replaced: the variable may be used elsewhere too.
pub fn check_lists(swaps: &BTreeMap<String, Vec<Swap>>, words: &[String]) -> Result<(), BootError> {
    for (path, swaps) in swaps {
        let computed = |word: &&String| word.contains(['$', '`']);
        if let Some(word) = swaps.iter().filter_map(|swap| swap.before.as_ref()).find(computed) {
            return Err(BootError::no_place(
                path,
                format!("`{word}` gets its value from another file or variable, so it is not replaced"),
                format!("edit it by hand so that the line contains: {}", words.join(" ")),
            ));
        }
    }
    Ok(())
}

/// If a shell builds the line, the edit changes only the intended words.
pub fn check_others(
    before: &dyn FileTree,
    lines: &[EntryLine],
    later: &[EntryLine],
    after: &dyn FileTree,
    words: &[String],
) -> Result<(), BootError> {
    let pairs = lines.iter().zip(later).filter(|(line, _)| line.shell.is_some());
    for (former, line) in pairs {
        let (was, is) = (former.text(before)?, line.text(after)?);
        if !has_become(&was, words, &is) {
            let home_slot = former.slots.get(former.new_word_slot);
            return Err(BootError::no_place(
                home_slot.map_or("", |slot| slot.path.as_str()),
                format!("after the edit the shell would read `{was}` as `{is}`"),
                format!("add these parameters by hand: {}", words.join(" ")),
            ));
        }
    }
    Ok(())
}

/// Whether a line has gained exactly these words.
fn has_become(before: &str, requested: &[String], after: &str) -> bool {
    let sorted = |line: &str| {
        let mut all: Vec<String> = words(line).map(str::to_owned).collect();
        all.sort_unstable();
        all
    };
    sorted(&on_line(before, requested)) == sorted(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_requested_words_may_change() {
        let wanted = ["isolcpus=2".to_owned()];
        assert!(has_become("quiet isolcpus=1", &wanted, "isolcpus=2 quiet"));
        assert!(!has_become("quiet", &wanted, "isolcpus=2"));
        assert!(!has_become("quiet", &wanted, "quiet isolcpus=2 isolcpus=1"));
    }
}
