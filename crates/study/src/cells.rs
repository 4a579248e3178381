//! Builds the cells, one for every combination of levels, and selects the pairs that are worth comparing.

use crate::boots::{Boot, KernelLevel, kernels, preemptions};
use crate::document::{Axes, ParseContext, StudyError};
use crate::isolations::{IsolationMethod, KnobAxis, method, switches, unused};
use crate::levels::levels;
use crate::loads::different_loads;
use measure::load::LoadKind;
use plan::Intent;

/// Maximum number of cells of a study.
pub const MOST_CELLS: usize = 256;

/// Maximum number of runs: repetitions of all cells.
pub const MOST_RUNS: usize = 10_000;

/// An axis: one property that differs between cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `isolation`, `load`, the name of a knob, `preemption` or `kernel`.
    pub name: String,
    /// Its levels, without duplicates.
    pub levels: Vec<String>,
}

/// One combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelCombination {
    /// Its name and that of its directory: the levels joined by `-`, which no level contains.
    pub name: String,
    /// The index of its level in each axis, in the order of [`crate::Study::axes`].
    pub levels: Vec<usize>,
    /// What is applied, without CPUs; `None` where nothing is.
    pub intent: Option<Intent>,
    /// The load during the measurement; empty when idle.
    pub load: Vec<LoadKind>,
    /// The index in [`crate::Study::boots`] of the boot in which it is measured.
    pub boot: usize,
}

/// Two cells that differ in one axis only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPair {
    /// The index of that axis.
    pub axis: usize,
    /// The index of the cell with the earlier level.
    pub first: usize,
    /// The index of the other cell.
    pub other: usize,
}

/// All pairs of cells that differ in one axis only: by axis, then in the order of the cells.
#[must_use]
pub fn pairs(axes: &[Axis], cells: &[LevelCombination]) -> Vec<CellPair> {
    let mut found = Vec::new();
    for axis in 0..axes.len() {
        for (first, one) in cells.iter().enumerate() {
            for (other, two) in cells.iter().enumerate().skip(first + 1) {
                let differing = |(place, (a, b)): (usize, (&usize, &usize))| (a != b).then_some(place);
                let mut where_apart = one.levels.iter().zip(&two.levels).enumerate().filter_map(differing);
                if where_apart.next() == Some(axis) && where_apart.next().is_none() {
                    found.push(CellPair { axis, first, other });
                }
            }
        }
    }
    found
}

/// The axes, their product, and the boots in which the cells are measured.
pub(crate) struct Product {
    pub axes: Vec<Axis>,
    pub cells: Vec<LevelCombination>,
    pub boots: Vec<Boot>,
}

/// Builds the product. Axes that need their own boot come last, and only where the file has them.
pub(crate) fn product(axes: &Axes, context: &ParseContext) -> Result<Product, StudyError> {
    let levels = AxisLevels::read(axes, context)?;
    let mut product = Product {
        axes: levels.axes(),
        cells: Vec::new(),
        boots: Vec::new(),
    };
    let mut known: Vec<(usize, IsolationMethod)> = Vec::new();
    for (place, (word, line)) in levels.isolations.iter().enumerate() {
        for setting in 0..levels.settings {
            let is_on = |knob: usize| levels.is_on(knob, setting);
            let method = method(word, *line, &levels.knobs, &is_on, context)?;
            if let Some((same, _)) = known.iter().find(|(other, same)| *same == method && *other != place) {
                let before = levels.isolations.get(*same);
                let before = before.map_or("another level", |(word, _)| word);
                let what = format!("`{word}` is the same isolation as `{before}`");
                return Err(StudyError::new(*line, what, "remove one of them"));
            }
            for load_place in 0..levels.loads.len() {
                if let Some(cell) = levels.cell(place, load_place, setting, &method) {
                    product.add(&cell, &method.boot, &levels);
                }
            }
            known.push((place, method));
        }
    }
    Ok(product)
}

/// The levels of all axes.
struct AxisLevels<'a> {
    isolations: Vec<(String, usize)>,
    loads: Vec<(String, Vec<LoadKind>)>,
    knobs: Vec<KnobAxis<'a>>,
    preemptions: Vec<String>,
    kernels: Vec<KernelLevel>,
    /// The number of settings of the knobs: each is off or on.
    settings: usize,
}

