//! The truth table of one kernel: every disturbance with its score, or the reason why it has none.

use super::{Intervals, ScoreCounts};
use serde::{Deserialize, Serialize};

/// The result of a disturbance on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisturbanceResult {
    /// It was injected and scored.
    Ran(ScoreCounts),
    /// This machine cannot produce it, with the reason. It does not count, neither as passed nor as failed.
    Impossible(String),
    /// It can be produced, but an error occurred. It counts as a failure.
    Failed(String),
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruthRow {
    /// The name of the disturbance, or of several for a mixture.
    pub name: String,
    /// A short description; empty for a mixture.
    pub about: String,
    /// The result.
    pub cell: DisturbanceResult,
}

/// All results of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruthTable {
    /// `uname -r`.
    pub kernel: String,
    /// The seed of random distances and mixtures.
    pub seed: u64,
    /// Time after the injector's own end during which an event still counts.
    pub slack_ns: u64,
    /// Events that the kernel does not have.
    pub absent: Vec<String>,
    /// Kprobes that replace some of these events.
    #[serde(default)]
    pub kprobes: Vec<ReportedKprobe>,
    /// Number of lost events in all runs.
    pub lost_events: u64,
    /// One row for each disturbance, then the mixtures.
    pub rows: Vec<TruthRow>,
}

/// One of the kprobes that `blame` reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedKprobe {
    /// Its event.
    pub event: String,
    /// The kernel function that it probes.
    pub function: String,
}

/// Events, with the kprobes that together report the same.
const INSTEAD: &[(&str, &[&str])] = &[
    (
        "ipi/ipi_send_cpu",
        &["asks_one", "asks_many", "reschedules", "calls_one"],
    ),
    ("ipi/ipi_send_cpumask", &["asks_many", "calls_many"]),
];

/// Minimum share of events with the right class and culprit, in percent.
const RIGHT: u64 = 95;
/// Minimum share of the stolen time that is explained, in percent.
const EXPLAINED: u64 = 99;

impl TruthTable {
    /// Absent events that no set of kprobes replaces.
    #[must_use]
    pub fn unreported_events(&self) -> Vec<String> {
        let exists = |probe: &&str| self.kprobes.iter().any(|kprobe| kprobe.event == *probe);
        let is_reportable = |event: &str| {
            let instead = INSTEAD.iter().find(|(of, _)| *of == event);
            instead.is_some_and(|(_, probes)| probes.iter().all(&exists))
        };
        self.absent
            .iter()
            .filter(|event| !is_reportable(event))
            .cloned()
            .collect()
    }

    /// Every violated limit on names. An event whose culprit this kernel cannot report is scored by its class.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let sum = self.sum();
        let right = below(
            "right class and culprit",
            sum.culprit + sum.unreportable,
            sum.injected,
            RIGHT,
        );
        let wrong =
            (sum.wrong_traced > 0).then(|| format!("wrong names that are said to be traced: {}", sum.wrong_traced));
        let failed = self.failed();
        let failed = (failed > 0).then(|| format!("disturbances that failed: {failed}"));
        [right, wrong, failed].into_iter().flatten().collect()
    }

    /// A message if too little of the stolen time is explained. An emulator or hypervisor that stops the CPU leaves no
    /// event.
    #[must_use]
    pub fn unexplained(&self) -> Option<String> {
        let sum = self.sum();
        below("explained", sum.explained_ns, sum.stolen_ns, EXPLAINED)
    }

    /// The sum over all disturbances that were injected.
    #[must_use]
    pub fn sum(&self) -> ScoreCounts {
        let mut sum = ScoreCounts::default();
        for row in &self.rows {
            if let DisturbanceResult::Ran(counts) = &row.cell {
                sum.add(counts);
            }
        }
        sum
    }

    /// Number of disturbances that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        let failed = |row: &&TruthRow| matches!(row.cell, DisturbanceResult::Failed(_));
        self.rows.iter().filter(failed).count()
    }

    /// The table in Markdown, with its sums.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "| {} | injected | right class | right culprit | explained | unexplained, us | without injection, us | wrong traced |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
            self.kernel
        );
        for row in &self.rows {
            let name = match row.about.as_str() {
                "" => row.name.clone(),
                about => format!("{}: {about}", row.name),
            };
            text.push_str(&match &row.cell {
                DisturbanceResult::Ran(counts) => line(&name, counts),
                DisturbanceResult::Impossible(why) => {
                    format!("| {name} | - | not possible here: {why} | | | | | |\n")
                }
                DisturbanceResult::Failed(why) => format!("| {name} | FAILED | {why} | | | | | |\n"),
            });
        }
        let sum = self.sum();
        text.push_str(&line("**all**", &sum));
        let reportable = sum.injected.saturating_sub(sum.unreportable);
        text.push_str(&format!(
            "\nRight class and right culprit: {} of all, {} of those whose culprit this kernel reports. Explained: {} of the stolen time.",
            share(sum.culprit, sum.injected),
            share(sum.culprit, reportable),
            share(sum.explained_ns, sum.stolen_ns)
        ));
        text.push_str(&beside(&sum));
        text.push_str(&format!(
            "\nSeed {}, slack {} us, lost events {}.",
            self.seed,
            self.slack_ns / 1_000,
            self.lost_events
        ));
        if !self.absent.is_empty() {
            text.push_str(&format!(" This kernel has no {}.", self.absent.join(", ")));
        }
        if !self.kprobes.is_empty() {
            let functions: Vec<&str> = self.kprobes.iter().map(|kprobe| kprobe.function.as_str()).collect();
            text.push_str(&format!(" Kprobes stood at {}.", functions.join(", ")));
        }
        text.push('\n');
        for row in &self.rows {
            if let DisturbanceResult::Ran(counts) = &row.cell {
                for wrong in &counts.wrong {
                    text.push_str(&format!("wrong: {}: {wrong}\n", row.name));
                }
            }
        }
        text
    }
}

