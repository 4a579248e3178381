//! The screens of a recording of a real machine, and the effect of keys on them.
//!
//! `QUIETCORE_BLESS=1` rewrites the golden screens.

#![allow(
    clippy::unwrap_used,
    clippy::field_reassign_with_default,
    clippy::cast_possible_truncation
)] // A whole file of tests.

use crate::support::drawn;
use crate::support::drawn::{cells, recording, screen, text};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use report::Style;
use watch::{CpuScope, DisplayData, Glyphs, KeyPress, Overlay, ViewAction, ViewState, press};

fn focused(pane: usize) -> ViewState {
    let mut view = ViewState::default();
    view.focus = pane;
    view
}

/// Returns the colors of a screen: a letter for each cell with a style.
fn colours(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width)
            .map(|x| {
                let cell = &buffer[(x, y)];
                match cell.fg {
                    Color::Red => 'r',
                    Color::Yellow => 'y',
                    Color::Green => 'g',
                    Color::DarkGray => 'd',
                    _ if cell.modifier.contains(Modifier::REVERSED) => 'R',
                    _ if cell.modifier.contains(Modifier::BOLD) => 'b',
                    _ => ' ',
                }
            })
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// If the screen is narrow, the kernel's name is left out and the verdict stays.
#[test]
fn a_narrow_screen_keeps_the_verdict() {
    let recording = recording();
    let now = drawn::now(&recording, Glyphs::Blocks);
    for width in [60, 80] {
        let drawn = text(&cells(&now, &ViewState::default(), (width, 24), Style::Plain));
        let title = drawn.lines().next().unwrap();
        let verdict = format!("isolated {}: {}", now.scene.isolated, now.scene.verdict);
        assert!(title.contains(&verdict), "{width}: {title}");
    }
}

#[test]
fn a_cpu_that_nothing_isolates_is_not_called_isolated() {
    let mut recording = recording();
    for scene in recording.moments.iter_mut().filter_map(|moment| moment.scene.as_mut()) {
        scene.not_isolated = scene.isolated.clone();
    }
    let now = drawn::now(&recording, Glyphs::Blocks);
    let drawn = text(&cells(&now, &ViewState::default(), (80, 24), Style::Plain));
    assert!(drawn.contains("CPU 1 is not isolated: noisy"), "{drawn}");
    assert!(drawn.contains("OPEN") && !drawn.contains("ISO!!"), "{drawn}");
    assert!(!drawn.contains("isolated CPUs"), "{drawn}");
}

#[test]
fn every_pane_matches_its_golden_screen() {
    let recording = recording();
    let now = drawn::now(&recording, Glyphs::Blocks);
    for (place, pane) in watch::PANES.iter().enumerate() {
        let view = focused(place);
        screen(
            &format!("80x24-{}.txt", pane.name),
            &text(&cells(&now, &view, (80, 24), Style::Plain)),
        );
    }
    let wide = cells(&now, &ViewState::default(), (120, 40), Style::Plain);
    screen("120x40.txt", &text(&wide));
    let ascii = drawn::now(&recording, Glyphs::Ascii);
    let seen = text(&cells(&ascii, &ViewState::default(), (80, 24), Style::Plain));
    assert!(seen.is_ascii(), "{seen}");
    screen("80x24-ascii.txt", &seen);
}

