//! Finds which knob of a plan helps.
//!
//! The isolations of such a study are the partition alone, the whole plan, each knob alone, and the plan without each knob.
//! Two comparisons answer for each knob: a knob that helps alone may be useless beside the others, and one may help only
//! beside them. A knob alone is compared with the bare partition, not with the unchanged machine; otherwise every knob would
//! be credited with the effect of the partition.

mod answer;
mod levels;
mod prediction;
mod text;

pub use answer::{KnobAnswer, KnobComparison, KnobEffect, knob_answers, least_repetitions};
pub use levels::{Candidates, KnobLevel, Matrix, matrix};
pub use prediction::{CellPrediction, CellPredictions, CheckedNumber, FirstChoice, PredictionCheck, prediction_check};

pub use crate::{Experiment, LoadLevel};

use crate::cells::Axis;
use crate::document::{ParseContext, QuestionTable, StudyError};
use serde::Serialize;
use toml::Spanned;

/// The comparisons for one knob. The first cell of a pair is without the knob, the other with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobQuestion {
    /// Its name.
    pub knob: String,
    /// Indexes of the cells that differ only in this knob, without other knobs; `None` where it cannot be alone.
    pub alone: Option<[usize; 2]>,
    /// Indexes of the cells that differ only in this knob, with the rest of the plan; `None` where it cannot be left out, or
    /// where that is the same pair.
    pub in_plan: Option<[usize; 2]>,
    /// Knobs that it needs to have an effect.
    pub needs: Vec<String>,
    /// Knobs that have no effect without it, so they are left out with it.
    pub along: Vec<String>,
}

/// The questions of a file with these axes.
pub(crate) fn questions(
    tables: &[QuestionTable],
    axes: &[Axis],
    context: &ParseContext,
) -> Result<Vec<KnobQuestion>, StudyError> {
    let mut found: Vec<KnobQuestion> = Vec::new();
    for one in tables {
        let line = context.line(&one.knob.span());
        // With one load and no knob as an axis, the index of a cell is that of its isolation.
        let ([isolation, load], []) = axes.split_at_checked(2).map_or(([].as_slice(), axes), |both| both) else {
            let next = "remove `knob`, `preemption` and `kernel` from [axes]";
            return Err(StudyError::new(
                line,
                "there are more axes than isolation and load",
                next,
            ));
        };
        if load.levels.len() != 1 {
            let next = "keep one in [axes], and write a study for each";
            return Err(StudyError::new(line, "there are several loads", next));
        }
        let knob = one.knob.get_ref();
        let Some(name) = plan::knobs::knob(knob).map(|knob| knob.name) else {
            let next = "use one that `quietcore explain` knows";
            return Err(StudyError::new(line, format!("there is no knob `{knob}`"), next));
        };
        if found.iter().any(|known| known.knob == name) {
            return Err(StudyError::new(
                line,
                format!("`{name}` is listed twice"),
                "list every knob once",
            ));
        }
        let place = |level: &Spanned<String>| {
            let found = isolation.levels.iter().position(|known| known == level.get_ref());
            found.ok_or_else(|| {
                let what = format!("no cell has the isolation `{}`", level.get_ref());
                let next = "use two levels of the axis `isolation`";
                StudyError::new(context.line(&level.span()), what, next)
            })
        };
        let pair = |levels: &Option<[Spanned<String>; 2]>| -> Result<Option<[usize; 2]>, StudyError> {
            let Some([without, with]) = levels else {
                return Ok(None);
            };
            Ok(Some([place(without)?, place(with)?]))
        };
        found.push(KnobQuestion {
            knob: name.to_owned(),
            alone: pair(&one.alone)?,
            in_plan: pair(&one.in_plan)?,
            needs: one.needs.clone(),
            along: one.along.clone(),
        });
    }
    Ok(found)
}
