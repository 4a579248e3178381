//! Commands that are conditions: `[`, `test`, and those whose outcome is fixed.

use super::Dialect;

/// An argument as far as it is known.
pub type Argument = Option<String>;

/// Whether `test` succeeds with these arguments; `None` where that is not known here (files, numbers, `-a`, `-o`).
pub fn test(arguments: &[Argument], dialect: Dialect) -> Option<bool> {
    match arguments {
        [] => Some(false),
        [one] => one.as_ref().map(|text| !text.is_empty()),
        [operator, one] => {
            let text = one.as_ref()?;
            match operator.as_deref()? {
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
                _ => None,
            }
        }
        [negation, left, operator, right] if negation.as_deref() == Some("!") => {
            test(&[left.clone(), operator.clone(), right.clone()], dialect).map(|holds| !holds)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_the_machine_is_not_known() {
        let all = |text: &str| -> Vec<Argument> { text.split(' ').map(|one| Some(one.to_owned())).collect() };
        for (text, expected) in [
            ("a = a", Some(true)),
            ("a != a", Some(false)),
            ("! a = a", Some(false)),
            ("-z a", Some(false)),
            ("-n a", Some(true)),
            ("-f /etc/x", None),
            ("1 -eq 1", None),
            ("a -a b", None),
        ] {
            assert_eq!(test(&all(text), Dialect::Posix), expected, "{text}");
        }
        assert_eq!(test(&all("a == a"), Dialect::Posix), None);
        assert_eq!(test(&all("a == a"), Dialect::Bash), Some(true));
        assert_eq!(test(&[None], Dialect::Posix), None);
    }
}
