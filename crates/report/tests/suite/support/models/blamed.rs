//! An answer of `blame` about one CPU, with gaps of several kinds.

use blame::{
    BlameResult, Class, Confidence, CpuAnswer, Culprit, Gap, GapSource, GapStory, Interruption, InterruptionSubject,
    Link, StoryPiece, TransitionTimes,
};
use measure::Environment;
use report::{BlamePage, Tracers};

/// Returns an interruption that took time on that CPU.
pub fn row(class: Class, name: &str, total_ns: u64, culprit: Option<Culprit>) -> Interruption {
    Interruption {
        class,
        name: name.to_owned(),
        count: 3,
        total_ns,
        max_ns: total_ns / 2,
        transition_ns: 0,
        culprit,
        confidence: Confidence::Traced,
        fix: match class {
            Class::SoftBlock => "quietcore apply --cpus 1 --with rq_affinity=2".to_owned(),
            _ => "nothing: it belongs to the CPU".to_owned(),
        },
        why: String::new(),
        subject: InterruptionSubject::None,
    }
}

fn writer() -> Culprit {
    let link = |what: &str, comm: &str, pid, cpu| Link {
        what: what.to_owned(),
        comm: comm.to_owned(),
        pid,
        cpu,
    };
    Culprit {
        pid: 12,
        comm: "fio".to_owned(),
        threads: 1,
        cpu: 3,
        callsite: None,
        via: Some("irq 45 nvme0q3".to_owned()),
        chain: vec![link("disk write", "fio", 12, 3), link("irq 45 nvme0q3", "", 0, 1)],
    }
}

/// Returns a gap with these consecutive pieces.
pub fn story(start: u64, pieces: &[(u64, Option<usize>)]) -> GapStory {
    let mut at = start;
    let pieces: Vec<StoryPiece> = pieces
        .iter()
        .map(|(ns, row)| {
            at += ns;
            StoryPiece {
                span: Gap {
                    start: at - ns,
                    end: at,
                },
                row: *row,
            }
        })
        .collect();
    GapStory {
        gap: Gap { start, end: at },
        pieces,
    }
}

/// Returns the answer, with this name for a thread.
pub fn answer(name: &str) -> BlameResult {
    BlameResult {
        cpus: vec![CpuAnswer {
            cpu: 1,
            gaps_from: GapSource::Probe,
            duration_ns: 2_000_000_000,
            stolen_ns: 1_210_000,
            explained_ns: 1_160_000,
            unexplained_ns: 50_000,
            gaps: 4,
            outside: 0,
            longest_run_ns: Some(312_000_000),
            lost_events: 0,
            wanted_ns: None,
            own: Vec::new(),
            interruptions: vec![
                row(Class::Preemption, name, 900_000, None),
                row(Class::SoftBlock, "BLOCK", 200_000, Some(writer())),
                row(Class::Device, "irq 45 nvme0q3", 60_000, Some(writer())),
            ],
            stories: vec![
                story(1_000_000, &[(20_000, Some(2)), (80_000, Some(1)), (10_000, None)]),
                story(
                    500_000_000,
                    &[
                        (300_000, Some(0)),
                        (40_000, Some(2)),
                        (120_000, Some(1)),
                        (600_000, Some(0)),
                        (1, Some(2)),
                        (40_000, None),
                    ],
                ),
                story(1_500_000_000, &[(3_000, Some(2))]),
            ],
            stories_left_out: 1,
            transitions: TransitionTimes::default(),
        }],
    }
}

/// The page of this answer, without tracers, prediction and JSON.
pub fn plain_page<'a>(answer: &'a BlameResult, environment: &'a Environment) -> BlamePage<'a> {
    BlamePage {
        answer,
        tracers: Tracers::default(),
        prediction: None,
        environment,
        json: None,
        json_name: "blame.json",
    }
}
