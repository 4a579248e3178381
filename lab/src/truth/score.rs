//! Compares an injected event with all gaps: was it seen, with the right class and culprit, and is all of its time
//! explained? An event that is in no gap is a miss.

use super::{ExpectedBlame, ExpectedCulprit, Injection, Intervals, ReportedCulprit, ReportedGap, ReportedGapPart};
use serde::{Deserialize, Serialize};

/// Maximum number of wrong names that are kept as text.
const MOST_WORDS: usize = 8;

/// How `blame` reported one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventScore {
    /// A part of a gap at this time has the event's class and name.
    pub class: bool,
    /// That part also has the right culprit.
    pub culprit: bool,
    /// That part names no culprit, and this kernel has no event from which `blame` could know it.
    pub is_unreportable: bool,
    /// The culprit that the part names instead, with confidence `traced`.
    pub wrong: Option<String>,
    /// Time in gaps during the event.
    pub stolen_ns: u64,
    /// The part of [`EventScore::stolen_ns`] that an interruption accounts for.
    pub explained_ns: u64,
}

/// Sums over many events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreCounts {
    /// Number of injected events.
    pub injected: u64,
    /// Events with the right class.
    pub class: u64,
    /// Events with the right class and culprit.
    pub culprit: u64,
    /// Events with the right class whose culprit this kernel cannot report. Not among [`ScoreCounts::culprit`].
    pub unreportable: u64,
    /// Time in gaps during the events.
    pub stolen_ns: u64,
    /// The part of [`ScoreCounts::stolen_ns`] that an interruption accounts for.
    pub explained_ns: u64,
    /// Events for which another culprit is named, with confidence `traced`.
    pub wrong_traced: u64,
    /// The first of these wrong culprits.
    pub wrong: Vec<String>,
    /// The same number of intervals of the same lengths without injections, for comparison.
    #[serde(default)]
    pub control: Intervals,
    /// Total length of the injected intervals. Events of a watched program have no length.
    #[serde(default)]
    pub watched_ns: u64,
}

impl ScoreCounts {
    /// Adds other sums.
    pub fn add(&mut self, other: &ScoreCounts) {
        self.injected += other.injected;
        self.class += other.class;
        self.culprit += other.culprit;
        self.unreportable += other.unreportable;
        self.stolen_ns += other.stolen_ns;
        self.explained_ns += other.explained_ns;
        self.wrong_traced += other.wrong_traced;
        self.wrong.extend(other.wrong.iter().cloned());
        self.wrong.truncate(MOST_WORDS);
        self.control.add(&other.control);
        self.watched_ns += other.watched_ns;
    }

    fn note(&mut self, verdict: EventScore) {
        self.add(&ScoreCounts {
            injected: 1,
            class: verdict.class.into(),
            culprit: verdict.culprit.into(),
            unreportable: verdict.is_unreportable.into(),
            stolen_ns: verdict.stolen_ns,
            explained_ns: verdict.explained_ns,
            wrong_traced: verdict.wrong.is_some().into(),
            wrong: verdict.wrong.into_iter().collect(),
            ..ScoreCounts::default()
        });
    }
}

/// The gaps of a measurement, and how to read them.
#[derive(Clone, Copy, Debug)]
pub struct ScoredGaps<'a> {
    /// All gaps.
    pub gaps: &'a [ReportedGap],
    /// The measured CPU.
    pub cpu: u32,
    /// Time after the injector's own end during which an event may still be in progress on the measured CPU.
    pub slack_ns: u64,
    /// Events that neither this kernel nor a kprobe reports.
    pub absent: &'a [String],
}

/// Scores all events of one kind.
#[must_use]
pub fn score(expected: &ExpectedBlame, injected: &[Injection], seen: &ScoredGaps) -> ScoreCounts {
    let mut counts = ScoreCounts::default();
    for event in injected {
        counts.note(judge(expected, event, seen));
    }
    counts.watched_ns = Intervals::of(injected, seen).watched_ns;
    counts
}

