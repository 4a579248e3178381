//! The screen of `blame`: unknown values are stated as clearly as known ones.

use blame::{
    BlameResult, Class, Confidence, CpuAnswer, Culprit, Gap, GapSource, GapStory, Interruption, InterruptionSubject,
    Link, StoryPiece, TransitionTimes,
};
use report::{RowLimit, Style, blame_conclusion, blame_gaps, blame_text};

fn row(class: Class, name: &str, total_ns: u64, culprit: Option<Culprit>) -> Interruption {
    Interruption {
        class,
        name: name.to_owned(),
        count: 12_345,
        total_ns,
        max_ns: total_ns / 10,
        transition_ns: 0,
        culprit,
        confidence: Confidence::Traced,
        fix: match class {
            Class::Tick => "nothing: this kernel cannot stop the tick".to_owned(),
            _ => "quietcore apply --cpus 1".to_owned(),
        },
        why: "the reason".to_owned(),
        subject: InterruptionSubject::None,
    }
}

fn culprit(comm: &str, pid: i32, via: Option<&str>) -> Culprit {
    Culprit {
        pid,
        comm: comm.to_owned(),
        threads: 1,
        cpu: 3,
        callsite: Some("wakeup_preempt+0x92".to_owned()),
        via: via.map(str::to_owned),
        chain: Vec::new(),
    }
}

fn answer(interruptions: Vec<Interruption>) -> BlameResult {
    BlameResult {
        cpus: vec![CpuAnswer {
            cpu: 1,
            gaps_from: GapSource::Probe,
            duration_ns: 2_000_000_000,
            stolen_ns: 20_000_000,
            explained_ns: 19_000_000,
            unexplained_ns: 1_000_000,
            gaps: 1_204,
            outside: 7,
            longest_run_ns: Some(312_000_000),
            lost_events: 5,
            interruptions,
            stories: Vec::new(),
            stories_left_out: 0,
            transitions: TransitionTimes::default(),
            wanted_ns: None,
            own: Vec::new(),
        }],
    }
}

