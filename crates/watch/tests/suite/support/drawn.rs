//! The recorded machine, rendered into cells, and its screens as text.

use crate::support::golden::{fixtures, golden};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::Style;
use watch::{DisplayData, Glyphs, TitleBar, ViewMode, ViewState, WatchRecording, draw, parse};

/// The recording of a real machine.
pub fn recording() -> WatchRecording {
    parse(&std::fs::read(fixtures().join("partition.jsonl")).unwrap()).unwrap()
}

/// Returns the screen at the end of a recording.
pub fn now(recording: &WatchRecording, glyphs: Glyphs) -> DisplayData<'_> {
    let first = recording.moments.len().saturating_sub(DisplayData::HISTORY);
    DisplayData {
        moments: recording.moments.iter().skip(first).collect(),
        scene: recording
            .moments
            .iter()
            .rev()
            .find_map(|moment| moment.scene.as_ref())
            .unwrap(),
        glyphs,
    }
}

pub fn cells(now: &DisplayData, view: &ViewState, size: (u16, u16), look: Style) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    let mode = ViewMode::Playing {
        at: now.moments.len(),
        of: now.moments.len(),
        speed: 0.0,
    };
    let kernel = "6.18.44";
    draw(&mut buffer, TitleBar { kernel, mode }, now, view, look);
    buffer
}

/// Returns the text of a screen, without trailing spaces.
pub fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Compares the text of a screen with its golden file.
pub fn screen(name: &str, seen: &str) {
    golden(&format!("screens/{name}"), seen);
}
