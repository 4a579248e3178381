//! Runs simple commands: assignments and the few builtins in configuration files. Other programs change no variable.

use super::conditions::{self, Argument};
use super::expansion::{too_long, unset_reason};
use super::interpreter::{Certainty, Interpreter, Success};
use super::syntax::{AssignmentMode, AssignmentWord, SimpleCommand};
use super::word::{PieceContent, Quoting, ShellWord, WordPiece, bare, is_name_letter};
use super::{Dialect, EvaluationFailure, MOST_NESTED, MOST_VALUE, ShellSetting, ShellValue};

/// Builtins that change variables, end the file or run other code, in ways that cannot be evaluated here.
const BUILTINS: &[&str] = &[
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "exit",
    "fc",
    "fg",
    "getopts",
    "hash",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "suspend",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "wait",
];

/// Variables with a special meaning for the shell.
const SPECIAL: &[&str] = &[
    "CDPATH",
    "DIRSTACK",
    "ENV",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GLOBIGNORE",
    "GROUPS",
    "HISTCMD",
    "IFS",
    "LINENO",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "PATH",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "TMOUT",
    "UID",
    "_",
];

impl Interpreter<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &SimpleCommand,
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        let Some((name, arguments)) = simple.words.split_first() else {
            return self.assignments(simple, line, certainty);
        };
        let Some(name) = bare(name) else {
            return self.refuse(line, "a command whose name is in quotes or in a variable");
        };
        if let Some(assign) = simple.assignments.first() {
            return self.refuse(
                line,
                format!(
                    "{} is set for the command `{name}` only: quotes are missing",
                    assign.name
                ),
            );
        }
        let redirected = simple.redirected;
        match name {
            ":" | "true" | "false" | "export" | "unset" | "." | "source" if redirected => {
                self.refuse(line, format!("`{name}` with `<` or `>`"))
            }
            ":" | "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            "[" | "test" => {
                let status = self.test(name, arguments)?;
                Ok(status.filter(|_| !redirected))
            }
            "echo" => Ok((!redirected).then_some(true)),
            "printf" => match arguments.first().and_then(|word| bare(word)) {
                Some(format) if !format.starts_with('-') => Ok(None),
                _ if arguments.first().is_some_and(is_quoted_text) => Ok(None),
                _ => self.refuse(line, "`printf` whose format is not a plain text"),
            },
            "export" => self.export(arguments, line, certainty),
            "unset" => self.unset(arguments, line, certainty),
            "." | "source" => self.source(name, arguments, line, certainty),
            "command" if arguments.first().and_then(|word| bare(word)) == Some("-v") => Ok(None),
            name if BUILTINS.contains(&name) => self.refuse(line, format!("`{name}` is not evaluated")),
            name if name.contains(['*', '?', '[', '~', '=', '+', '{']) => {
                self.refuse(line, format!("`{name}` is not a command that can be evaluated"))
            }
            // Another program changes no variable of the shell.
            _ => Ok(None),
        }
    }

    pub(super) fn assignments(
        &mut self,
        simple: &SimpleCommand,
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        if simple.redirected {
            return self.refuse(line, "an assignment with `<` or `>`");
        }
        let mut status = Some(true);
        for (number, assign) in simple.assignments.iter().enumerate() {
            let others = &simple.assignments[..number];
            let ambiguous = others
                .iter()
                .any(|other| names(&assign.word, &other.name) || other.name == assign.name);
            if ambiguous {
                return self.refuse(
                    assign.line,
                    format!("{} depends on another assignment of the same command", assign.name),
                );
            }
            if assign.word.iter().any(|piece| piece.content == PieceContent::Output) {
                status = None;
            }
            let value = self.assigned(assign)?;
            self.set(&assign.name, value, assign.line, certainty)?;
        }
        Ok(status)
    }

    /// The value that an assignment yields.
    pub(super) fn assigned(&mut self, assign: &AssignmentWord) -> Result<ShellValue, EvaluationFailure> {
        let value = self.value(&assign.word, assign.line);
        if assign.joining == AssignmentMode::Replaces {
            return Ok(value);
        }
        if self.dialect == Dialect::Posix {
            return self.refuse(
                assign.line,
                format!(
                    "`{}+=` is not an assignment in POSIX: dash reads it as a command that does not exist; only bash \
                     appends (without a blank)",
                    assign.name
                ),
            );
        }
        let former = self.variables.values.get(&assign.name).cloned();
        let length = |value: &ShellValue| match value {
            ShellValue::Text(text) => text.len(),
            ShellValue::Unset | ShellValue::Unknown(_) => 0,
        };
        if former.as_ref().map_or(0, length) + length(&value) > MOST_VALUE {
            return Ok(ShellValue::Unknown(self.refusal(assign.line, too_long())));
        }
        Ok(match (former, value) {
            (Some(ShellValue::Text(former)), ShellValue::Text(value)) => ShellValue::Text(format!("{former}{value}")),
            (Some(ShellValue::Unset), value) => value,
            (Some(ShellValue::Unknown(refusal)), _) | (_, ShellValue::Unknown(refusal)) => ShellValue::Unknown(refusal),
            (None, _) => ShellValue::Unknown(self.refusal(assign.line, unset_reason(&assign.name))),
            (_, ShellValue::Unset) => ShellValue::Unset,
        })
    }

    pub(super) fn set(
        &mut self,
        name: &str,
        value: ShellValue,
        line: usize,
        certainty: Certainty,
    ) -> Result<(), EvaluationFailure> {
        if SPECIAL.contains(&name) || name.starts_with("BASH") || name.starts_with("COMP_") {
            return self.refuse(line, format!("{name} has a special meaning for the shell"));
        }
        let value = match certainty {
            Certainty::Runs => value,
            Certainty::MayRun => ShellValue::Unknown(self.refusal(
                line,
                format!("{name} is set, and it is unknown whether that command runs"),
            )),
        };
        self.variables.values.insert(name.to_owned(), value.clone());
        self.variables.settings.push(ShellSetting {
            name: name.to_owned(),
            path: self.files.last().cloned().unwrap_or_default(),
            line,
            value,
        });
        Ok(())
    }

    pub(super) fn test(&self, name: &str, words: &[ShellWord]) -> Result<Success, EvaluationFailure> {
        let mut arguments: Vec<Argument> = Vec::new();
        for word in words {
            // An unquoted expansion may yield no argument, or several.
            let whole = word
                .iter()
                .all(|piece| piece.quoting == Quoting::Quoted || matches!(piece.content, PieceContent::Literal(_)));
            let known = self.argument(word);
            if known.is_none() && !whole {
                return Ok(None);
            }
            arguments.push(known);
        }
        if name == "[" && arguments.pop().flatten().as_deref() != Some("]") {
            return Ok(None);
        }
        Ok(conditions::test(&arguments, self.dialect, self.outside))
    }

    pub(super) fn export(
        &mut self,
        words: &[ShellWord],
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        // All are expanded before the first is set.
        let texts: Vec<Option<String>> = words.iter().map(|word| self.argument(word)).collect();
        for text in texts {
            let Some(text) = text else {
                return self.refuse(line, "`export` of a value without quotes, or of an unknown one");
            };
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text.as_str(), None),
            };
            if !is_name(name) {
                return self.refuse(line, "`export` of something that is not a name");
            }
            if let Some(value) = value {
                self.set(name, ShellValue::Text(value.to_owned()), line, certainty)?;
            }
        }
        match words.is_empty() {
            true => self.refuse(line, "`export` without a name"),
            false => Ok(Some(true)),
        }
    }

    pub(super) fn unset(
        &mut self,
        words: &[ShellWord],
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        for word in words {
            match self.argument(word) {
                Some(name) if is_name(&name) => self.set(&name, ShellValue::Unset, line, certainty)?,
                _ => return self.refuse(line, "`unset` of something that is not a name"),
            }
        }
        Ok(Some(true))
    }

    pub(super) fn source(
        &mut self,
        name: &str,
        words: &[ShellWord],
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        if name == "source" && self.dialect == Dialect::Posix {
            return self.refuse(line, "`source` is not in POSIX, and dash does not have it");
        }
        let path = match words {
            [word] => self.argument(word),
            _ => None,
        };
        let Some(path) = path.filter(|path| path.starts_with('/')) else {
            return self.refuse(line, "another file is read, and its name is unknown");
        };
        if certainty == Certainty::MayRun {
            return self.refuse(line, format!("it is unknown whether {path} is read"));
        }
        if self.files.len() > MOST_NESTED || self.files.contains(&path) {
            return self.refuse(line, format!("{path} reads itself, or too many files read each other"));
        }
        let Some(text) = (self.outside.text)(&path) else {
            return self.refuse(
                line,
                format!("{path} is read at that line and cannot be read by quietcore"),
            );
        };
        self.file(&path, &text)?;
        // Its status is that of its last command.
        Ok(None)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().enumerate().all(|(at, letter)| is_name_letter(letter, at))
}

/// Whether a word is one quoted text that is not an option.
fn is_quoted_text(word: &ShellWord) -> bool {
    let mut texts = word.iter().map(|piece| match &piece.content {
        PieceContent::Literal(text) => Some(text.as_str()),
        _ => None,
    });
    let first = texts.find(|text| *text != Some(""));
    first.flatten().is_some_and(|text| !text.starts_with('-'))
}

/// Whether a word contains the value of a variable.
fn names(word: &[WordPiece], name: &str) -> bool {
    word.iter().any(|piece| match &piece.content {
        PieceContent::Variable(expansion) => {
            let inside = expansion.other.as_ref().is_some_and(|other| names(&other.pieces, name));
            expansion.name == name || inside
        }
        _ => false,
    })
}
