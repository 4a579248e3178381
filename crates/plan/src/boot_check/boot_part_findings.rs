//! Reports the boot part of the declarations, as findings of the command that applies the run-time part.

use super::{BootVerdict, CheckAnswer, ParameterOutcome, Truth};
use crate::declared::PATH;
use crate::{Finding, FindingId, Level};
use machine::cmdline::BootWordStage;

/// Findings about the boot part; none if all of it is active, as far as this is observable.
///
/// Errors are what the declared partitions lack in this boot; parameters that wait for the next boot are no error.
#[must_use]
pub fn boot_part_findings(verdict: &BootVerdict) -> Vec<Finding> {
    const ADVICE: &str = "`quietcore boot check` reports details; `quietcore boot show` shows every entry";
    let disagrees = |answer: &CheckAnswer| answer.truth == Truth::No;
    let differs = verdict.declared.iter().filter(|one| disagrees(&one.answer)).map(|one| {
        let subject = one.partition.clone().unwrap_or_else(|| PATH.to_owned());
        Finding::error(FindingId::BOOT_PART_DIFFERS, subject, one.answer.because.clone())
            .fix("`quietcore boot set` writes what is declared; `boot = false` excludes a partition from the boot line")
    });
    let ours = verdict.parameters.iter().filter(|one| one.ours.is_some());
    let words = ours.filter_map(|one| {
        let (level, id, message) = match one.outcome {
            ParameterOutcome::Works | ParameterOutcome::Unknown => return None,
            ParameterOutcome::Pending => (Level::Info, FindingId::BOOT_PART_PENDING, one.reached.because.clone()),
            ParameterOutcome::Reverted => (Level::Error, FindingId::BOOT_PART_REVERTED, one.reached.because.clone()),
            // Whether it works is determined by `boot check`, which counts.
            ParameterOutcome::Broken => {
                let first = [&one.reached, &one.understood]
                    .into_iter()
                    .find(|answer| disagrees(answer))?;
                (Level::Error, FindingId::BOOT_PART_WITHOUT_EFFECT, first.because.clone())
            }
        };
        let fix = match one.ours {
            Some(BootWordStage::Pending) => "restart the machine",
            _ => ADVICE,
        };
        Some(Finding::new(level, id, one.word.clone(), message).fix(fix))
    });
    differs.chain(words).collect()
}
