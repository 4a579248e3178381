//! Evaluates commands that are conditions: `[`, `test`, and commands with a fixed result.

use super::{Dialect, ExternalFiles};
use crate::tree::FileKind;

/// An argument, if known.
pub type Argument = Option<String>;

/// Whether `test` succeeds with these arguments; `None` if that is unknown here (numbers, `-a`, `-o`, files
/// that cannot be inspected).
pub fn test(arguments: &[Argument], dialect: Dialect, outside: &ExternalFiles) -> Option<bool> {
    match arguments {
        [] => Some(false),
        [one] => one.as_ref().map(|text| !text.is_empty()),
        [operator, one] => {
            let text = one.as_ref()?;
            match operator.as_deref()? {
                operator @ ("-d" | "-e" | "-f" | "-r" | "-s" | "-x") => file(operator, text, outside),
                "-n" => Some(!text.is_empty()),
                "-z" => Some(text.is_empty()),
                "!" => Some(text.is_empty()),
                _ => None,
            }
        }
        [left, operator, right] => {
            let equal = || Some(left.as_ref()? == right.as_ref()?);
            match (operator.as_deref()?, dialect) {
                ("=", _) | ("==", Dialect::Bash) => equal(),
                ("!=", _) => equal().map(|equal| !equal),
                ("-d" | "-e" | "-f" | "-r" | "-s" | "-x", _) if left.as_deref() == Some("!") => {
                    test(&[operator.clone(), right.clone()], dialect, outside).map(|holds| !holds)
                }
                _ => None,
            }
        }
        [negation, left, operator, right] if negation.as_deref() == Some("!") => {
            test(&[left.clone(), operator.clone(), right.clone()], dialect, outside).map(|holds| !holds)
        }
        _ => None,
    }
}

/// Tests a file as root: root can read every file and enter every directory. Relative paths, and paths whose
/// resolution depends on the system, are unknown.
fn file(operator: &str, path: &str, outside: &ExternalFiles) -> Option<bool> {
    if path.is_empty() {
        return Some(false);
    }
    let mut parts = path.split('/');
    let is_plain = parts.next() == Some("") && parts.all(|part| !matches!(part, "" | "." | ".."));
    let kind = is_plain.then(|| (outside.kind)(path)).flatten()?;
    match (operator, kind) {
        (_, FileKind::Missing) => Some(false),
        ("-e" | "-r", _) => Some(true),
        ("-f", kind) => Some(kind != FileKind::Dir),
        ("-d", kind) => Some(kind == FileKind::Dir),
        ("-x", FileKind::Dir) => Some(true),
        ("-s", FileKind::File { is_empty }) => is_empty.map(|is_empty| !is_empty),
        // The size of a directory, and the mode of a file.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside<R>(ask: impl FnOnce(&ExternalFiles) -> R) -> R {
        let kind = |path: &str| match path {
            "/etc/x" => Some(FileKind::File { is_empty: None }),
            "/gone" => Some(FileKind::Missing),
            _ => None,
        };
        ask(&ExternalFiles {
            text: &|_| None,
            kind: &kind,
        })
    }

    #[test]
    fn conditions_that_depend_on_the_machine_are_unknown() {
        let all = |text: &str| -> Vec<Argument> { text.split(' ').map(|one| Some(one.to_owned())).collect() };
        for (text, expected) in [
            ("a = a", Some(true)),
            ("a != a", Some(false)),
            ("! a = a", Some(false)),
            ("-z a", Some(false)),
            ("-n a", Some(true)),
            ("-f /etc/x", Some(true)),
            ("! -f /etc/x", Some(false)),
            ("-d /etc/x", Some(false)),
            ("-x /etc/x", None),
            ("-s /etc/x", None),
            ("-f etc/x", None),
            ("-f /etc/../etc/x", None),
            ("-e /gone", Some(false)),
            ("-r /unknown", None),
            ("-f = x", Some(false)),
            ("1 -eq 1", None),
            ("a -a b", None),
        ] {
            assert_eq!(
                outside(|outside| test(&all(text), Dialect::Posix, outside)),
                expected,
                "{text}"
            );
        }
        assert_eq!(outside(|outside| test(&all("a == a"), Dialect::Posix, outside)), None);
        assert_eq!(
            outside(|outside| test(&all("a == a"), Dialect::Bash, outside)),
            Some(true)
        );
        assert_eq!(outside(|outside| test(&[None], Dialect::Posix, outside)), None);
    }
}