/// Scores one event.
#[must_use]
pub fn judge(expected: &ExpectedBlame, event: &Injection, seen: &ScoredGaps) -> EventScore {
    let (from, to) = (event.begin_raw_ns, event.end_raw_ns + seen.slack_ns);
    let overlaps = |start: u64, end: u64| start < to && end > from;
    let parts = || {
        let gaps = seen.gaps.iter().filter(|gap| gap.cpu == seen.cpu);
        gaps.flat_map(|gap| &gap.parts)
            .filter(|part| overlaps(part.start_ns, part.end_ns))
    };
    let of_class = || parts().filter(|part| is_it(expected, event, part));
    let mut verdict = EventScore {
        class: of_class().next().is_some(),
        culprit: of_class().any(|part| is_by(expected, event, part.culprit.as_ref())),
        ..EventScore::default()
    };
    if !verdict.culprit {
        let is_there = |name: &&str| !seen.absent.iter().any(|absent| absent == name);
        let is_reportable = expected.reporting_events.iter().all(is_there);
        let is_blamed = |part: &ReportedGapPart| {
            part.culprit
                .as_ref()
                .is_some_and(|by| is_reportable || is_named(expected, by))
        };
        verdict.wrong = wrong(expected, event, parts(), is_blamed);
        verdict.is_unreportable = verdict.class && !is_reportable && of_class().any(|part| !is_blamed(part));
    }
    (verdict.stolen_ns, verdict.explained_ns) = times(seen, from, to);
    verdict
}

/// Time in gaps of the measured CPU between two times, and the part of it that an interruption accounts for.
pub(super) fn times(seen: &ScoredGaps, from: u64, to: u64) -> (u64, u64) {
    let (mut stolen_ns, mut explained_ns) = (0, 0);
    for gap in seen.gaps.iter().filter(|gap| gap.cpu == seen.cpu) {
        stolen_ns += within(gap.start_ns, gap.end_ns, from, to);
        for part in gap.parts.iter().filter(|part| part.class.is_some()) {
            explained_ns += within(part.start_ns, part.end_ns, from, to);
        }
    }
    (stolen_ns, explained_ns)
}

fn within(start: u64, end: u64, from: u64, to: u64) -> u64 {
    end.min(to).saturating_sub(start.max(from))
}

fn has_one(words: &[&str], text: &str) -> bool {
    words.is_empty() || words.iter().any(|word| text.contains(word))
}

fn name(part: &ReportedGapPart) -> &str {
    part.name.as_deref().unwrap_or_default()
}

/// Whether a part has the expected class and name.
fn is_it(expected: &ExpectedBlame, event: &Injection, part: &ReportedGapPart) -> bool {
    let class = part.class.as_deref().unwrap_or_default();
    expected.classes.contains(&class)
        && has_one(expected.name, name(part))
        && (expected.culprit != ExpectedCulprit::Itself || name(part) == event.culprit.comm)
}

fn is_by(expected: &ExpectedBlame, event: &Injection, blamed: Option<&ReportedCulprit>) -> bool {
    match (expected.culprit, blamed) {
        (ExpectedCulprit::Itself | ExpectedCulprit::Unknown, _) => true,
        (ExpectedCulprit::Injector, Some(blamed)) => {
            // Threads of the same name count as one culprit, with the thread ID of the first of them.
            (blamed.pid == event.culprit.pid || blamed.comm == event.culprit.comm)
                && blamed.cpu == event.culprit.cpu
                && blamed
                    .callsite
                    .as_deref()
                    .is_none_or(|callsite| has_one(expected.callsite, callsite))
        }
        (ExpectedCulprit::Via(words), Some(blamed)) => {
            has_one(words, &blamed.comm) || blamed.via.as_deref().is_some_and(|via| has_one(words, via))
        }
        (ExpectedCulprit::Injector | ExpectedCulprit::Via(_), None) => false,
    }
}

/// Whether a culprit names a thread, if one is expected. Without an event for the sender, `blame` may still report the
/// interrupt through which the culprit acted. That is not a name.
fn is_named(expected: &ExpectedBlame, by: &ReportedCulprit) -> bool {
    expected.culprit != ExpectedCulprit::Injector || by.pid != 0 || !by.comm.is_empty()
}

/// The wrong culprit, if `blame` provably named one: a part of this kind with another culprit. If the injector itself
/// had the CPU at both its timestamps, also any part across one of them that is not the injector.
fn wrong<'a>(
    expected: &ExpectedBlame,
    event: &Injection,
    mut parts: impl Iterator<Item = &'a ReportedGapPart>,
    is_blamed: impl Fn(&ReportedGapPart) -> bool,
) -> Option<String> {
    let traced = |part: &&ReportedGapPart| part.confidence.as_deref() == Some("traced");
    let another = |part: &&ReportedGapPart| match expected.culprit {
        ExpectedCulprit::Itself => {
            let across = |at: u64| part.start_ns < at && at < part.end_ns;
            part.class.is_some()
                && name(part) != event.culprit.comm
                && (across(event.begin_raw_ns) || across(event.end_raw_ns))
        }
        ExpectedCulprit::Unknown => false,
        ExpectedCulprit::Injector | ExpectedCulprit::Via(_) => {
            let is_concurrent = part.start_ns < event.end_raw_ns && part.end_ns > event.begin_raw_ns;
            is_concurrent && is_blamed(part) && is_it(expected, event, part)
        }
    };
    let part = parts.find(|part| traced(part) && another(part))?;
    let by = part.culprit.as_ref().map_or_else(String::new, |by| {
        let via = by.via.as_ref().map_or_else(String::new, |via| format!(" via {via}"));
        format!(" by {} {} on CPU {}{via}", by.comm, by.pid, by.cpu)
    });
    Some(format!("{}{by}", name(part)))
}

