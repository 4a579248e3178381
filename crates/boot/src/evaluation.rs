//! Evaluates files that a shell reads (`/etc/default/grub`) and returns the final values of their variables.
//!
//! A boot file is edited only if its line can be computed exactly. A construct that cannot be evaluated is refused, with
//! its position and the reason. A value that depends on anything outside the files is unknown. No value is guessed.
//!
//! Source: "Shell Command Language" of POSIX, and the manual pages of dash and bash where the two differ. A property test
//! compares random files with the results of both programs.

mod builtins;
mod conditions;
mod expansion;
mod interpreter;
mod pattern;
mod reader;
mod syntax;
mod word;

use crate::tree::FileKind;
use std::collections::BTreeMap;
use std::fmt;

pub use interpreter::evaluate;

/// The maximum nesting of files that include others with `.`, and of `if` and `case`.
const MOST_NESTED: usize = 16;

/// The maximum length of a computed value, in bytes: twice the limit of any kernel for its line.
const MOST_VALUE: usize = 8192;

/// The maximum length of an evaluated file, in bytes.
const MOST_FILE: usize = 1 << 20;

/// The maximum number of commands in all files together, so that files which include each other terminate.
const MOST_COMMANDS: usize = 20_000;

/// The shell that reads the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash, also under the name `sh`.
    Bash,
    /// Another shell, or an unknown one: only what POSIX defines is evaluated.
    Posix,
}

/// Files other than the evaluated ones.
pub struct ExternalFiles<'a> {
    /// The text of a file; `None` if it cannot be read.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// What a path resolves to; `None` if unknown.
    pub kind: &'a dyn Fn(&str) -> Option<FileKind>,
}

/// A file with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFile {
    /// Its path.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Why a file or a value is not computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationFailure {
    /// The file.
    pub path: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The reason, without a full stop.
    pub why: String,
}

impl fmt::Display for EvaluationFailure {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.why)
    }
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellValue {
    /// This text.
    Text(String),
    /// Unset.
    Unset,
    /// Unknown.
    Unknown(EvaluationFailure),
}

/// One assignment that ran, or may have run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellSetting {
    /// The variable.
    pub name: String,
    /// The file.
    pub path: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The value from here on.
    pub value: ShellValue,
}

/// The variables after all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellVariables {
    values: BTreeMap<String, ShellValue>,
    /// The assignments, in the order in which they ran.
    pub settings: Vec<ShellSetting>,
}

impl ShellVariables {
    /// The value of a variable at the end; `None` if it is unset.
    ///
    /// # Errors
    /// A value that depends on anything outside the files.
    pub fn value(&self, name: &str) -> Result<Option<&str>, &EvaluationFailure> {
        match self.values.get(name) {
            Some(ShellValue::Text(text)) => Ok(Some(text)),
            Some(ShellValue::Unset) | None => Ok(None),
            Some(ShellValue::Unknown(refusal)) => Err(refusal),
        }
    }
}
