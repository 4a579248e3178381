//! Recordings of `watch`: what can be read is shown, pane by pane, and only plain text reaches the terminal.

use super::FuzzTarget;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::Style;
use watch::{
    DisplayData, Glyphs, KeyPress, PANES, TitleBar, ViewMode, ViewState, WatchScene, draw, line, parse, press,
};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "watch_recordings",
    seeds: || {
        let whole = include_bytes!("../../fixtures/watch/partition.jsonl");
        let lines = |count: usize| whole.split_inclusive(|byte| *byte == b'\n').take(count).flatten();
        vec![
            lines(2).copied().collect(),
            lines(6).copied().collect(),
            br#"{"schema":"quietcore.watch/1","kernel":"6.12.0","every_ns":0}
{"number":9,"unix_s":0,"activity":{"duration_ns":0,"cpus":[{"cpu":3,"ticks":18446744073709551615,"interrupts":[{"name":"CAL","what":"","class":"function_call","count":18446744073709551615}],"softirqs":[],"context_switches":7,"steal_ns":18446744073709551615}]},"ran":[{"tid":1,"times":18446744073709551615,"ran_ns":18446744073709551615}],"scene":{"online":"0-2","offline":"3","isolated":"3","said_by":"","verdict":"noisy","threads":[],"interrupts":[],"findings":[]}}
"#
            .to_vec(),
        ]
    },
    run: |bytes| {
        let Ok(recording) = parse(bytes) else {
            return;
        };
        let again: Vec<u8> = std::iter::once(line(&recording.header))
            .chain(recording.moments.iter().map(line))
            .flatten()
            .collect();
        let again = parse(&again).expect("what was read can be written and read");
        assert_eq!(again.moments, recording.moments);
        let nothing = WatchScene::default();
        let scenes = recording.moments.iter().rev().find_map(|moment| moment.scene.as_ref());
        let now = DisplayData {
            moments: recording.moments.iter().collect(),
            scene: scenes.unwrap_or(&nothing),
            glyphs: Glyphs::Ascii,
        };
        let mode = ViewMode::Playing {
            at: 1,
            of: recording.moments.len(),
            speed: 1.0,
        };
        let mut view = ViewState::default();
        for _ in PANES {
            for key in [
                KeyPress::Tab,
                KeyPress::Down,
                KeyPress::Char('s'),
                KeyPress::Char('f'),
                KeyPress::Escape,
            ] {
                press(&mut view, key, &now);
            }
            let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
            let kernel = &recording.header.kernel;
            draw(&mut buffer, TitleBar { kernel, mode }, &now, &view, Style::Colour);
            let symbols = || buffer.content.iter().flat_map(|cell| cell.symbol().chars());
            assert!(!symbols().any(char::is_control));
        }
    },
};
