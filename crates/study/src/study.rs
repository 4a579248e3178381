//! `study.toml`: text to a [`Study`]. Whatever is wrong is said with the line where it stands, before anything runs.

use crate::boots::Boot;
use crate::cells::{Axis, Cell, MOST_RUNS, Product, product};
use crate::document::{Context, Document, LoadPlace, SourceText, StudyError, What};
use crate::which_knob::{self, KnobQuestion};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// A study as its file asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What each run measures.
    pub what: What,
    /// CPUs that are measured, and isolated in cells that isolate: an expression.
    pub cpus: SourceText,
    /// How long one run measures: 100 ms to 24 h.
    pub each: Duration,
    /// Policy of the sampler, as `measure --policy` takes it; `None` is its usual one.
    pub policy: Option<SourceText>,
    /// Period of the wake-ups, as `measure --interval` takes it; `None` is its usual one.
    pub interval: Option<SourceText>,
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

impl Study {
    /// Whether cells need boots of their own.
    #[must_use]
    pub fn needs_boots(&self) -> bool {
        self.boots.iter().any(|boot| !boot.is_plain())
    }

    /// Whether cells are measured under kernels that the study names.
    #[must_use]
    pub fn names_kernels(&self) -> bool {
        self.boots.iter().any(|boot| boot.kernel.is_some())
    }

    /// The places of the cells that are measured in a boot.
    pub fn cells_of(&self, boot: usize) -> impl Iterator<Item = usize> {
        let cells = self.cells.iter().enumerate();
        cells
            .filter(move |(_, cell)| cell.boot == boot)
            .map(|(place, _)| place)
    }

    /// The words of a cell's levels, by axis.
    #[must_use]
    pub fn levels_of(&self, cell: &Cell) -> BTreeMap<String, String> {
        let words = self.axes.iter().zip(&cell.levels);
        let word =
            |(axis, level): (&Axis, &usize)| Some((axis.name.clone(), axis.levels.get(*level)?.clone()));
        words.filter_map(word).collect()
    }
}

/// Reads a study.
///
/// # Errors
/// What is wrong first, with its line.
pub fn parse(bytes: &[u8]) -> Result<Study, StudyError> {
    let (document, text) = Document::parse(bytes)?;
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
    if let (Some(budget), Some(source_text)) = (budget, &document.budget)
        && budget < each.saturating_add(cool_down)
    {
        let next = "give it more, or measure for a shorter time";
        return Err(StudyError::new(
            context.line(&source_text.span()),
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
        cpus: context.source_text(&measure.cpus),
        each,
        policy: measure.policy.as_ref().map(|policy| context.source_text(policy)),
        interval: measure
            .interval
            .as_ref()
            .map(|interval| context.source_text(interval)),
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
