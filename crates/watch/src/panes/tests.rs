//! Tests the cost of a key and of a screen on a machine with many CPUs, as the number of rows whose text is created.

use super::*;
use crate::row::WRITTEN;
use crate::{Glyphs, KeyPress, Moment, TitleBar, ViewMode, WatchScene, draw, parse, press};
use machine::{CpuId, CpuSet};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::Style;

const CPUS: u32 = 1_024;

const HEIGHT: u16 = 40;

/// A recording of a real machine, with each of its CPUs repeated many times.
fn recorded() -> Vec<Moment> {
    let recording = parse(include_bytes!("../../../../fixtures/watch/partition.jsonl")).unwrap();
    let mut moments = recording.moments;
    for moment in &mut moments {
        let few = std::mem::take(&mut moment.activity.cpus);
        moment.activity.cpus = (0..CPUS)
            .zip(few.iter().cycle())
            .map(|(cpu, one)| observe::CpuActivity {
                cpu: CpuId(cpu),
                ..one.clone()
            })
            .collect();
    }
    moments
}

fn written_by(work: impl FnOnce()) -> usize {
    let before = WRITTEN.with(std::cell::Cell::get);
    work();
    WRITTEN.with(std::cell::Cell::get) - before
}

#[test]
fn only_visible_rows_are_formatted() {
    let moments = recorded();
    let scene = WatchScene {
        online: CpuSet::range(0, CPUS - 1),
        isolated: CpuSet::range(1, CPUS - 1),
        ..moments[0].scene.clone().unwrap()
    };
    let now = DisplayData {
        moments: moments.iter().collect(),
        scene: &scene,
        glyphs: Glyphs::Blocks,
    };
    let mut view = ViewState::default();
    for key in [
        KeyPress::Down,
        KeyPress::PageDown,
        KeyPress::Up,
        KeyPress::Char('s'),
        KeyPress::Tab,
        KeyPress::Down,
    ] {
        let written = written_by(|| {
            press(&mut view, key, &now);
        });
        assert_eq!(written, 0, "{key:?} draws nothing");
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, 120, HEIGHT));
    let bar = TitleBar {
        kernel: "6.18",
        mode: ViewMode::Live,
    };
    let written = written_by(|| draw(&mut buffer, bar, &now, &view, Style::Plain));
    // Two panes are side by side below the CPU pane.
    assert!(
        (usize::from(HEIGHT) / 3..2 * usize::from(HEIGHT)).contains(&written),
        "{written} rows were made for a screen of {HEIGHT} lines"
    );
}
