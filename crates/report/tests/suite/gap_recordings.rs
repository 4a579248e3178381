//! The file of `blame --gaps`: what was written is read again, and nothing else is.

use blame::{
    BlameResult, Class, Confidence, CpuAnswer, Culprit, Gap, GapStory, Interruption, InterruptionSubject, StoryPiece,
    TransitionTimes,
};
use measure::Environment;
use report::{GapRecordingError, blame_gaps, read_blame_gaps};

const CLOCK: &str = "CLOCK_MONOTONIC_RAW";

fn row(class: Class, name: &str, subject: InterruptionSubject, culprit: Option<Culprit>) -> Interruption {
    Interruption {
        class,
        name: name.to_owned(),
        count: 2,
        total_ns: 1_400,
        max_ns: 700,
        transition_ns: 0,
        culprit,
        confidence: Confidence::Counted,
        fix: String::new(),
        why: String::new(),
        subject,
    }
}

/// CPU 3 with two gaps of two causes and a piece without one, and CPU 5 without a gap.
fn watched() -> BlameResult {
    let culprit = Culprit {
        pid: 4_711,
        comm: "java \"x\"\n".to_owned(),
        threads: 1,
        cpu: 1,
        callsite: None,
        via: Some("irq 45 nvme0q3".to_owned()),
        chain: Vec::new(),
    };
    let piece = |start, end, row| StoryPiece {
        span: Gap { start, end },
        row,
    };
    let story = |start: u64| GapStory {
        gap: Gap {
            start,
            end: start + 1_500,
        },
        pieces: vec![
            piece(start, start + 700, Some(0)),
            piece(start + 700, start + 1_400, Some(1)),
            piece(start + 1_400, start + 1_500, None),
        ],
    };
    let cpu = CpuAnswer {
        cpu: 3,
        duration_ns: 2_000_000_000,
        stolen_ns: 3_000,
        explained_ns: 2_800,
        unexplained_ns: 200,
        gaps: 2,
        lost_events: 9,
        interruptions: vec![
            row(Class::Device, "nvme0q3", InterruptionSubject::Irq(45), None),
            row(
                Class::Preemption,
                "java",
                InterruptionSubject::Thread(4_711),
                Some(culprit),
            ),
        ],
        stories: vec![story(10_000), story(20_000)],
        transitions: TransitionTimes { in_ns: 70, out_ns: 30 },
        ..CpuAnswer::default()
    };
    let quiet = CpuAnswer {
        cpu: 5,
        duration_ns: 2_000_000_000,
        ..CpuAnswer::default()
    };
    BlameResult { cpus: vec![cpu, quiet] }
}

fn file() -> String {
    blame_gaps(&watched(), CLOCK, Some(1_000), &environment())
}

fn environment() -> Environment {
    Environment {
        release: Some("6.1.0-56-amd64".to_owned()),
        ..Environment::default()
    }
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let read = read_blame_gaps(&file()).unwrap();
    assert_eq!(read.answer, watched());
    assert_eq!((read.threshold_ns, read.environment), (Some(1_000), environment()));
}

#[test]
fn a_recording_of_a_version_without_transition_times_is_read() {
    let older = file().replace(r#","transitions":{"in_ns":70,"out_ns":30}"#, "");
    let read = read_blame_gaps(&older).unwrap();
    assert_ne!(older, file());
    assert_eq!(read.answer.cpus[0].transitions, TransitionTimes::default());
    assert_eq!(read.answer.cpus[0].stories, watched().cpus[0].stories);
}

#[test]
fn files_that_are_no_complete_recording_are_refused_with_the_line() {
    let file = file();
    let lines: Vec<&str> = file.lines().collect();
    let refusal = |text: &str| read_blame_gaps(text).unwrap_err().to_string();
    for (text, expected) in [
        (
            String::new(),
            "its last line, which describes the watch, is missing".to_owned(),
        ),
        (
            lines[..2].join("\n"),
            "its last line, which describes the watch, is missing".to_owned(),
        ),
        (
            format!("{file}{}", lines[0]),
            "line 4: the file continues after its last line".to_owned(),
        ),
        (
            [lines[1], lines[0], lines[2]].join("\n"),
            "line 2: the gap starts before the end of the previous one".to_owned(),
        ),
        (
            file.replacen("\"end_ns\":10700", "\"end_ns\":10600", 1),
            "line 1: the parts of the gap do not follow each other".to_owned(),
        ),
        (
            file.replacen("\"end_ns\":11500", "\"end_ns\":11501", 1),
            "line 1: the parts of the gap do not end with it".to_owned(),
        ),
        (
            lines[1..].join("\n"),
            "its last line contradicts the gaps of CPU 3".to_owned(),
        ),
        (
            file.replacen("\"cpu\":3", "\"cpu\":7", 1),
            "its last line contradicts the gaps of CPU 3".to_owned(),
        ),
        (
            file.replace("2000000000", "2000"),
            "its last line contradicts the gaps of CPU 3".to_owned(),
        ),
    ] {
        assert_eq!(refusal(&text), expected);
    }
    let huge = file.replace("\"cpu\":3", "\"cpu\":4294967295");
    assert_eq!(refusal(&huge), "line 1: no machine has CPU 4294967295");
    let twice = file.replace("\"cpu\":5", "\"cpu\":3");
    assert_eq!(refusal(&twice), "its last line contradicts the gaps of CPU 3");
    let only_last = file.replace("\"cpu\":5", "\"cpu\":4294967295");
    assert_eq!(
        refusal(&only_last),
        "its last line contradicts the gaps of CPU 4294967295"
    );
    let damaged = file.replace("\"left_out\":0,\"threshold_ns\"", "\"left_out\":-1,\"threshold_ns\"");
    assert!(
        refusal(&damaged).starts_with("line 3: invalid value: integer `-1`"),
        "{}",
        refusal(&damaged)
    );
    for broken in [
        "{",
        "[]",
        "\u{0}",
        "{\"cpu\":1}",
        "cyclictest",
        "{\"schema\":\"quietcore.blame/1\"}",
    ] {
        assert!(refusal(broken).starts_with("line 1: "), "{broken}");
    }
    for cut in (0..file.len() - 1).step_by(7) {
        assert!(read_blame_gaps(&file[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_file_of_an_older_version_is_named_as_such() {
    let older = "{\"clock\":\"CLOCK_MONOTONIC_RAW\",\"gaps\":0,\"left_out\":0}\n";
    assert_eq!(read_blame_gaps(older).unwrap_err(), GapRecordingError::Older);
}
