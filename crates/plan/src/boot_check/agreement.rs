//! Whether the declared partitions and our own boot line want the same CPUs: two intentions of one person, one verdict.

use super::{Answer, Evidence};
use crate::lint::Line;
use machine::CpuSet;
use serde::Serialize;

/// A partition that `/etc/quietcore.toml` declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its CPUs, or why they are not known here.
    pub cpus: Result<CpuSet, String>,
}

/// Whether one agrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// The partition; `None` for CPUs of the boot line that are in none.
    pub partition: Option<String>,
    /// The CPUs.
    pub cpus: Option<CpuSet>,
    /// Whether the boot line isolates just them.
    pub answer: Answer,
}

/// Compares; empty where nothing is declared, or no words are ours.
pub(super) fn agreement(evidence: &Evidence) -> Vec<Agreement> {
    let words: Vec<&str> = evidence
        .ours
        .iter()
        .flat_map(|ours| &ours.words)
        .map(String::as_str)
        .collect();
    if evidence.declared.is_empty() || words.is_empty() {
        return Vec::new();
    }
    let asked = Line::new(&words.join(" "), evidence.facts).isolated();
    let mut all = Vec::new();
    let mut left = asked.clone();
    for one in &evidence.declared {
        let answer = match &one.cpus {
            Err(why) => Answer::unknown(why.clone()),
            Ok(cpus) => {
                left = left.minus(cpus);
                let missing = cpus.minus(&asked);
                match missing.is_empty() {
                    true => Answer::yes(format!("our boot line isolates CPU {cpus}")),
                    false => Answer::no(format!(
                        "our boot line isolates CPU {asked}, without CPU {missing} of this partition; `quietcore boot set \
                         --cpus {}` adds it",
                        asked.or(cpus)
                    )),
                }
            }
        };
        all.push(Agreement {
            partition: Some(one.name.clone()),
            cpus: one.cpus.clone().ok(),
            answer,
        });
    }
    let all_known = evidence.declared.iter().all(|one| one.cpus.is_ok());
    if !left.is_empty() && all_known {
        all.push(Agreement {
            partition: None,
            answer: Answer::no(format!(
                "our boot line isolates CPU {left}, which no declared partition has: declare one (`quietcore apply --cpus \
                 {left} --save`), or take it off the line"
            )),
            cpus: Some(left),
        });
    }
    all
}
