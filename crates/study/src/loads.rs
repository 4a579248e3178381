//! Levels of the axis `load`.

use crate::document::{Axes, ParseContext, StudyError};
use measure::load::LoadKind;
use std::collections::BTreeSet;

/// Loads with their names, without duplicates.
pub(crate) fn different_loads(
    words: Vec<(String, usize)>,
    axes: &Axes,
    context: &ParseContext,
) -> Result<Vec<(String, Vec<LoadKind>)>, StudyError> {
    let loads: Vec<(String, Vec<LoadKind>)> = words
        .into_iter()
        .map(|(word, line)| Ok((word.clone(), load(&word, line)?)))
        .collect::<Result<_, StudyError>>()?;
    refuse_same_load(&loads, axes, context)?;
    Ok(loads)
}

/// Parses `idle`, or kinds of load joined by `+`.
fn load(word: &str, line: usize) -> Result<Vec<LoadKind>, StudyError> {
    if word == "idle" {
        return Ok(Vec::new());
    }
    let mut kinds = BTreeSet::new();
    for part in word.split('+') {
        let Some(kind) = LoadKind::ALL.into_iter().find(|kind| kind.name() == part) else {
            let all: Vec<&str> = LoadKind::ALL.iter().map(|kind| kind.name()).collect();
            let next = format!("write idle, or some of {} with + between them", all.join(", "));
            return Err(StudyError::new(line, format!("there is no load `{part}`"), next));
        };
        if !kinds.insert(kind) {
            let what = format!("`{part}` is listed twice in `{word}`");
            return Err(StudyError::new(line, what, "list every kind once"));
        }
    }
    Ok(kinds.into_iter().collect())
}

/// `cpu+io` and `io+cpu` are the same load.
fn refuse_same_load(loads: &[(String, Vec<LoadKind>)], axes: &Axes, context: &ParseContext) -> Result<(), StudyError> {
    for (place, (word, kinds)) in loads.iter().enumerate() {
        let Some((before, _)) = loads.iter().take(place).find(|(_, other)| other == kinds) else {
            continue;
        };
        let line = axes.load.as_ref().map_or(0, |axis| context.line(&axis.span()));
        let what = format!("`{word}` is the same load as `{before}`");
        return Err(StudyError::new(line, what, "remove one of them"));
    }
    Ok(())
}
