//! Parses `study.toml` into a [`Study`]. Every error is reported with its line, before anything runs.

use crate::boots::Boot;
use crate::cells::{Axis, LevelCombination, MOST_RUNS, Product, product};
use crate::document::{LoadPlace, MeasureTable, ParseContext, SourceText, StudyDocument, StudyError};
use crate::which_knob::{self, KnobQuestion};
use machine::MapEntries;
use measure::MeasurementKind;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// A parsed study file.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What each run measures.
    pub what: MeasurementKind,
    /// A CPU expression: the CPUs that are measured, and isolated in cells that isolate.
    pub cpus: SourceText,
    /// How long one run measures: 100 ms to 24 h.
    pub each: Duration,
    /// Policy of the sampler, in the syntax of `measure --policy`; `None` is the default.
    pub policy: Option<SourceText>,
    /// Period of the wake-ups, in the syntax of `measure --interval`; `None` is the default.
    pub interval: Option<SourceText>,
    /// Where the load of a cell runs.
    pub load_place: LoadPlace,
    /// The number of runs of each cell.
    pub repetitions: usize,
    /// The seed of the random order.
    pub seed: u64,
    /// Maximum duration of one call; the next call continues.
    pub budget: Option<Duration>,
    /// Idle time before each run.
    pub cool_down: Duration,
    /// Each run waits until the hottest sensor is at or below this many degrees Celsius: 1 to 150. `None` does not wait.
    pub cool_to_c: Option<u8>,
    /// The axes, in the order in which they name cells.
    pub axes: Vec<Axis>,
    /// The product of the axes.
    pub cells: Vec<LevelCombination>,
    /// The boots that the cells need, without duplicates; a single plain one where the file requests none.
    pub boots: Vec<Boot>,
    /// The questions about single knobs; empty in a study with another purpose.
    pub which_knob: Vec<KnobQuestion>,
}

impl Study {
    /// Whether cells need their own boots.
    #[must_use]
    pub fn needs_boots(&self) -> bool {
        self.boots.iter().any(|boot| !boot.is_plain())
    }

    /// Whether the study names the kernels of its cells.
    #[must_use]
    pub fn names_kernels(&self) -> bool {
        self.boots.iter().any(|boot| boot.kernel.is_some())
    }

    /// The indexes of the cells that are measured in a boot.
    pub fn cells_of(&self, boot: usize) -> impl Iterator<Item = usize> {
        let cells = self.cells.iter().enumerate();
        cells.filter(move |(_, cell)| cell.boot == boot).map(|(place, _)| place)
    }

    /// The levels of a cell, by axis.
    #[must_use]
    pub fn levels_of(&self, cell: &LevelCombination) -> BTreeMap<String, String> {
        let words = self.axes.iter().zip(&cell.levels);
        let word = |(axis, level): (&Axis, &usize)| Some((axis.name.clone(), axis.levels.get(*level)?.clone()));
        words.filter_map(word).into_map()
    }
}

/// Reads a study.
///
/// # Errors
/// The first error, with its line.
pub fn parse(bytes: &[u8]) -> Result<Study, StudyError> {
    let (document, text) = StudyDocument::parse(bytes)?;
    study(&document, text)
}

/// Allowed target temperatures, in degrees Celsius.
fn warmth(degrees: &Spanned<i64>, context: &ParseContext) -> Result<u8, StudyError> {
    let value = u8::try_from(*degrees.get_ref()).ok();
    value.filter(|value| (1..=150).contains(value)).ok_or_else(|| {
        StudyError::new(
            context.line(&degrees.span()),
            "the temperature must be 1 to 150 degrees Celsius",
            "write the degrees as a whole number, like 55, or leave `cool_to_c` out",
        )
    })
}

fn study(document: &StudyDocument, text: &str) -> Result<Study, StudyError> {
    let context = ParseContext {
        text,
        isolations: &document.isolation,
    };
    let measure = &document.measure;
    let each = run_time(measure, &context)?;
    check_policy(measure, &context)?;
    check_interval(measure, each, &context)?;
    let repetitions = *document.repetitions.get_ref();
    let line = context.line(&document.repetitions.span());
    if repetitions == 0 {
        return Err(StudyError::new(
            line,
            "the number of repetitions is 0",
            "use 4 or more: fewer cannot show a difference",
        ));
    }
    let (budget, cool_down) = budget_and_cool_down(document, each, &context)?;
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
        return Err(StudyError::new(line, what, "use fewer repetitions or levels"));
    }
    let source_text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| context.source_text(text));
    Ok(Study {
        what: measure.what,
        cpus: context.source_text(&measure.cpus),
        each,
        policy: source_text(&measure.policy),
        interval: source_text(&measure.interval),
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

/// How long one run measures.
fn run_time(measure: &MeasureTable, context: &ParseContext) -> Result<Duration, StudyError> {
    let each = context.duration(&measure.each)?;
    if each < Duration::from_millis(100) || each > Duration::from_secs(24 * 3600) {
        return Err(StudyError::new(
            context.line(&measure.each.span()),
            "a run takes 100ms to 24h",
            "write a time in this range",
        ));
    }
    Ok(each)
}

fn check_policy(measure: &MeasureTable, context: &ParseContext) -> Result<(), StudyError> {
    match (measure.what, &measure.policy) {
        (MeasurementKind::All, Some(policy)) => Err(StudyError::new(
            context.line(&policy.span()),
            "`measure all` chooses its policies itself",
            "leave `policy` out, or measure latency or noise",
        )),
        _ => Ok(()),
    }
}

fn check_interval(measure: &MeasureTable, each: Duration, context: &ParseContext) -> Result<(), StudyError> {
    let Some(interval) = &measure.interval else {
        return Ok(());
    };
    let line = context.line(&interval.span());
    if measure.what == MeasurementKind::Noise {
        return Err(StudyError::new(
            line,
            "noise has no `interval`: its thread never sleeps",
            "leave it out",
        ));
    }
    let time = context.duration(interval)?;
    if time < Duration::from_micros(10) || time > Duration::from_secs(10).min(each) {
        return Err(StudyError::new(
            line,
            "a period is 10us to 10s, and not longer than the run",
            "write a time in this range",
        ));
    }
    Ok(())
}

/// The maximum duration of one call, and the idle time before each run.
fn budget_and_cool_down(
    document: &StudyDocument,
    each: Duration,
    context: &ParseContext,
) -> Result<(Option<Duration>, Duration), StudyError> {
    let duration = |time: &Option<Spanned<String>>| {
        let time = time.as_ref().map(|time| context.duration(time));
        time.transpose()
    };
    let budget = duration(&document.budget)?;
    let cool_down = duration(&document.cool_down)?.unwrap_or_default();
    if let (Some(budget), Some(source_text)) = (budget, &document.budget)
        && budget < each.saturating_add(cool_down)
    {
        return Err(StudyError::new(
            context.line(&source_text.span()),
            "the budget is too short for a single run",
            "raise it, or measure for a shorter time",
        ));
    }
    Ok((budget, cool_down))
}
