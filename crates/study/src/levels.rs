//! The values of an axis, without duplicates, each with its line.

use crate::document::{ParseContext, StudyError};
use plan::PlanRefusal;
use root::Failure;
use toml::Spanned;

/// The values of an axis with their lines; the default where the axis is missing.
pub(crate) fn levels(
    stated: Option<&Spanned<Vec<Spanned<String>>>>,
    axis: &str,
    usual: &str,
    context: &ParseContext,
) -> Result<Vec<(String, usize)>, StudyError> {
    let Some(stated) = stated else {
        return Ok(vec![(usual.to_owned(), 0)]);
    };
    if stated.get_ref().is_empty() {
        let what = format!("the axis `{axis}` has no level");
        let next = format!("add some, or leave it out, which means [\"{usual}\"]");
        return Err(StudyError::new(context.line(&stated.span()), what, next));
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for word in stated.get_ref() {
        let line = context.line(&word.span());
        let word = word.get_ref();
        if found.iter().any(|(known, _)| known == word) {
            let what = format!("`{word}` is listed twice");
            return Err(StudyError::new(line, what, "list every level once"));
        }
        found.push((word.clone(), line));
    }
    Ok(found)
}

/// Converts a refusal into an error of the file.
pub(crate) fn refused(line: usize, refusal: &PlanRefusal) -> StudyError {
    let Failure { what, why, next, .. } = refusal.into();
    StudyError::new(line, what, format!("{why}; {next}"))
}