#[cfg(test)]
mod tests {
    use super::super::DisturbingThread;
    use super::*;

    const IPI: ExpectedBlame = ExpectedBlame {
        classes: &["tlb_shootdown", "function_call"],
        name: &["flush_tlb"],
        culprit: ExpectedCulprit::Injector,
        callsite: &["native_flush_tlb"],
        reporting_events: &["ipi/ipi_send_cpumask"],
    };
    const THREAD: ExpectedBlame = ExpectedBlame {
        classes: &["preemption"],
        name: &[],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    };

    fn event() -> Injection {
        Injection {
            begin_raw_ns: 1_000,
            end_raw_ns: 2_000,
            culprit: DisturbingThread {
                pid: 7,
                comm: "munmap".to_owned(),
                cpu: 0,
            },
        }
    }

    fn by(pid: i32, cpu: u32, callsite: Option<&str>) -> Option<ReportedCulprit> {
        Some(ReportedCulprit {
            pid,
            comm: "any".to_owned(),
            cpu,
            callsite: callsite.map(str::to_owned),
            via: None,
        })
    }

    fn part(start_ns: u64, end_ns: u64, class: &str, name: &str, culprit: Option<ReportedCulprit>) -> ReportedGapPart {
        ReportedGapPart {
            start_ns,
            end_ns,
            class: Some(class.to_owned()).filter(|class| !class.is_empty()),
            name: Some(name.to_owned()),
            culprit,
            confidence: Some("traced".to_owned()),
        }
    }

    fn gap(parts: Vec<ReportedGapPart>) -> ReportedGap {
        ReportedGap {
            cpu: 1,
            start_ns: parts.first().unwrap().start_ns,
            end_ns: parts.last().unwrap().end_ns,
            parts,
        }
    }

    fn judged(expected: &ExpectedBlame, gaps: &[ReportedGap], absent: &[String]) -> EventScore {
        judge(
            expected,
            &event(),
            &ScoredGaps {
                gaps,
                cpu: 1,
                slack_ns: 100,
                absent,
            },
        )
    }

    fn flush(culprit: Option<ReportedCulprit>) -> Vec<ReportedGap> {
        vec![gap(vec![part(
            1_500,
            1_700,
            "function_call",
            "call_function: flush_tlb_func",
            culprit,
        )])]
    }

    #[test]
    fn the_right_class_culprit_and_callsite_are_scored_as_right() {
        let right = judged(&IPI, &flush(by(7, 0, Some("native_flush_tlb_multi+0x10"))), &[]);
        assert!(right.class && right.culprit && !right.is_unreportable, "{right:?}");
        assert_eq!((right.stolen_ns, right.explained_ns, right.wrong), (200, 200, None));
        assert!(
            judged(&IPI, &flush(by(7, 0, None)), &[]).culprit,
            "no place is reported"
        );
        let mut other_thread = flush(by(8, 0, None));
        if let Some(blamed) = &mut other_thread[0].parts[0].culprit {
            blamed.comm = "munmap".to_owned();
        }
        assert!(
            judged(&IPI, &other_thread, &[]).culprit,
            "the first thread of that name stands for all"
        );
    }

    #[test]
    fn a_wrong_thread_cpu_or_callsite_is_scored_as_wrong() {
        for culprit in [by(8, 0, None), by(7, 3, None), by(7, 0, Some("smp_call_function+0x1"))] {
            let verdict = judged(&IPI, &flush(culprit), &[]);
            assert!(verdict.class && !verdict.culprit, "{verdict:?}");
            let wrong = verdict.wrong.unwrap();
            assert!(wrong.starts_with("call_function: flush_tlb_func by any"), "{wrong}");
        }
        let mut guessed = flush(by(8, 0, None));
        guessed[0].parts[0].confidence = Some("inferred".to_owned());
        let verdict = judged(&IPI, &guessed, &[]);
        assert_eq!((verdict.culprit, verdict.wrong), (false, None), "a guess is no lie");
    }

