//! Checks the boot line: whether the kernel accepted each isolating parameter, and whether it works. The answers are
//! those of `boot check`, turned into findings.

use super::{Layer, LayerName};
use crate::{Case, CheckFinding, Evidence, Means};
use plan::boot_check::{Answer, Checked, Outcome, Truth, told_of_boot_part};
use plan::{FindingId, Level};

pub(super) const LAYER: Layer = Layer {
    name: LayerName::BootLine,
    what: "each parameter that isolates: whether it reached the kernel, was understood, and works",
    look,
};

const ASK: &str =
    "`quietcore boot check` says more; `quietcore explain --cmdline` judges a line before it is used";

fn look(evidence: &Evidence, case: &Case, found: &mut Vec<CheckFinding>) {
    let Some(verdict) = evidence.boot else {
        return;
    };
    let told = told_of_boot_part(verdict);
    let is_told = |one: &Checked| told.iter().any(|finding| finding.subject == one.word);
    let others = verdict.parameters.iter().filter(|one| !is_told(one));
    found.extend(others.filter_map(|one| parameter(case, one)));
    found.extend(told.iter().cloned().map(CheckFinding::of));
}

fn parameter(case: &Case, one: &Checked) -> Option<CheckFinding> {
    let answers = [&one.reached, &one.understood, &one.works];
    let first = |truth: Truth| answers.into_iter().find(|answer| answer.truth == truth);
    let said = |level, id: FindingId, answer: &Answer| {
        let found = CheckFinding::new(level, id, one.word.clone(), answer.because.clone()).fix(ASK);
        Some(
            answers
                .iter()
                .fold(found, |found, answer| found.seen(answer.because.clone())),
        )
    };
    match one.outcome {
        Outcome::Works => None,
        Outcome::Unknown => said(
            Level::Info,
            FindingId::BOOT_PARAMETER_UNSEEN,
            first(Truth::Unknown)?,
        ),
        Outcome::Pending => said(Level::Info, FindingId::BOOT_PART_PENDING, &one.reached),
        Outcome::Reverted | Outcome::Broken => {
            // Next to a partition the line is a supplement; as the only means it is everything.
            let level = match (one.ours, &case.wish.means) {
                (Some(_), _) | (None, Means::BootLine) => Level::Error,
                (None, _) => Level::Warning,
            };
            said(level, FindingId::BOOT_PARAMETER_BROKEN, first(Truth::No)?)
        }
    }
}
