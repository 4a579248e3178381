//! Checks the boot line: whether the kernel accepted each isolating parameter, and whether it works. The answers are
//! those of `boot check`, turned into findings.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use plan::boot_check::{CheckAnswer, ParameterCheck, ParameterOutcome, Truth, boot_part_findings};
use plan::{FindingId, Level};

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::BootLine,
    what: "each parameter that isolates: whether it reached the kernel, was understood, and works",
    judge,
};

const ADVICE: &str = "`quietcore boot check` reports more; `quietcore explain --cmdline` checks a line before you use \
     it";

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let Some(verdict) = evidence.boot else {
        return;
    };
    let boot_findings = boot_part_findings(verdict);
    let is_reported = |one: &ParameterCheck| boot_findings.iter().any(|finding| finding.subject == one.word);
    let others = verdict.parameters.iter().filter(|one| !is_reported(one));
    found.extend(others.filter_map(|one| parameter(case, one)));
    found.extend(boot_findings.iter().cloned().map(CheckFinding::of));
}

fn parameter(case: &CheckCase, one: &ParameterCheck) -> Option<CheckFinding> {
    let answers = [&one.reached, &one.understood, &one.works];
    let first = |truth: Truth| answers.into_iter().find(|answer| answer.truth == truth);
    let message = |level, id: FindingId, answer: &CheckAnswer| {
        let found = CheckFinding::new(level, id, one.word.clone(), answer.because.clone()).fix(ADVICE);
        Some(
            answers
                .iter()
                .fold(found, |found, answer| found.seen(answer.because.clone())),
        )
    };
    match one.outcome {
        ParameterOutcome::Works => None,
        ParameterOutcome::Unknown => message(Level::Info, FindingId::BOOT_PARAMETER_UNSEEN, first(Truth::Unknown)?),
        ParameterOutcome::Pending => message(Level::Info, FindingId::BOOT_PART_PENDING, &one.reached),
        ParameterOutcome::Reverted | ParameterOutcome::Broken => {
            // Next to a partition the line is a supplement; as the only means it is everything.
            let level = match (one.ours, &case.isolation.means) {
                (Some(_), _) | (None, IsolationMeans::BootLine) => Level::Error,
                (None, _) => Level::Warning,
            };
            message(level, FindingId::BOOT_PARAMETER_BROKEN, first(Truth::No)?)
        }
    }
}
