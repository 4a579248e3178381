//! Parses `study.toml` as a document: its tables, the line numbers of their values, and its errors.

use machine::parse_duration;
use measure::MeasurementKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// Maximum size of a study file.
pub const MOST_BYTES: u64 = 64 << 10;

const KEYS: &str = "a study has repetitions, seed, budget, cool_down, cool_to_c, load_on; [measure] with what, cpus, for, policy, interval; \
                    [axes] with isolation, load, knob, preemption, kernel; [isolation.NAME] with profile, with, without, boot; and [[which_knob]] with knob, alone, \
                    in_plan, needs, along";

/// An error in a study file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", place(*line))]
pub struct StudyError {
    /// Line number, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl StudyError {
    pub(crate) fn new(line: usize, what: impl Into<String>, next: impl Into<String>) -> StudyError {
        // The message repeats text from the file; a terminal must not interpret its escape sequences.
        let plain = |text: String| text.replace(char::is_control, "?");
        StudyError {
            line,
            what: plain(what.into()),
            next: plain(next.into()),
        }
    }
}

fn place(line: usize) -> String {
    match line {
        0 => String::new(),
        line => format!("line {line}: "),
    }
}

/// A text of the file that can only be checked on the machine, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// Where the load of a cell runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPlace {
    /// On every CPU that an unpinned program may use: isolation keeps the load off the measured CPUs.
    #[default]
    Everywhere,
    /// Never on the measured CPUs, isolated or not.
    Others,
}

/// The parsed TOML, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyDocument {
    pub repetitions: Spanned<usize>,
    pub seed: Option<u64>,
    pub budget: Option<Spanned<String>>,
    pub cool_down: Option<Spanned<String>>,
    pub cool_to_c: Option<Spanned<i64>>,
    #[serde(default)]
    pub load_on: LoadPlace,
    pub measure: MeasureTable,
    pub axes: Axes,
    #[serde(default)]
    pub isolation: BTreeMap<Spanned<String>, NamedIsolation>,
    #[serde(default)]
    pub which_knob: Vec<QuestionTable>,
}

/// The table `[measure]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureTable {
    pub what: MeasurementKind,
    pub cpus: Spanned<String>,
    #[serde(rename = "for")]
    pub each: Spanned<String>,
    pub policy: Option<Spanned<String>>,
    pub interval: Option<Spanned<String>>,
}

/// The table `[axes]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axes {
    pub isolation: Option<Spanned<Vec<Spanned<String>>>>,
    pub load: Option<Spanned<Vec<Spanned<String>>>>,
    pub knob: Option<Spanned<Vec<Spanned<String>>>>,
    pub preemption: Option<Spanned<Vec<Spanned<String>>>>,
    pub kernel: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A named isolation of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedIsolation {
    pub profile: Option<PartitionChoice>,
    #[serde(default)]
    pub with: Vec<Spanned<String>>,
    #[serde(default)]
    pub without: Vec<Spanned<String>>,
    #[serde(default)]
    pub boot: Vec<Spanned<String>>,
}

/// The partition of a named isolation: none, or that of a profile.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PartitionChoice {
    None,
    Minimal,
    Balanced,
    Strict,
}

/// Context for reading parts of a file: its text, for line numbers, and its named isolations.
pub(crate) struct ParseContext<'a> {
    pub text: &'a str,
    pub isolations: &'a BTreeMap<Spanned<String>, NamedIsolation>,
}

impl ParseContext<'_> {
    /// The line, from 1, at which a byte span starts.
    pub fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// A text with its line.
    pub fn source_text(&self, value: &Spanned<String>) -> SourceText {
        SourceText {
            text: value.get_ref().clone(),
            line: self.line(&value.span()),
        }
    }

    /// A duration, as [`parse_duration`] reads it.
    pub fn duration(&self, value: &Spanned<String>) -> Result<Duration, StudyError> {
        parse_duration(value.get_ref()).map_err(|why| {
            StudyError::new(
                self.line(&value.span()),
                why,
                "write a time such as 500ms, 10s, 5min or 2h",
            )
        })
    }
}

/// A table `[[which_knob]]`; its pairs are names of isolations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionTable {
    pub knob: Spanned<String>,
    pub alone: Option<[Spanned<String>; 2]>,
    pub in_plan: Option<[Spanned<String>; 2]>,
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default)]
    pub along: Vec<String>,
}

impl StudyDocument {
    /// Reads the tables of a file, and returns its text for line numbers in later errors.
    ///
    /// # Errors
    /// The file is too long, not UTF-8, or does not match [`KEYS`].
    pub fn parse(bytes: &[u8]) -> Result<(StudyDocument, &str), StudyError> {
        if bytes.len() as u64 > MOST_BYTES {
            let what = format!("the file is larger than {MOST_BYTES} bytes");
            return Err(StudyError::new(
                0,
                what,
                "a study consists of a few lines; choose another file",
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            StudyError::new(
                line,
                "it contains a byte that is not UTF-8 text",
                "write the file as plain text",
            )
        })?;
        let document = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
            let line = before.map_or(0, |before| before.iter().filter(|&&byte| byte == b'\n').count() + 1);
            StudyError::new(line, error.message().trim().replace('\n', "; "), KEYS)
        })?;
        Ok((document, text))
    }
}
