//! Evaluates a boot line that is the value of shell variables (`GRUB_CMDLINE_LINUX`), like the shell that reads the files.

use crate::BootError;
use crate::evaluation::{
    Dialect, EvaluationFailure, ExternalFiles, ShellFile, ShellSetting, ShellValue, ShellVariables, evaluate,
};
use crate::tree::FileTree;
use machine::cmdline::words;

/// The path of `sh`, for scripts that start with `#!/bin/sh`.
const SHELLS: [&str; 2] = ["/bin/sh", "/usr/bin/sh"];

/// Variables of shell files that form a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    /// The files, in the order in which the shell reads them.
    pub files: Vec<String>,
    /// The variables, in the order of their words on the line.
    pub variables: Vec<&'static str>,
    /// The words if no variable is set.
    pub unset: &'static str,
}

impl ShellLine {
    /// The line.
    ///
    /// # Errors
    /// A file that is not text, or a value that cannot be computed.
    pub fn text(&self, tree: &dyn FileTree) -> Result<String, BootError> {
        let all = self.evaluated(tree)?;
        let mut parts: Vec<String> = Vec::new();
        let mut is_set = false;
        for name in &self.variables {
            if let Some(value) = value(tree, &all, name)? {
                is_set = true;
                parts.extend(words(&value).map(str::to_owned));
            }
        }
        if !is_set {
            parts.extend(words(self.unset).map(str::to_owned));
        }
        Ok(parts.join(" "))
    }

    /// The variables after all files.
    ///
    /// # Errors
    /// A file that is not text, or a command that cannot be evaluated.
    pub fn evaluated(&self, tree: &dyn FileTree) -> Result<ShellVariables, BootError> {
        let mut files = Vec::new();
        for path in &self.files {
            if let Some(text) = tree.text(path)? {
                files.push(ShellFile {
                    path: path.clone(),
                    text,
                });
            }
        }
        let source = |path: &str| tree.text(path).ok().flatten();
        let outside = ExternalFiles {
            text: &source,
            kind: &|path| tree.kind(path),
        };
        evaluate(&files, &self.variables, dialect(tree), &outside).map_err(|why| uncomputed(tree, why))
    }

    /// Words that one assignment sets and a later one drops, with both positions: they do not reach the kernel.
    #[must_use]
    pub fn dropped(&self, tree: &dyn FileTree) -> Vec<String> {
        let (Ok(all), Ok(line)) = (self.evaluated(tree), self.text(tree)) else {
            return Vec::new();
        };
        let there: Vec<&str> = words(&line).collect();
        let mut found = Vec::new();
        for name in &self.variables {
            let settings: Vec<&ShellSetting> = all.settings.iter().filter(|one| one.name == *name).collect();
            for pair in settings.windows(2) {
                let (former, later) = (pair[0], pair[1]);
                let later_text = text_of(later);
                let lost: Vec<&str> = words(text_of(former))
                    .filter(|word| !there.contains(word) && !words(later_text).any(|other| other == *word))
                    .collect();
                if !lost.is_empty() {
                    found.push(format!(
                        "{}:{} sets {name} again, so these parameters of {}:{} do not reach the kernel: {}",
                        later.path,
                        later.line,
                        former.path,
                        former.line,
                        lost.join(" ")
                    ));
                }
            }
        }
        found
    }
}

fn text_of(setting: &ShellSetting) -> &str {
    match &setting.value {
        ShellValue::Text(text) => text,
        ShellValue::Unset | ShellValue::Unknown(_) => "",
    }
}

/// The shell behind `/bin/sh` on a machine.
fn dialect(tree: &dyn FileTree) -> Dialect {
    let is_bash = |path: &str| {
        let target = tree.resolved(path);
        target != path && target.rsplit('/').next() == Some("bash")
    };
    match SHELLS.iter().any(|path| is_bash(path)) {
        true => Dialect::Bash,
        false => Dialect::Posix,
    }
}

/// The value of one variable, on one line.
fn value(tree: &dyn FileTree, all: &ShellVariables, name: &str) -> Result<Option<String>, BootError> {
    let value = all.value(name).map_err(|why| uncomputed(tree, why.clone()))?;
    if let Some(text) = value
        && text.chars().any(|letter| letter.is_control() && letter != '\t')
    {
        let last = all.settings.iter().rfind(|one| one.name == name);
        let why = EvaluationFailure {
            path: last.map_or_else(String::new, |one| one.path.clone()),
            line: last.map_or(0, |one| one.line),
            why: format!("the value of {name} contains a line end, and a boot line is one line"),
        };
        return Err(uncomputed(tree, why));
    }
    Ok(value.map(str::to_owned))
}

