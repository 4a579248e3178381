//! `study.toml`: text to a [`Study`]. Whatever is wrong is said with the line where it stands, before anything runs.

use crate::boots::Boot;
use crate::cells::{Axis, Cell, Product, product};
use crate::which_knob::{self, KnobQuestion};
use crate::{MOST_RUNS, StudyError};
use machine::parse_duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// The longest file that is read.
pub const MOST_BYTES: u64 = 64 << 10;

/// The name of the partition that a study makes for a cell.
pub const PARTITION: &str = "study";

/// A study as its file asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What each run measures.
    pub what: What,
    /// CPUs that are measured, and isolated in cells that isolate: an expression.
    pub cpus: Said,
    /// How long one run measures: 100 ms to 24 h.
    pub each: Duration,
    /// Policy of the sampler, as `measure --policy` takes it; `None` is its usual one.
    pub policy: Option<Said>,
    /// Period of the wake-ups, as `measure --interval` takes it; `None` is its usual one.
    pub interval: Option<Said>,
    /// Where the load of a cell runs.
    pub load_place: LoadPlace,
    /// How often every cell is run.
    pub repetitions: usize,
    /// From which the order is drawn.
    pub seed: u64,
    /// The longest time that one call may take; what is left is for the next one.
    pub budget: Option<Duration>,
    /// How long the machine is left alone before each run.
    pub cool_down: Duration,
    /// Before each run it is waited until the hottest sensor is at this many degrees Celsius or below: 1 to 150. `None` asks none.
    pub cool_to_c: Option<u8>,
    /// The axes, in the order in which they name cells.
    pub axes: Vec<Axis>,
    /// The product of the axes.
    pub cells: Vec<Cell>,
    /// The boots that the cells need, each once; a single plain one where none was asked for.
    pub boots: Vec<Boot>,
    /// What is asked about single knobs; nothing in a study that somebody wrote for something else.
    pub which_knob: Vec<KnobQuestion>,
}

/// A text of the file that only the machine can judge, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// What a run measures: the word behind `measure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Wake-up latency.
    Latency,
    /// Gaps in a busy loop.
    Noise,
    /// Both at once.
    All,
}

impl What {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            What::Latency => "latency",
            What::Noise => "noise",
            What::All => "all",
        }
    }
}

/// Where the load of a cell runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPlace {
    /// On every CPU that a program which nobody pinned may use: isolation keeps it away from the measured ones.
    #[default]
    Everywhere,
    /// Never on the measured CPUs, isolated or not.
    Others,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    repetitions: Spanned<usize>,
    seed: Option<u64>,
    budget: Option<Spanned<String>>,
    cool_down: Option<Spanned<String>>,
    cool_to_c: Option<Spanned<i64>>,
    #[serde(default)]
    load_on: LoadPlace,
    measure: Measure,
    axes: Axes,
    #[serde(default)]
    isolation: BTreeMap<Spanned<String>, Isolation>,
    #[serde(default)]
    which_knob: Vec<which_knob::Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measure {
    what: What,
    cpus: Spanned<String>,
    #[serde(rename = "for")]
    each: Spanned<String>,
    policy: Option<Spanned<String>>,
    interval: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axes {
    pub isolation: Option<Spanned<Vec<Spanned<String>>>>,
    pub load: Option<Spanned<Vec<Spanned<String>>>>,
    pub knob: Option<Spanned<Vec<Spanned<String>>>>,
    pub preemption: Option<Spanned<Vec<Spanned<String>>>>,
    pub kernel: Option<Spanned<Vec<Spanned<String>>>>,
}

/// An isolation that the file gives a name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Isolation {
    pub profile: Option<Partition>,
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
pub(crate) enum Partition {
    None,
    Minimal,
    Balanced,
    Strict,
}

/// What the parts of a file are read with: its text for the lines, and the isolations that it names.
pub(crate) struct Context<'a> {
    pub text: &'a str,
    pub isolations: &'a BTreeMap<Spanned<String>, Isolation>,
}

impl Context<'_> {
    /// The line, from 1, in which a span of bytes begins.
    pub fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    fn said(&self, value: &Spanned<String>) -> Said {
        Said {
            text: value.get_ref().clone(),
            line: self.line(&value.span()),
        }
    }

    fn duration(&self, value: &Spanned<String>) -> Result<Duration, StudyError> {
        parse_duration(value.get_ref()).map_err(|why| {
            StudyError::new(
                self.line(&value.span()),
                why,
                "write a time such as 500ms, 10s, 5min or 2h",
            )
        })
    }
}

