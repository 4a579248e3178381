//! The values of an axis, without duplicates, each with its line.

use crate::document::{ParseContext, StudyError};
use plan::PlanRefusal;
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
        let next = format!("give it some, or leave it out, which is [\"{usual}\"]");
        return Err(StudyError::new(context.line(&stated.span()), what, next));
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for word in stated.get_ref() {
        let line = context.line(&word.span());
        let word = word.get_ref();
        if found.iter().any(|(known, _)| known == word) {
            let what = format!("`{word}` is there twice");
            return Err(StudyError::new(line, what, "name every level once"));
        }
        found.push((word.clone(), line));
    }
    Ok(found)
}

/// Converts a refusal into an error of the file.
pub(crate) fn refused(line: usize, refusal: &PlanRefusal) -> StudyError {
    let message = refusal.to_string();
    let mut lines = message.lines();
    let what = lines.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = lines.collect();
    StudyError::new(line, what, rest.join("; "))
}