/// The message for a share below a percentage, if it is.
fn below(what: &str, part: u64, whole: u64, least: u64) -> Option<String> {
    let enough = whole > 0 && u128::from(part) * 100 >= u128::from(whole) * u128::from(least);
    (!enough).then(|| format!("{what}: {}, at least {least} % wanted", share(part, whole)))
}

fn line(name: &str, counts: &ScoreCounts) -> String {
    let not_reported = match counts.unreportable {
        0 => String::new(),
        count => format!(" ({count} not reported)"),
    };
    format!(
        "| {name} | {} | {} | {}{not_reported} | {} | {} | {} | {} |\n",
        counts.injected,
        counts.class,
        counts.culprit,
        share(counts.explained_ns, counts.stolen_ns),
        whole_us(counts.stolen_ns > 0, unexplained_ns(counts)),
        whole_us(counts.control.count > 0, counts.control.unexplained_ns()),
        counts.wrong_traced
    )
}

fn unexplained_ns(counts: &ScoreCounts) -> u64 {
    counts.stolen_ns.saturating_sub(counts.explained_ns)
}

/// Microseconds, or a dash if the value is not known.
fn whole_us(is_known: bool, ns: u64) -> String {
    if is_known {
        (ns / 1_000).to_string()
    } else {
        "-".to_owned()
    }
}

/// The unexplained time of the injected intervals, next to that of the control intervals. The share above includes all
/// of it.
fn beside(sum: &ScoreCounts) -> String {
    let Some(without) = sum.control.unexplained_us_per_s() else {
        return "\nNo control intervals: what is unexplained without any injection is not known.".to_owned();
    };
    let injected = Intervals {
        count: sum.injected,
        watched_ns: sum.watched_ns,
        stolen_ns: sum.stolen_ns,
        explained_ns: sum.explained_ns,
    };
    format!(
        "\nUnexplained inside the injected intervals ({} ms together): {} us, {} us per second. In {} control intervals of the same probe, of the same lengths, in which nothing was injected ({} ms together): {} us, {} us per second. Nothing is taken off.",
        injected.watched_ns / 1_000_000,
        injected.unexplained_ns() / 1_000,
        injected.unexplained_us_per_s().unwrap_or(0),
        sum.control.count,
        sum.control.watched_ns / 1_000_000,
        sum.control.unexplained_ns() / 1_000,
        without
    )
}

