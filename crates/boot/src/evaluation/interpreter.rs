//! Runs the commands of a file on a table of variables. If it is unknown whether a command runs, the variables that it
//! sets are unknown from there on.

use super::reader::ShellReader;
use super::syntax::{AndOrList, CommandList, ListOperator, Pipeline, Sense, ShellCommand, parse};
use super::word::{ShellWord, bare};
use super::{
    Dialect, EvaluationFailure, ExternalFiles, MOST_COMMANDS, MOST_FILE, ShellFile, ShellValue, ShellVariables,
};

/// Commands whose failure cannot matter, although their status is not computed.
const HARMLESS: &[&str] = &["echo", "printf", ".", "source"];

/// Evaluates files in order, like a shell that reads them with `.`.
///
/// `unset` lists the variables that are unset before the first file. Any other variable that no file sets may come from
/// the environment, so it is unknown. `outside` answers queries about other files.
///
/// # Errors
/// The first command that cannot be evaluated here.
pub fn evaluate(
    files: &[ShellFile],
    unset: &[&str],
    dialect: Dialect,
    outside: &ExternalFiles,
) -> Result<ShellVariables, EvaluationFailure> {
    let mut variables = ShellVariables::default();
    for name in unset {
        variables.values.insert((*name).to_owned(), ShellValue::Unset);
    }
    let mut run = Interpreter {
        variables,
        dialect,
        outside,
        files: Vec::new(),
        commands: 0,
    };
    for file in files {
        run.file(&file.path, &file.text)?;
    }
    Ok(run.variables)
}

/// A run over the files.
pub(super) struct Interpreter<'a> {
    pub(super) variables: ShellVariables,
    pub(super) dialect: Dialect,
    /// Answers queries about other files.
    pub(super) outside: &'a ExternalFiles<'a>,
    /// The files that are being read, the innermost last.
    pub(super) files: Vec<String>,
    /// The number of commands and files so far.
    pub(super) commands: usize,
}

/// Whether a command runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Yes.
    Runs,
    /// Unknown.
    MayRun,
}

/// The exit status, if known: success or failure.
pub(super) type Success = Option<bool>;

impl Interpreter<'_> {
    pub(super) fn file(&mut self, path: &str, text: &str) -> Result<(), EvaluationFailure> {
        if text.len() > MOST_FILE {
            let why = format!("the file is larger than {MOST_FILE} bytes");
            return Err(ShellReader::new(path, text).refuse(why));
        }
        let list = parse(path, text)?;
        self.files.push(path.to_owned());
        // The status of `.` is that of the last command, even for a list such as `[ -n "$A" ] && B=1`.
        if let (Some(false), Some(last)) = (self.statements(&list, Certainty::Runs)?, list.last()) {
            return self.refuse(
                last.first.line,
                "the last command of the file fails, which stops the program that reads the file",
            );
        }
        self.files.pop();
        Ok(())
    }

    pub(super) fn refuse<T>(&self, line: usize, why: impl Into<String>) -> Result<T, EvaluationFailure> {
        Err(self.refusal(line, why))
    }

    pub(super) fn refusal(&self, line: usize, why: impl Into<String>) -> EvaluationFailure {
        EvaluationFailure {
            path: self.files.last().cloned().unwrap_or_default(),
            line,
            why: why.into(),
        }
    }

    /// Commands whose status is not checked: the program that reads the file stops if one fails (`set -e`).
    pub(super) fn statements(
        &mut self,
        list: &CommandList,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        let mut status = Some(true);
        for one in list {
            status = self.and_or(one, certainty)?;
            if let (true, ShellCommand::Simple(simple)) = (one.others.is_empty(), &one.first.command)
                && one.first.sense == Sense::Plain
                && let Some(name) = simple.words.first().and_then(bare)
                && (status == Some(false) || (status.is_none() && !HARMLESS.contains(&name)))
            {
                return self.refuse(
                    one.first.line,
                    format!("the command `{name}` may fail, which stops the program that reads the file"),
                );
            }
        }
        Ok(status)
    }

    pub(super) fn list(&mut self, list: &CommandList, certainty: Certainty) -> Result<Success, EvaluationFailure> {
        let mut status = Some(true);
        for one in list {
            status = self.and_or(one, certainty)?;
        }
        Ok(status)
    }

    pub(super) fn and_or(&mut self, all: &AndOrList, certainty: Certainty) -> Result<Success, EvaluationFailure> {
        let mut status = self.pipeline(&all.first, certainty)?;
        for (joint, next) in &all.others {
            let expected = *joint == ListOperator::And;
            match status {
                Some(known) if known == expected => status = self.pipeline(next, certainty)?,
                Some(_) => {}
                None => {
                    self.pipeline(next, Certainty::MayRun)?;
                }
            }
        }
        Ok(status)
    }

    pub(super) fn pipeline(&mut self, one: &Pipeline, certainty: Certainty) -> Result<Success, EvaluationFailure> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return self.refuse(one.line, format!("the files have more than {MOST_COMMANDS} commands"));
        }
        let status = match &one.command {
            ShellCommand::Simple(simple) => self.simple(simple, one.line, certainty)?,
            ShellCommand::If(branches, otherwise) => self.if_command(branches, otherwise, certainty)?,
            ShellCommand::Case(subject, branches) => self.case_command(subject, branches, one.line, certainty)?,
        };
        Ok(match one.sense {
            Sense::Plain => status,
            Sense::Negated => status.map(|success| !success),
        })
    }

    pub(super) fn if_command(
        &mut self,
        branches: &[(CommandList, CommandList)],
        otherwise: &CommandList,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        let mut certainty = certainty;
        for (condition, body) in branches {
            let holds = self.list(condition, certainty)?;
            if let Some(status) = self.branch(holds, body, &mut certainty)? {
                return Ok(status);
            }
        }
        let last = self.branch(Some(true), otherwise, &mut certainty)?;
        Ok(last.flatten())
    }

    /// Runs a branch unless its condition does not hold. Returns the status of the whole command if no later branch can run.
    fn branch(
        &mut self,
        holds: Success,
        body: &CommandList,
        certainty: &mut Certainty,
    ) -> Result<Option<Success>, EvaluationFailure> {
        if holds == Some(false) {
            return Ok(None);
        }
        if holds.is_none() {
            *certainty = Certainty::MayRun;
        }
        let status = self.statements(body, *certainty)?;
        Ok(holds.map(|_| status.filter(|_| *certainty == Certainty::Runs)))
    }

    pub(super) fn case_command(
        &mut self,
        subject: &ShellWord,
        branches: &[(Vec<ShellWord>, CommandList)],
        line: usize,
        certainty: Certainty,
    ) -> Result<Success, EvaluationFailure> {
        let mut certainty = certainty;
        let subject = match self.value(subject, line) {
            ShellValue::Text(text) => Some(text),
            _ => None,
        };
        for (patterns, body) in branches {
            let mut matched = Some(false);
            for one in patterns {
                let one = subject.as_ref().and_then(|text| self.is_match(one, text));
                matched = match (matched, one) {
                    (Some(true), _) => Some(true),
                    (Some(false), one) => one,
                    (None, _) => None,
                };
            }
            if let Some(status) = self.branch(matched, body, &mut certainty)? {
                return Ok(status);
            }
        }
        Ok((certainty == Certainty::Runs).then_some(true))
    }
}
