//! Implements `partrt list`: lists the partitions.

use super::{ParsedOption, PartrtError, getopts, names, wrong};
use session::Session;
use terminal::Screen;

/// Runs it.
///
/// # Errors
/// Wrong options.
pub fn list(session: &Session, words: &[String], screen: &mut Screen) -> Result<(), PartrtError> {
    let (found, _) = getopts(":h", words);
    match found.first() {
        None => {}
        Some(ParsedOption::Option('h', _)) => return Err(PartrtError::Usage),
        Some(other) => return Err(wrong(other, "")),
    }
    let machine = session.machine();
    screen.text(&text(&names::all(&machine, &session.in_force_because())));
    Ok(())
}

fn text(rows: &[(String, String)]) -> String {
    if rows.is_empty() {
        return "Could not find any partitions\n".to_owned();
    }
    rows.iter()
        .map(|(name, cpus)| format!("Name:{} CPUs: {cpus}\n", report::safe(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_listed_as_by_partrt() {
        let row = |name: &str, cpus: &str| (name.to_owned(), cpus.to_owned());
        assert_eq!(
            text(&[row("nrt", "0-1"), row("rt", "2-3")]),
            "Name:nrt CPUs: 0-1\nName:rt CPUs: 2-3\n"
        );
        assert_eq!(text(&[]), "Could not find any partitions\n");
    }
}