/// A share in percent, never rounded up to 100; a dash if there is nothing to divide by.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let hundredths = u128::from(part) * 10_000 / u128::from(whole);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TruthTable {
        let counts = |injected, culprit, unreportable, wrong: &[&str]| ScoreCounts {
            injected,
            class: injected,
            culprit,
            unreportable,
            stolen_ns: 100_000,
            explained_ns: 99_999,
            wrong_traced: wrong.len() as u64,
            wrong: wrong.iter().map(|wrong| (*wrong).to_owned()).collect(),
            watched_ns: 20_000_000,
            control: Intervals {
                count: injected,
                watched_ns: 20_000_000,
                stolen_ns: 8_000,
                explained_ns: 1_000,
            },
        };
        let row = |name: &str, cell| TruthRow {
            name: name.to_owned(),
            about: if name == "fifo" { "it computes" } else { "" }.to_owned(),
            cell,
        };
        TruthTable {
            kernel: "6.1".to_owned(),
            seed: 3,
            slack_ns: 200_000,
            absent: vec!["ipi/ipi_send_cpu".to_owned()],
            kprobes: Vec::new(),
            lost_events: 0,
            rows: vec![
                row("fifo", DisturbanceResult::Ran(counts(10, 10, 0, &[]))),
                row(
                    "munmap",
                    DisturbanceResult::Ran(counts(10, 5, 4, &["flush by make 9 on CPU 0"])),
                ),
                row("perf", DisturbanceResult::Impossible("no perf events".to_owned())),
                row("rcu", DisturbanceResult::Failed("no callback ran".to_owned())),
            ],
        }
    }

    #[test]
    fn events_covered_by_kprobes_count_as_reported() {
        let unreportable = |events: &[&str]| {
            let kprobe = |event: &&str| ReportedKprobe {
                event: (*event).to_owned(),
                function: "of_the_kernel".to_owned(),
            };
            let table = TruthTable {
                kprobes: events.iter().map(kprobe).collect(),
                ..table()
            };
            (
                table.unreported_events(),
                table.text().contains("Kprobes stood at of_the_kernel"),
            )
        };
        let absent = ["ipi/ipi_send_cpu".to_owned()];
        assert_eq!(unreportable(&[]), (absent.to_vec(), false));
        assert_eq!(
            unreportable(&["asks_one", "asks_many", "reschedules"]),
            (absent.to_vec(), true)
        );
        let all = ["asks_one", "asks_many", "reschedules", "calls_one"];
        assert_eq!(unreportable(&all), (Vec::new(), true));
    }

    #[test]
    fn sums_omit_disturbances_not_made_and_count_failures() {
        let table = table();
        let sum = table.sum();
        assert_eq!((sum.injected, sum.culprit, sum.unreportable), (20, 15, 4));
        assert_eq!(table.failed(), 1);
    }

    #[test]
    fn every_violated_limit_is_reported() {
        let mut table = table();
        // 19 of 20 events are right or cannot be reported, and all but 1 ns in 100,000 is explained.
        assert_eq!(
            table.missed(),
            [
                "wrong names that are said to be traced: 1",
                "disturbances that failed: 1"
            ]
        );
        table.rows.truncate(1);
        assert!(table.missed().is_empty() && table.unexplained().is_none());
        if let Some(DisturbanceResult::Ran(counts)) = table.rows.first_mut().map(|row| &mut row.cell) {
            (counts.culprit, counts.explained_ns) = (9, 98_999);
        }
        assert_eq!(
            table.missed(),
            ["right class and culprit: 90.00 %, at least 95 % wanted"]
        );
        assert_eq!(
            table.unexplained().as_deref(),
            Some("explained: 98.99 %, at least 99 % wanted")
        );
        table.rows.clear();
        assert!(
            !table.missed().is_empty() && table.unexplained().is_some(),
            "nothing at all is no success"
        );
    }

    #[test]
    fn the_table_text_is_complete_and_rounds_nothing_up() {
        let text = table().text();
        for line in [
            "| fifo: it computes | 10 | 10 | 10 | 99.99 % | 0 | 7 | 0 |",
            "| munmap | 10 | 10 | 5 (4 not reported) | 99.99 % | 0 | 7 | 1 |",
            "| perf | - | not possible here: no perf events | | | | | |",
            "| rcu | FAILED | no callback ran | | | | | |",
            "| **all** | 20 | 20 | 15 (4 not reported) | 99.99 % | 0 | 14 | 1 |",
            "wrong: munmap: flush by make 9 on CPU 0",
        ] {
            assert!(text.lines().any(|seen| seen == line), "no line {line} in\n{text}");
        }
        assert!(
            text.contains("75.00 % of all, 93.75 % of those whose culprit"),
            "{text}"
        );
    }

    #[test]
    fn control_values_are_shown_separately_and_never_subtracted() {
        let mut table = table();
        let counts = ScoreCounts {
            injected: 4,
            stolen_ns: 1_000_000,
            explained_ns: 980_000,
            watched_ns: 10_000_000,
            control: Intervals {
                count: 4,
                watched_ns: 10_000_000,
                stolen_ns: 20_000,
                explained_ns: 1_000,
            },
            ..ScoreCounts::default()
        };
        table.rows.truncate(1);
        table.rows[0].cell = DisturbanceResult::Ran(counts.clone());
        let text = table.text();
        for part in [
            "(10 ms together): 20 us, 2000 us per second",
            "In 4 control intervals",
            "(10 ms together): 19 us, 1900 us per second",
            "Explained: 98.00 % of the stolen time.",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert!(
            table.unexplained().is_some(),
            "the bound is of all of it, with the control or without"
        );
        // No value is shown as a dash, not as a zero.
        table.rows[0].cell = DisturbanceResult::Ran(ScoreCounts {
            control: Intervals::default(),
            ..counts
        });
        let text = table.text();
        assert!(
            text.contains("| 20 | - | 0 |") && text.contains("No control intervals"),
            "{text}"
        );
    }
}
