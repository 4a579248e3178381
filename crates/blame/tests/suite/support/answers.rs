//! Answers for an event stream: which threads took CPU 1 from the probe in these gaps. Every answer's times are checked
//! here.

use crate::support::stream::{TestNames, TestStream};
use blame::{
    BlameQuestion, BlameResult, BlameTarget, CpuAnswer, Gap, GapSelection, Interruption, RecordDecoder, Victim,
    attribute,
};

/// The probe thread.
pub const PROBE: i32 = 100;

pub fn gaps(gaps: &[(u64, u64)]) -> Option<Vec<Gap>> {
    Some(
        gaps.iter()
            .map(|(start, end)| Gap {
                start: *start,
                end: *end,
            })
            .collect(),
    )
}

pub fn answer_of(stream: &TestStream, gaps: Option<Vec<Gap>>) -> CpuAnswer {
    let cpu = answer_keeping(stream, gaps, GapSelection::First(usize::MAX));
    stories_add_up(&cpu);
    cpu
}

pub fn answer_keeping(stream: &TestStream, gaps: Option<Vec<Gap>>, keep: GapSelection) -> CpuAnswer {
    let question = BlameQuestion {
        targets: vec![BlameTarget {
            cpu: 1,
            victim: Victim {
                pids: vec![PROBE],
                ..Victim::default()
            },
            window: Gap {
                start: 0,
                end: 1_000_000,
            },
            gaps,
        }],
        comms: [(PROBE, "probe".to_owned())].into(),
        keep,
    };
    let reader = RecordDecoder::new(stream.formats.clone());
    let answer: BlameResult = attribute(&reader, &TestNames, stream.events(), &question);
    let cpu = answer.cpus.into_iter().next().unwrap();
    assert_eq!(cpu.stolen_ns, cpu.explained_ns + cpu.unexplained_ns);
    let rows: u64 = cpu.interruptions.iter().map(|row| row.total_ns).sum();
    assert_eq!(rows, cpu.explained_ns, "{:#?}", cpu.interruptions);
    cpu
}

/// Checks that each gap is covered by its pieces, and that the pieces of a row add up to its total.
fn stories_add_up(cpu: &CpuAnswer) {
    let mut of_row = vec![0; cpu.interruptions.len()];
    let mut unexplained_ns = 0;
    for story in &cpu.stories {
        let mut at = story.gap.start;
        for piece in &story.pieces {
            assert_eq!(piece.span.start, at, "{story:?}");
            at = piece.span.end;
            let len_ns = piece.span.end - piece.span.start;
            match piece.row {
                Some(row) => of_row[row] += len_ns,
                None => unexplained_ns += len_ns,
            }
        }
        assert_eq!(at, story.gap.end, "{story:?}");
    }
    let rows: Vec<u64> = cpu.interruptions.iter().map(|row| row.total_ns).collect();
    assert_eq!(of_row, rows, "{:#?}", cpu.stories);
    assert_eq!(unexplained_ns, cpu.unexplained_ns, "{:#?}", cpu.stories);
    assert_eq!((cpu.stories.len() as u64, cpu.stories_left_out), (cpu.gaps, 0));
}

pub fn row<'a>(cpu: &'a CpuAnswer, name: &str) -> &'a Interruption {
    let found = cpu.interruptions.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no row {name}: {:#?}", cpu.interruptions))
}