#[test]
fn colours_add_no_information_to_the_text() {
    let recording = recording();
    let now = drawn::now(&recording, Glyphs::Blocks);
    let view = ViewState::default();
    for size in [(80, 24), (120, 40)] {
        let (colour, plain) = (
            cells(&now, &view, size, Style::Colour),
            cells(&now, &view, size, Style::Plain),
        );
        assert_eq!(text(&colour), text(&plain));
        screen(&format!("{}x{}-colours.txt", size.0, size.1), &colours(&colour));
        let coloured = |buffer: &Buffer| {
            buffer
                .content
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(coloured(&colour) && !coloured(&plain));
    }
}

#[test]
fn overlays_match_their_golden_screens() {
    let recording = recording();
    let now = drawn::now(&recording, Glyphs::Blocks);
    let mut view = ViewState::default();
    press(&mut view, KeyPress::Char('?'), &now);
    screen("80x24-help.txt", &text(&cells(&now, &view, (80, 24), Style::Plain)));
    press(&mut view, KeyPress::Escape, &now);
    press(&mut view, KeyPress::Char('5'), &now);
    press(&mut view, KeyPress::Char('f'), &now);
    let Some(Overlay::Fix(key)) = &view.overlay else {
        panic!("{view:?}")
    };
    assert!(now.scene.findings.iter().any(|seen| key.starts_with(&seen.id)), "{key}");
    screen("80x24-fix.txt", &text(&cells(&now, &view, (80, 24), Style::Plain)));
    view.open_overlay(Overlay::Answer {
        title: "blame".to_owned(),
        text: "a\u{1b}[31mb\n".repeat(50),
    });
    let seen = text(&cells(&now, &view, (80, 24), Style::Plain));
    assert!(seen.contains("1-20 of 50") && seen.contains("a\\u{1b}[31mb"), "{seen}");
    press(&mut view, KeyPress::PageDown, &now);
    assert!(text(&cells(&now, &view, (80, 24), Style::Plain)).contains("11-30 of 50"));
}

#[test]
fn keys_sort_filter_and_select() {
    let recording = recording();
    let now = drawn::now(&recording, Glyphs::Ascii);
    let mut view = ViewState::default();
    let typed = |view: &mut ViewState, letters: &str| {
        letters
            .chars()
            .filter_map(|letter| press(view, KeyPress::Char(letter), &now))
            .last()
    };
    let lines = |view: &ViewState| -> Vec<String> {
        text(&cells(&now, view, (80, 24), Style::Plain))
            .lines()
            .map(str::to_owned)
            .collect()
    };
    // Rates descend, whatever their unit. Sorted by name they do not.
    typed(&mut view, "2");
    let by_rate: Vec<String> = lines(&view)
        .into_iter()
        .skip_while(|line| !line.contains("[2 culprits]"))
        .skip(2)
        .collect();
    typed(&mut view, "ss");
    let by_name: Vec<String> = lines(&view)
        .into_iter()
        .skip_while(|line| !line.contains("[2 culprits]"))
        .skip(2)
        .collect();
    assert_ne!(by_rate, by_name);
    let who: Vec<&str> = by_name.iter().take(4).filter_map(|line| line.get(9..30)).collect();
    let mut sorted = who.clone();
    sorted.sort_unstable();
    assert_eq!(who, sorted);
    // The filter is typed, kept, and removed.
    typed(&mut view, "/timer");
    assert!(view.typing && lines(&view).last().unwrap().contains("filter: timer_"));
    press(&mut view, KeyPress::Enter, &now);
    let kept: Vec<String> = lines(&view)
        .into_iter()
        .skip_while(|line| !line.contains("[2 culprits]"))
        .skip(2)
        .collect();
    let shown = kept.iter().take_while(|line| !line.is_empty()).count();
    assert!(
        shown > 0
            && kept
                .iter()
                .take(shown)
                .all(|line| line.to_lowercase().contains("timer")),
        "{kept:?}"
    );
    press(&mut view, KeyPress::Escape, &now);
    assert!(view.filter.is_empty());
    // Only the selected CPU, and the request to blame it.
    typed(&mut view, "1");
    press(&mut view, KeyPress::Enter, &now);
    let first = now.scene.isolated.first().unwrap();
    assert_eq!(view.scope, CpuScope::One(first));
    typed(&mut view, "a");
    assert_eq!(typed(&mut view, "b"), Some(ViewAction::Blame(machine::CpuId(1))));
    assert_eq!(press(&mut view, KeyPress::Control('c'), &now), Some(ViewAction::Quit));
    assert_eq!(typed(&mut view, "z"), Some(ViewAction::Freeze));
    assert_eq!(typed(&mut view, "q"), Some(ViewAction::Quit));
}

#[test]
fn no_size_and_no_key_causes_a_panic() {
    let recording = recording();
    let empty = watch::WatchScene::default();
    let nothing = DisplayData {
        moments: Vec::new(),
        scene: &empty,
        glyphs: Glyphs::Ascii,
    };
    let keys = [
        KeyPress::Down,
        KeyPress::Tab,
        KeyPress::Char('s'),
        KeyPress::Char('f'),
        KeyPress::Char('b'),
        KeyPress::Enter,
        KeyPress::PageDown,
        KeyPress::Up,
        KeyPress::BackTab,
        KeyPress::Char('?'),
        KeyPress::Backspace,
    ];
    for now in [&drawn::now(&recording, Glyphs::Blocks), &nothing] {
        let mut view = ViewState::default();
        for turn in 0..200usize {
            press(&mut view, keys[turn * 7 % keys.len()], now);
            let size = ((turn * 13 % 140) as u16, (turn * 5 % 50) as u16);
            cells(now, &view, size, Style::Colour);
        }
    }
    let small = text(&cells(&nothing, &ViewState::default(), (39, 10), Style::Plain));
    assert!(small.starts_with("quietcore watch needs 40 x 8"), "{small}");
}

#[test]
fn names_from_the_machine_are_escaped_for_the_terminal() {
    let mut recording = recording();
    let scene = recording
        .moments
        .iter_mut()
        .rev()
        .find_map(|moment| moment.scene.as_mut())
        .unwrap();
    "\u{1b}[2Jevil\u{202e}".clone_into(&mut scene.threads[0].comm);
    let now = drawn::now(&recording, Glyphs::Blocks);
    let view = focused(2);
    let seen = cells(&now, &view, (80, 24), Style::Plain);
    assert!(
        seen.content
            .iter()
            .all(|cell| !cell.symbol().contains(['\u{1b}', '\u{202e}']))
    );
    assert!(text(&seen).contains("\\u{1b}[2J"), "{}", text(&seen));
}
