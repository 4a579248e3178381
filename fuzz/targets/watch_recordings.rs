//! Recordings of `watch`: what can be read is shown, pane by pane, and goes to the terminal as text only.

use super::Target;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use watch::{Glyphs, Key, Look, Mode, Now, PANES, Scene, TitleBar, View, draw, line, parse, press};

pub const TARGET: Target = Target {
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
        let nothing = Scene::default();
        let scenes = recording
            .moments
            .iter()
            .rev()
            .find_map(|moment| moment.scene.as_ref());
        let now = Now {
            moments: recording.moments.iter().collect(),
            scene: scenes.unwrap_or(&nothing),
            glyphs: Glyphs::Ascii,
        };
        let mode = Mode::Playing {
            at: 1,
            of: recording.moments.len(),
            speed: 1.0,
        };
        let mut view = View::default();
        for _ in PANES {
            for key in [Key::Tab, Key::Down, Key::Char('s'), Key::Char('f'), Key::Escape] {
                press(&mut view, key, &now);
            }
            let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
            let kernel = &recording.header.kernel;
            draw(&mut buffer, TitleBar { kernel, mode }, &now, &view, Look::Colour);
            let symbols = || buffer.content.iter().flat_map(|cell| cell.symbol().chars());
            assert!(!symbols().any(char::is_control));
        }
    },
};