/// The error for a line that cannot be computed. The caller adds the manual steps, because it knows the words.
fn uncomputed(tree: &dyn FileTree, why: EvaluationFailure) -> BootError {
    let EvaluationFailure { path, line, why } = why;
    let text = tree.read_text(&path).unwrap_or_default();
    let written = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
    // A construct broken by the line ends is reported as missing at the end of the file.
    let everywhere = text.contains('\n') && text.split_terminator('\n').all(|one| one.ends_with('\r'));
    let why = match written.ends_with('\r') || everywhere {
        true => format!(
            "the file has Windows line ends (CR LF), and the shell reads each CR as part of a word; `sed -i 's/\\r$//' \
             {path}` removes them"
        ),
        false => why,
    };
    BootError::NotComputed {
        path,
        line,
        why,
        next: "write the value in one assignment, then try again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Texts(BTreeMap<&'static str, &'static str>);

    impl FileTree for Texts {
        fn bytes(&self, path: &str) -> Option<Vec<u8>> {
            self.0.get(path).map(|text| text.as_bytes().to_vec())
        }
        fn names(&self, _dir: &str) -> Vec<String> {
            Vec::new()
        }
        fn link(&self, path: &str) -> Option<String> {
            let target = self.0.get(format!("{path}@").as_str())?;
            Some((*target).to_owned())
        }
    }

    fn line(files: &[(&'static str, &'static str)]) -> (Texts, ShellLine) {
        let line = ShellLine {
            files: vec!["/a".to_owned(), "/b".to_owned()],
            variables: vec!["ALL", "NORMAL"],
            unset: "ro",
        };
        (Texts(files.iter().copied().collect()), line)
    }

    #[test]
    fn the_line_is_computed_by_the_rules_of_the_shell_in_use() {
        let plus = ("/a", "NORMAL=quiet\nNORMAL+=isolcpus=2\n");
        let (tree, with) = line(&[plus, ("/bin/sh@", "bash")]);
        assert_eq!(with.text(&tree).as_deref(), Ok("quietisolcpus=2"));
        for others in [&[plus][..], &[plus, ("/bin/sh@", "dash")]] {
            let (tree, with) = line(others);
            let error = with.text(&tree).unwrap_err();
            assert!(
                matches!(&error, BootError::NotComputed { line: 2, path, .. } if path == "/a"),
                "{error}"
            );
        }
        let (tree, with) = line(&[("/b", "X=1\n")]);
        assert_eq!(with.text(&tree).as_deref(), Ok("ro"));
        let (tree, with) = line(&[("/b", "ALL='a\nb'\n")]);
        assert!(with.text(&tree).is_err());
    }

    #[test]
    fn windows_line_endings_are_reported() {
        for text in ["# c\r\nALL=a\r\n", "ALL=\"a\"\r\n", "if true; then\r\nALL=a\r\nfi\r\n"] {
            let (tree, with) = line(&[("/a", text)]);
            let error = with.text(&tree).unwrap_err();
            let BootError::NotComputed { path, why, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!(path, "/a");
            assert_eq!(
                why,
                "the file has Windows line ends (CR LF), and the shell reads each CR as part of a word; `sed -i \
                 's/\\r$//' /a` removes them",
                "{text:?}"
            );
        }
        // A CR outside of the values has no effect.
        let (tree, with) = line(&[("/a", "# c\r\nALL=a\n")]);
        assert_eq!(with.text(&tree).as_deref(), Ok("a"));
    }

    #[test]
    fn dropped_words_are_reported_with_both_places() {
        let (tree, with) = line(&[
            ("/a", "ALL=x\n\nNORMAL=\"quiet isolcpus=2-3 x\"\n"),
            ("/b", "# c\nNORMAL=quiet\n"),
        ]);
        assert_eq!(
            with.dropped(&tree),
            ["/b:2 sets NORMAL again, so these parameters of /a:3 do not reach the kernel: isolcpus=2-3"]
        );
        let (tree, with) = line(&[("/a", "NORMAL=a\n"), ("/b", "NORMAL=\"$NORMAL b\"\n")]);
        assert!(with.dropped(&tree).is_empty());
    }
}
