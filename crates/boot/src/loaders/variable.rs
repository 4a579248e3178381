//! Supports lines that are the value of one variable: in a shell file from which a tool generates the loader's file, or in a
//! U-Boot environment file.

use super::{BootEntry, Fallback, one_line_fallback};
use crate::line::{EntryLine, LineSlot};
use crate::shell::assignments;
use crate::shell_line::ShellLine;
use crate::tree::FileTree;
use crate::trial::Trial;
use crate::{BootError, TextEncoding};

/// An environment file offers no way to try a line.
pub const NO_TRIAL: Trial = Trial::Cannot {
    why: "U-Boot reads the same environment file at every boot",
    next: "use `boot set --force` if you can use the board's console or read its card in another computer",
};

/// It has no entry that could stay, either.
///
/// # Errors
/// None; the signature is the same for every loader.
pub fn no_fallback(_tree: &dyn FileTree) -> Result<Fallback, BootError> {
    Ok(one_line_fallback(
        "U-Boot's script starts only one entry, with one line",
    ))
}

/// A shell variable. A file without it gets it at its end, initialised with the tool's default for an unset variable.
///
/// # Errors
/// A file that is not text, or a value that commands compute.
pub fn shell(tree: &dyn FileTree, path: &str, name: &'static str, unset: &'static str) -> Result<EntryLine, BootError> {
    let evaluated = ShellLine {
        files: vec![path.to_owned()],
        variables: vec![name],
        unset,
    };
    let (path, text) = tree.resolved_text(path)?;
    let Some(one) = assignments(&text).into_iter().rfind(|one| one.name == name) else {
        let slot = LineSlot::new(&path, name, text.len()..text.len(), TextEncoding::DoubleQuoted);
        let line = EntryLine::of("all entries", framed(slot, &text, &format!("{name}=\"{unset}"), "\"\n"));
        return Ok(EntryLine {
            shell: Some(evaluated),
            ..line
        });
    };
    let Some(writing) = one.writing else {
        // If the value cannot be computed either, that is the reason, with its position.
        evaluated.text(tree)?;
        return Err(BootError::no_place(
            path,
            format!("the value of {name} is composed of several parts"),
            format!("write it in one piece: {name}=\"...\""),
        ));
    };
    let line = EntryLine::of("all entries", LineSlot::new(path, name, one.range, writing));
    Ok(EntryLine {
        shell: Some(evaluated),
        ..line
    })
}

/// Why the file of one variable is not edited: the shell that reads it computes an unknown value.
pub fn refuses(
    lines: Result<Vec<EntryLine>, BootError>,
    tree: &dyn FileTree,
    words: &[String],
    place: &str,
    tool: &str,
) -> Option<BootError> {
    let error = match lines {
        Ok(lines) => lines.iter().find_map(|line| line.text(tree).err())?,
        Err(error) => error,
    };
    matches!(error, BootError::NotComputed { .. }).then(|| error.by_hand(words, place, tool))
}

/// A variable of a U-Boot environment file: `name=value`, to the end of the line, without quotes.
///
/// # Errors
/// A file that is not text.
pub fn environment(tree: &dyn FileTree, path: &str, name: &str) -> Result<EntryLine, BootError> {
    let (path, text) = tree.resolved_text(path)?;
    let mut at = 0;
    let mut range = None;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        if let Some(value) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            range = Some(at + line.len() - value.len()..at + line.len());
        }
        at += whole.len();
    }
    Ok(EntryLine::of(
        "the only entry",
        match range {
            Some(range) => LineSlot::new(path, name, range, TextEncoding::Plain),
            None => {
                let slot = LineSlot::new(&path, name, text.len()..text.len(), TextEncoding::Plain);
                framed(slot, &text, &format!("{name}="), "\n")
            }
        },
    ))
}

/// A slot at the end of a file, written together with its name.
fn framed(slot: LineSlot, text: &str, before: &str, after: &str) -> LineSlot {
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    LineSlot {
        frame: Some((format!("{gap}{before}"), after.to_owned())),
        ..slot
    }
}

/// The one entry of an environment file.
pub fn only_entry(tree: &dyn FileTree, path: &str, name: &str) -> Option<BootEntry> {
    let line = environment(tree, path, name).ok()?;
    Some(BootEntry {
        id: name.to_owned(),
        title: format!("the only entry ({name})"),
        path: path.to_owned(),
        line: line.text(tree).ok()?,
    })
}
