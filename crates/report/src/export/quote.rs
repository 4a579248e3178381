//! Quotes text from a machine in exported files: a hostile cgroup name must not become a command there.

/// One word of a POSIX shell.
pub(super) fn shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A shell command as the last argument of `ExecStart=/bin/sh -c` (systemd.service(5), "Command lines"): in double quotes,
/// with `%` and `$` doubled.
pub(super) fn unit_argument(command: &str) -> String {
    let mut text = String::from("\"");
    for letter in command.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' | '$' => text.extend([letter, letter]),
            letter if letter.is_control() => text.push_str(&format!("\\x{:02x}", u32::from(letter) & 0xff)),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

/// The name of a unit: `-` would make it a child of another slice (systemd.unit(5), "String Escaping").
pub(super) fn unit_name(name: &str) -> String {
    name.replace('-', "\\x2d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_words_are_quoted() {
        assert_eq!(shell("a'b$(c)"), "'a'\\''b$(c)'");
        assert_eq!(unit_argument("echo $x 5% \"\\\n"), "\"echo $$x 5%% \\\"\\\\\\x0a\"");
        assert_eq!(unit_name("a-b"), "a\\x2db");
    }
}