/// Reads a study.
///
/// # Errors
/// What is wrong first, with its line.
pub fn parse(bytes: &[u8]) -> Result<Study, StudyError> {
    if bytes.len() as u64 > MOST_BYTES {
        let what = format!("the file has more than {MOST_BYTES} bytes");
        return Err(StudyError::new(
            0,
            what,
            "a study is a few lines; name another file",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        StudyError::new(
            line,
            "there is a byte that is not UTF-8 text",
            "write the file as plain text",
        )
    })?;
    let document: Document = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
        let line = before.map_or(0, |before| {
            before.iter().filter(|&&byte| byte == b'\n').count() + 1
        });
        StudyError::new(line, error.message().trim().replace('\n', "; "), KEYS)
    })?;
    study(&document, text)
}

/// Degrees Celsius that a machine may be cooled to.
fn warmth(degrees: &Spanned<i64>, context: &Context) -> Result<u8, StudyError> {
    let value = u8::try_from(*degrees.get_ref()).ok();
    value.filter(|value| (1..=150).contains(value)).ok_or_else(|| {
        StudyError::new(
            context.line(&degrees.span()),
            "a machine is cooled to 1 to 150 degrees Celsius",
            "write the degrees as a whole number, like 55, or leave `cool_to_c` out",
        )
    })
}

const KEYS: &str = "a study has repetitions, seed, budget, cool_down, cool_to_c, load_on; [measure] with what, cpus, for, policy, interval; \
                    [axes] with isolation, load, knob, preemption, kernel; [isolation.NAME] with profile, with, without, boot; and [[which_knob]] with knob, alone, \
                    in_plan, needs, along";

fn study(document: &Document, text: &str) -> Result<Study, StudyError> {
    let context = Context {
        text,
        isolations: &document.isolation,
    };
    let measure = &document.measure;
    let each = context.duration(&measure.each)?;
    let line = context.line(&measure.each.span());
    if each < Duration::from_millis(100) || each > Duration::from_secs(24 * 3600) {
        return Err(StudyError::new(
            line,
            "a run measures for 100ms to 24h",
            "write a time between these",
        ));
    }
    if let (What::All, Some(policy)) = (measure.what, &measure.policy) {
        let line = context.line(&policy.span());
        let next = "leave `policy` out, or measure latency or noise";
        return Err(StudyError::new(
            line,
            "`measure all` chooses its policies itself",
            next,
        ));
    }
    if let (What::Noise, Some(interval)) = (measure.what, &measure.interval) {
        let line = context.line(&interval.span());
        return Err(StudyError::new(
            line,
            "noise has no `interval`: its thread never sleeps",
            "leave it out",
        ));
    }
    if let Some(interval) = &measure.interval {
        let time = context.duration(interval)?;
        if time < Duration::from_micros(10) || time > Duration::from_secs(10).min(each) {
            let line = context.line(&interval.span());
            let next = "write a time between these";
            return Err(StudyError::new(
                line,
                "a period is 10us to 10s, and not longer than the run",
                next,
            ));
        }
    }
    let repetitions = *document.repetitions.get_ref();
    let line = context.line(&document.repetitions.span());
    if repetitions == 0 {
        return Err(StudyError::new(
            line,
            "no repetition was asked for",
            "ask for 4 or more: with fewer, no difference can be shown",
        ));
    }
    let budget = document
        .budget
        .as_ref()
        .map(|budget| context.duration(budget))
        .transpose()?;
    let cool_down = document
        .cool_down
        .as_ref()
        .map(|time| context.duration(time))
        .transpose()?;
    let cool_down = cool_down.unwrap_or_default();
    if let (Some(budget), Some(said)) = (budget, &document.budget)
        && budget < each.saturating_add(cool_down)
    {
        let next = "give it more, or measure for a shorter time";
        return Err(StudyError::new(
            context.line(&said.span()),
            "not one run fits into the budget",
            next,
        ));
    }
    let cool_to_c = document
        .cool_to_c
        .as_ref()
        .map(|degrees| warmth(degrees, &context))
        .transpose()?;
    let Product { axes, cells, boots } = product(&document.axes, &context)?;
    let which_knob = which_knob::questions(&document.which_knob, &axes, &context)?;
    if repetitions.saturating_mul(cells.len()) > MOST_RUNS {
        let what = format!(
            "{repetitions} repetitions of {} cells are more than {MOST_RUNS} runs",
            cells.len()
        );
        return Err(StudyError::new(line, what, "ask for fewer repetitions or levels"));
    }
    Ok(Study {
        what: measure.what,
        cpus: context.said(&measure.cpus),
        each,
        policy: measure.policy.as_ref().map(|policy| context.said(policy)),
        interval: measure.interval.as_ref().map(|interval| context.said(interval)),
        load_place: document.load_on,
        repetitions,
        seed: document.seed.unwrap_or(1),
        budget,
        cool_down,
        cool_to_c,
        axes,
        cells,
        boots,
        which_knob,
    })
}
