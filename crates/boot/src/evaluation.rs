//! Files that a shell reads (`/etc/default/grub`), evaluated as the shell does: the values that variables have at the end.
//!
//! A boot file is edited only when its line is computed exactly. So a construct that is not evaluated here is refused with
//! its place and its reason, and a value that depends on something outside the files is unknown. No value is guessed.
//!
//! Source: "Shell Command Language" of POSIX, and the manual pages of dash and bash where those two differ. A property test
//! compares random files with what both programs compute.

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

/// How deep files may name other files with `.`, and how deep `if` and `case` may be nested.
const MOST_NESTED: usize = 16;

/// The longest value that is computed, in bytes: twice what any kernel takes as its line.
const MOST_VALUE: usize = 8192;

/// The longest file that is evaluated, in bytes.
const MOST_FILE: usize = 1 << 20;

/// The most commands that are evaluated in all files together, so that files which read each other come to an end.
const MOST_COMMANDS: usize = 20_000;

/// The shell that reads the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash, also under the name `sh`.
    Bash,
    /// Another shell, or an unknown one: only what POSIX defines is evaluated.
    Posix,
}

/// The files beside those that are evaluated.
pub struct Outside<'a> {
    /// The text of a file; `None` where it cannot be read.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// What a path leads to; `None` where that is not known.
    pub kind: &'a dyn Fn(&str) -> Option<FileKind>,
}

/// A file with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFile {
    /// Its path.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Why a file or a value is not computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncomputed {
    /// The file.
    pub path: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The reason, without a full stop.
    pub why: String,
}

impl fmt::Display for Uncomputed {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.why)
    }
}

/// What a variable is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellValue {
    /// This text.
    Text(String),
    /// It is not set.
    Unset,
    /// Nothing that is known here.
    Unknown(Uncomputed),
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
    /// The value of a variable at the end; `None` where it is not set.
    ///
    /// # Errors
    /// A value that depends on something outside the files.
    pub fn value(&self, name: &str) -> Result<Option<&str>, &Uncomputed> {
        match self.values.get(name) {
            Some(ShellValue::Text(text)) => Ok(Some(text)),
            Some(ShellValue::Unset) | None => Ok(None),
            Some(ShellValue::Unknown(refusal)) => Err(refusal),
        }
    }
}