impl<'a> AxisLevels<'a> {
    fn read(axes: &'a Axes, context: &ParseContext) -> Result<AxisLevels<'a>, StudyError> {
        unused(axes, context)?;
        let isolations = levels(axes.isolation.as_ref(), "isolation", "none", context)?;
        let loads = levels(axes.load.as_ref(), "load", "idle", context)?;
        let knobs = switches(axes.knob.as_ref(), context)?;
        let (preemptions, kernels) = (preemptions(axes, context)?, kernels(axes, context)?);
        let lengths = [
            isolations.len(),
            loads.len(),
            preemptions.len().max(1),
            kernels.len().max(1),
        ];
        Ok(AxisLevels {
            settings: countable(&lengths, knobs.len())?,
            loads: different_loads(loads, axes, context)?,
            isolations,
            knobs,
            preemptions,
            kernels,
        })
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            axis("isolation", self.isolations.iter().map(|(word, _)| word.clone())),
            axis("load", self.loads.iter().map(|(word, _)| word.clone())),
        ];
        let knobs = self.knobs.iter();
        axes.extend(knobs.map(|knob| axis(knob.name, ["off", "on"].map(str::to_owned))));
        if !self.preemptions.is_empty() {
            axes.push(axis("preemption", self.preemptions.iter().cloned()));
        }
        if !self.kernels.is_empty() {
            let kernels = self.kernels.iter();
            axes.push(axis("kernel", kernels.map(|kernel| kernel.text.clone())));
        }
        axes
    }

    /// Whether a knob is on in a setting. The first knob varies slowest, as everywhere in the product.
    fn is_on(&self, knob: usize, setting: usize) -> bool {
        setting >> (self.knobs.len() - 1 - knob) & 1 == 1
    }

    /// The cell of an isolation, a load and a setting of the knobs, without its boot.
    fn cell(
        &self,
        isolation: usize,
        load: usize,
        setting: usize,
        method: &IsolationMethod,
    ) -> Option<LevelCombination> {
        let (word, _) = self.isolations.get(isolation)?;
        let (load_word, kinds) = self.loads.get(load)?;
        let mut name = format!("{word}-{load_word}");
        let mut levels = vec![isolation, load];
        for (knob, switch) in self.knobs.iter().enumerate() {
            let is_on = self.is_on(knob, setting);
            name.push_str(&format!("-{}.{}", switch.name, if is_on { "on" } else { "off" }));
            levels.push(usize::from(is_on));
        }
        Some(LevelCombination {
            name,
            levels,
            intent: method.intent.clone(),
            load: kinds.clone(),
            boot: 0,
        })
    }
}

impl Product {
    /// Adds a cell for every preemption model and kernel.
    fn add(&mut self, cell: &LevelCombination, words: &[String], levels: &AxisLevels) {
        for (preemption_place, preemption) in or_none(&levels.preemptions) {
            for (kernel_place, kernel) in or_none(&levels.kernels) {
                let mut cell = cell.clone();
                let mut boot = Boot {
                    words: words.to_vec(),
                    kernel: None,
                };
                if let Some(model) = preemption {
                    cell.name.push_str(&format!("-{model}"));
                    cell.levels.push(preemption_place);
                    boot.words.push(format!("preempt={model}"));
                }
                if let Some(kernel) = kernel {
                    cell.name.push_str(&format!("-{}", kernel.name));
                    cell.levels.push(kernel_place);
                    boot.kernel = Some(kernel.text.clone());
                }
                let there = self.boots.iter().position(|known| *known == boot);
                cell.boot = there.unwrap_or_else(|| {
                    self.boots.push(boot);
                    self.boots.len() - 1
                });
                self.cells.push(cell);
            }
        }
    }
}

/// The levels of an axis with their indexes; a single `None` where the file has no such axis.
fn or_none<T>(levels: &[T]) -> Vec<(usize, Option<&T>)> {
    match levels {
        [] => vec![(0, None)],
        levels => levels
            .iter()
            .enumerate()
            .map(|(place, level)| (place, Some(level)))
            .collect(),
    }
}

fn axis(name: &str, levels: impl IntoIterator<Item = String>) -> Axis {
    Axis {
        name: name.to_owned(),
        levels: levels.into_iter().collect(),
    }
}

/// The number of settings of the knobs. Refuses fewer than two cells and too many.
fn countable(lengths: &[usize], knobs: usize) -> Result<usize, StudyError> {
    let settings = u32::try_from(knobs).ok().and_then(|knobs| 2_usize.checked_pow(knobs));
    let count = settings.and_then(|settings| {
        lengths
            .iter()
            .try_fold(settings, |count, length| count.checked_mul(*length))
    });
    match (settings, count) {
        (_, Some(0 | 1)) => {
            let next = "give [axes] two levels or more: isolation = [\"none\", \"balanced\"]";
            Err(StudyError::new(
                0,
                "a single cell cannot be compared with anything",
                next,
            ))
        }
        (Some(settings), Some(count)) if count <= MOST_CELLS => Ok(settings),
        (_, count) => {
            let count = count.map_or_else(|| "too many".to_owned(), |count| count.to_string());
            let what = format!("the axes create {count} cells; the limit is {MOST_CELLS}");
            Err(StudyError::new(
                0,
                what,
                "remove levels or knobs from [axes]: each knob doubles the cells",
            ))
        }
    }
}