    #[test]
    fn a_missing_gap_or_part_is_scored_as_missed() {
        assert_eq!(judged(&IPI, &[], &[]), EventScore::default());
        let right = flush(by(7, 0, None));
        let elsewhere = |from: u64| ReportedGap {
            parts: vec![ReportedGapPart {
                start_ns: from,
                end_ns: from + 100,
                ..right[0].parts[0].clone()
            }],
            start_ns: from,
            end_ns: from + 100,
            cpu: 1,
        };
        for from in [899, 2_100] {
            assert!(!judged(&IPI, &[elsewhere(from)], &[]).class, "{from}");
        }
        for from in [901, 2_099] {
            assert!(judged(&IPI, &[elsewhere(from)], &[]).class, "{from}");
        }
        let mut other_cpu = right.clone();
        other_cpu[0].cpu = 2;
        assert_eq!(judged(&IPI, &other_cpu, &[]), EventScore::default());
        for (class, name) in [("reschedule", "flush_tlb_func"), ("function_call", "generic_smp_call")] {
            let gaps = [gap(vec![part(1_500, 1_700, class, name, by(7, 0, None))])];
            let verdict = judged(&IPI, &gaps, &[]);
            assert!(!verdict.class && !verdict.culprit, "{verdict:?}");
        }
    }

    #[test]
    fn missing_kernel_events_excuse_a_missing_name_but_no_wrong_name() {
        let absent = ["ipi/ipi_send_cpumask".to_owned()];
        let nobody = judged(&IPI, &flush(None), &absent);
        assert!(nobody.class && !nobody.culprit && nobody.is_unreportable);
        assert!(!judged(&IPI, &flush(None), &[]).is_unreportable, "this one tells");
        assert!(!judged(&IPI, &flush(by(8, 0, None)), &absent).is_unreportable);
        assert!(!judged(&IPI, &[], &absent).is_unreportable, "nothing was seen");
    }

    #[test]
    fn an_intermediate_alone_is_no_culprit_name() {
        let way = ReportedCulprit {
            cpu: 1,
            via: Some("call_function_single".to_owned()),
            ..ReportedCulprit::default()
        };
        let absent = ["ipi/ipi_send_cpumask".to_owned()];
        let verdict = judged(&IPI, &flush(Some(way.clone())), &absent);
        assert_eq!(
            (verdict.culprit, verdict.is_unreportable, verdict.wrong),
            (false, true, None)
        );
        let verdict = judged(&IPI, &flush(Some(way)), &[]);
        assert!(
            !verdict.is_unreportable && verdict.wrong.is_some(),
            "this one tells: {verdict:?}"
        );
    }

    #[test]
    fn kernel_work_is_identified_by_its_mechanism() {
        let work = ExpectedBlame {
            culprit: ExpectedCulprit::Via(&["TIMER", "kworker/"]),
            ..IPI
        };
        let is_right = |comm: &str, via: Option<&str>| {
            let blamed = ReportedCulprit {
                comm: comm.to_owned(),
                via: via.map(str::to_owned),
                ..ReportedCulprit::default()
            };
            judged(&work, &flush(Some(blamed)), &[]).culprit
        };
        assert!(is_right("", Some("softirq TIMER")) && is_right("kworker/0:1", None));
        assert!(!is_right("make", None) && !is_right("", Some("softirq RCU")));
    }

    #[test]
    fn time_without_a_cause_is_not_explained() {
        let thread = |from, to| part(from, to, "preemption", "munmap", None);
        let gaps = [gap(vec![
            part(900, 1_200, "", "", None),
            thread(1_200, 1_900),
            part(1_900, 3_000, "", "", None),
        ])];
        let verdict = judged(&THREAD, &gaps, &[]);
        // From the first timestamp to the second, and the slack.
        assert_eq!((verdict.stolen_ns, verdict.explained_ns), (1_100, 700));
        assert!(verdict.class && verdict.culprit);
    }

    #[test]
    fn only_a_thread_on_the_cpu_at_both_time_stamps_counts_as_wrong() {
        let other = |from, to| part(from, to, "preemption", "stress", None);
        let across = judged(&THREAD, &[gap(vec![other(900, 2_100)])], &[]);
        assert!(!across.class);
        assert_eq!(across.wrong.as_deref(), Some("stress"));
        let between = judged(&THREAD, &[gap(vec![other(1_100, 1_300)])], &[]);
        assert_eq!((between.class, between.wrong), (false, None));
    }

    #[test]
    fn scores_of_many_events_are_summed() {
        let events = [event(), event(), event()];
        let gaps = flush(by(8, 0, None));
        let seen = ScoredGaps {
            gaps: &gaps,
            cpu: 1,
            slack_ns: 100,
            absent: &[],
        };
        let counts = score(&IPI, &events, &seen);
        assert_eq!((counts.injected, counts.class, counts.culprit), (3, 3, 0));
        assert_eq!((counts.wrong_traced, counts.wrong.len()), (3, 3));
        assert_eq!((counts.stolen_ns, counts.explained_ns), (600, 600));
    }
}
