//! Reports the boot part of the declarations, as findings of the command that applies the run-time part.

use super::{Answer, BootVerdict, Outcome, Stage, Truth};
use crate::declared::PATH;
use crate::{Finding, FindingId, Level};

/// Findings about the boot part; none if all of it is active, as far as this is observable.
///
/// Errors are what the declared partitions lack in this boot; parameters that wait for the next boot are no error.
#[must_use]
pub fn told_of_boot_part(verdict: &BootVerdict) -> Vec<Finding> {
    const ASK: &str = "`quietcore boot check` says more; `quietcore boot show` shows every entry";
    let disagrees = |answer: &Answer| answer.truth == Truth::No;
    let differs = verdict.declared.iter().filter(|one| disagrees(&one.answer)).map(|one| {
        let subject = one.partition.clone().unwrap_or_else(|| PATH.to_owned());
        Finding::new(Level::Error, FindingId::BOOT_PART_DIFFERS, subject, one.answer.because.clone())
            .fix("`quietcore boot set` writes what is declared; `boot = false` keeps a partition off the boot line")
    });
    let ours = verdict.parameters.iter().filter(|one| one.ours.is_some());
    let words = ours.filter_map(|one| {
        let (level, id, message) = match one.outcome {
            Outcome::Works | Outcome::Unknown => return None,
            Outcome::Pending => (
                Level::Info,
                FindingId::BOOT_PART_PENDING,
                one.reached.because.clone(),
            ),
            Outcome::Reverted => (
                Level::Error,
                FindingId::BOOT_PART_REVERTED,
                one.reached.because.clone(),
            ),
            // Whether it works is determined by `boot check`, which counts.
            Outcome::Broken => {
                let first = [&one.reached, &one.understood]
                    .into_iter()
                    .find(|answer| disagrees(answer))?;
                (
                    Level::Error,
                    FindingId::BOOT_PART_WITHOUT_EFFECT,
                    first.because.clone(),
                )
            }
        };
        let fix = match one.ours {
            Some(Stage::Pending) => "restart the machine",
            _ => ASK,
        };
        Some(Finding::new(level, id, one.word.clone(), message).fix(fix))
    });
    differs.chain(words).collect()
}