#[test]
fn culprits_and_unknowns_fit_eighty_columns() {
    let text = blame_text(
        &answer(vec![
            row(
                Class::Reschedule,
                "reschedule",
                10_000_000,
                Some(culprit("java", 4711, None)),
            ),
            row(
                Class::SoftBlock,
                "BLOCK",
                5_000_000,
                Some(culprit("", 0, Some("irq 47 ahci"))),
            ),
            row(Class::Tick, "local_timer: tick_nohz_handler", 4_000_000, None),
        ]),
        RowLimit::All,
        Style::Plain,
    );
    for part in [
        "CPU 1: 20 ms stolen in 2 s (1.0 %)",
        "19 ms explained + 1 ms unexplained; 1,204 gaps, longest gap-free run 312 ms",
        "During 7 gaps no kernel code ran",
        "5 events lost: names may be missing.",
        "50.0%",
        "by java[4711] on CPU 3",
        "wakeup_preempt+0x92",
        "through irq 47 ahci on CPU 3",
        "What would stop it:\n  75.0%  quietcore apply --cpus 1\n           reschedule; BLOCK: the reason\n",
        "  20.0%  nothing: this kernel cannot stop the tick\n",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_columns_are_explained_and_the_end_has_one_command_for_all() {
    let wake_up = || row(Class::Reschedule, "reschedule", 10_000_000, None);
    let tick = || row(Class::Tick, "local_timer: tick_nohz_handler", 4_000_000, None);
    let text = blame_text(&answer(vec![wake_up(), tick()]), RowLimit::All, Style::Plain);
    assert!(text.contains("count: how often. longest: a single"), "{text}");
    assert!(!text.contains("(counted)"), "{text}");
    let end = |rows| blame_conclusion(&answer(rows), Style::Plain);
    let several = end(vec![wake_up(), wake_up(), tick()]);
    assert_eq!(
        several,
        "\nNext, to stop 100.0% of the stolen time:\n  quietcore apply --cpus 1\n"
    );
    assert!(end(vec![wake_up(), tick()]).contains("to stop 50.0% of"));
    assert!(end(vec![tick()]).contains("No command of quietcore stops"));
    assert_eq!(end(Vec::new()), "");
}

#[test]
fn a_command_that_stops_almost_nothing_is_not_recommended() {
    let heading = |total_ns: u64| {
        let rows = vec![row(Class::Reschedule, "reschedule", total_ns, None)];
        let text = blame_conclusion(&answer(rows), Style::Plain);
        text.trim().lines().next().unwrap().to_owned()
    };
    assert_eq!(heading(192_000), "Next, to stop 1.0% of the stolen time:");
    assert_eq!(heading(188_000), "This would stop 0.9% of the stolen time:");
    assert_eq!(heading(11_000), "This would stop 0.1% of the stolen time:");
    assert_eq!(heading(9_000), "This would stop less than 0.1% of the stolen time:");
}

#[test]
fn a_knob_that_reduces_safety_is_not_joined_with_the_others() {
    let with = |knob: &str| Interruption {
        fix: format!("quietcore apply --cpus 1 --with {knob}"),
        ..row(Class::Reschedule, "reschedule", 10_000_000, None)
    };
    let end = |rows| blame_conclusion(&answer(rows), Style::Plain);
    let both = end(vec![with("rq_affinity=2"), with("cpu_cycle")]);
    let (safe, risky) = both.split_once("With side effects:\n").unwrap();
    assert_eq!(
        safe,
        "\nNext, to stop 50.0% of the stolen time:\n  quietcore apply --cpus 1 --with rq_affinity=2\n"
    );
    let command = "  quietcore apply --cpus 1 --with cpu_cycle\n    cpu_cycle: the whole machine stops";
    assert!(risky.starts_with(command), "{both}");
    let alone = end(vec![with("cpu_cycle")]);
    assert!(!alone.contains("Next,") && !alone.contains("No command"), "{alone}");
}

#[test]
fn names_of_programs_are_escaped_for_the_terminal() {
    let evil = "\u{1b}[2Jgone";
    let text = blame_text(
        &answer(vec![row(Class::Preemption, evil, 1, Some(culprit(evil, 9, None)))]),
        RowLimit::All,
        Style::Plain,
    );
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn marks_that_occur_are_explained_on_lines_of_their_own() {
    let columns = "  interruption.\n";
    let mark = "  (inferred): concluded from what happened near it.\n";
    let text = |confidence| {
        let mut answer = answer(vec![row(Class::Tick, "tick", 1_000, None)]);
        answer.cpus[0].interruptions[0].confidence = confidence;
        blame_text(&answer, RowLimit::All, Style::Plain)
    };
    let (traced, inferred) = (text(Confidence::Traced), text(Confidence::Inferred));
    assert!(traced.ends_with(columns), "{traced}");
    assert!(inferred.ends_with(&format!("{columns}{mark}")), "{inferred}");
}

#[test]
fn omitted_rows_are_counted() {
    let rows = (0..20)
        .map(|at| row(Class::Preemption, &format!("task{at}"), 1_000, None))
        .collect();
    let text = blame_text(&answer(rows), RowLimit::First(12), Style::Plain);
    assert!(text.contains("and 8 rows with 8 us together"), "{text}");
    assert!(!text.contains("task12"), "{text}");
}

#[test]
fn every_gap_is_a_json_line_and_the_last_line_has_the_count() {
    let span = |start, end| Gap { start, end };
    let mut answer = answer(vec![row(
        Class::Reschedule,
        "reschedule",
        900,
        Some(culprit("java", 4711, None)),
    )]);
    answer.cpus[0].stories = vec![GapStory {
        gap: span(1_000, 2_000),
        pieces: vec![
            StoryPiece {
                span: span(1_000, 1_900),
                row: Some(0),
            },
            StoryPiece {
                span: span(1_900, 2_000),
                row: None,
            },
        ],
    }];
    answer.cpus[0].stories_left_out = 1_203;
    let text = blame_gaps(
        &answer,
        "CLOCK_MONOTONIC_RAW",
        Some(1_000),
        &measure::Environment::default(),
    );
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let gap = &lines[0];
    assert_eq!(
        (&gap["cpu"], &gap["start_ns"], &gap["end_ns"]),
        (&1.into(), &1_000.into(), &2_000.into())
    );
    assert_eq!(gap["parts"][0]["class"], "reschedule");
    assert_eq!(gap["parts"][0]["culprit"]["comm"], "java");
    assert_eq!(gap["parts"][1], serde_json::json!({"start_ns": 1_900, "end_ns": 2_000}));
    let mut last = lines[1].clone();
    assert!(last["environment"].take().is_object());
    assert_eq!(
        last,
        serde_json::json!({
            "clock": "CLOCK_MONOTONIC_RAW", "gaps": 1_204, "left_out": 1_203, "threshold_ns": 1_000, "environment": null,
            "watched": [{
                "cpu": 1, "duration_ns": 2_000_000_000_u64, "gaps": 1_204, "left_out": 1_203, "lost_events": 5,
                "transitions": { "in_ns": 0, "out_ns": 0 },
            }],
        })
    );
}

#[test]
fn a_chain_is_printed_from_its_origin() {
    let link = |what: &str, comm: &str, pid, cpu| Link {
        what: what.to_owned(),
        comm: comm.to_owned(),
        pid,
        cpu,
    };
    let by = Culprit {
        callsite: None,
        chain: vec![link("disk write", "fio", 12, 3), link("irq 45 nvme0q3", "", 0, 7)],
        ..culprit("fio", 12, Some("irq 45 nvme0q3"))
    };
    let text = blame_text(
        &answer(vec![row(Class::SoftBlock, "BLOCK", 5_000_000, Some(by))]),
        RowLimit::All,
        Style::Plain,
    );
    let words: Vec<&str> = text.split_whitespace().collect();
    let reported = words.join(" ");
    assert!(
        reported.contains("by fio[12] on CPU 3 -> disk write -> irq 45 nvme0q3 on CPU 7"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
