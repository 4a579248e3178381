//! Maps keys to changes of the view and to actions of the caller.

use crate::panes::rows;
use crate::{Now, Overlay, PANES, Scope, View, panes};
use machine::CpuId;

/// A key, independent of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or symbol.
    Char(char),
    /// A key with Ctrl.
    Control(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
}

/// An action of the program that shows the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Quit.
    Quit,
    /// Suspend, as `^Z` does.
    Stop,
    /// Freeze the view, or resume it.
    Freeze,
    /// Trace what interrupts this CPU.
    Blame(CpuId),
    /// Redraw everything.
    Redraw,
    /// Step this many moments forward or back.
    Step(i64),
    /// Go to the first moment.
    First,
    /// Go to the last moment.
    Last,
    /// Play faster.
    Faster,
    /// Play slower.
    Slower,
}

/// Rows per page.
const PAGE: usize = 10;

/// All keys, for the help.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("q", "end"),
    ("Tab, 1-5", "another pane"),
    ("up, down", "another row (also j, k, PgUp, PgDn)"),
    ("s", "sort by the next order"),
    ("/", "only rows that hold a text; empty: all"),
    ("a", "all CPUs, or the isolated ones"),
    ("Enter", "only the chosen CPU"),
    ("space, z", "freeze; a recording: hold and go on"),
    ("b", "who interrupts the chosen CPU (runs blame)"),
    ("f", "evidence and fix of the chosen finding"),
    ("^L", "redraw"),
    ("left, right", "recording: one moment back, forward"),
    ("[ ]", "recording: ten moments back, forward"),
    ("Home, End", "recording: first, last moment"),
    ("+ -", "recording: faster, slower"),
];

/// Handles a key.
pub fn press(view: &mut View, key: Key, now: &Now) -> Option<Act> {
    view.note.clear();
    let control = control_act(key);
    if control.is_some() {
        return control;
    }
    if view.typing {
        return type_filter(view, key);
    }
    if view.overlay.is_some() {
        return in_overlay(view, key);
    }
    if key == Key::Char('b') {
        return blame(view, now);
    }
    let act = key_act(key);
    if act.is_none() {
        change_view(view, key, now);
    }
    act
}

/// The action of a key with Ctrl, which applies everywhere.
fn control_act(key: Key) -> Option<Act> {
    match key {
        Key::Control('c') => Some(Act::Quit),
        Key::Control('z') => Some(Act::Stop),
        Key::Control('l') => Some(Act::Redraw),
        _ => None,
    }
}

/// The action of a key that depends on neither the view nor the machine.
fn key_act(key: Key) -> Option<Act> {
    match key {
        Key::Char('q') => Some(Act::Quit),
        Key::Char(' ' | 'z') => Some(Act::Freeze),
        Key::Left => Some(Act::Step(-1)),
        Key::Right => Some(Act::Step(1)),
        Key::Char('[') => Some(Act::Step(-10)),
        Key::Char(']') => Some(Act::Step(10)),
        Key::Home => Some(Act::First),
        Key::End => Some(Act::Last),
        Key::Char('+' | '=') => Some(Act::Faster),
        Key::Char('-') => Some(Act::Slower),
        _ => None,
    }
}

/// Handles the keys that change what the panes show.
fn change_view(view: &mut View, key: Key, now: &Now) {
    match key {
        Key::Char('?' | 'h') => view.lay_over(Overlay::Help),
        Key::Char('f') => fix(view, now),
        Key::Char('s') => view.sort_next(PANES.get(view.focus).map_or(1, |pane| pane.sorts.len())),
        Key::Char('/') => view.typing = true,
        Key::Char('a') => {
            view.scope = match view.scope {
                Scope::Isolated => Scope::All,
                Scope::All | Scope::One(_) => Scope::Isolated,
            };
        }
        Key::Enter => {
            view.scope = match (view.scope, chosen_cpu(view, now)) {
                (Scope::One(one), Some(cpu)) if one == cpu => Scope::Isolated,
                (_, Some(cpu)) => Scope::One(cpu),
                (scope, None) => scope,
            };
        }
        Key::Escape => {
            view.filter.clear();
            view.scope = Scope::Isolated;
        }
        Key::Tab => view.focus = (view.focus + 1) % PANES.len(),
        Key::BackTab => view.focus = (view.focus + PANES.len() - 1) % PANES.len(),
        Key::Char(digit @ '1'..='9') => {
            let pane = digit as usize - '1' as usize;
            if pane < PANES.len() {
                view.focus = pane;
            }
        }
        Key::Up | Key::Char('k') => go(view, now, |place, _| place.saturating_sub(1)),
        Key::Down | Key::Char('j') => go(view, now, |place, last| (place + 1).min(last)),
        Key::PageUp => go(view, now, |place, _| place.saturating_sub(PAGE)),
        Key::PageDown => go(view, now, |place, last| (place + PAGE).min(last)),
        _ => {}
    }
}

fn type_filter(view: &mut View, key: Key) -> Option<Act> {
    match key {
        Key::Enter => view.typing = false,
        Key::Escape => {
            view.typing = false;
            view.filter.clear();
        }
        Key::Backspace => {
            view.filter.pop();
        }
        Key::Char(letter) if view.filter.chars().count() < 40 => view.filter.push(letter),
        _ => {}
    }
    None
}

fn in_overlay(view: &mut View, key: Key) -> Option<Act> {
    match key {
        Key::Up | Key::Char('k') => view.scroll = view.scroll.saturating_sub(1),
        Key::Down | Key::Char('j') => view.scroll = view.scroll.saturating_add(1),
        Key::PageUp => view.scroll = view.scroll.saturating_sub(PAGE),
        Key::PageDown | Key::Char(' ') => view.scroll = view.scroll.saturating_add(PAGE),
        Key::Home => view.scroll = 0,
        _ => view.overlay = None,
    }
    None
}

/// Moves the selection in the focused pane. The set of rows does not depend on the width.
fn go(view: &mut View, now: &Now, to: impl Fn(usize, usize) -> usize) {
    let mut rows = rows(view.focus, now, view, 80);
    let selected = view.selected(view.focus);
    let place = rows.iter().position(|row| row.key == selected).unwrap_or(0);
    let next = to(place, rows.len().saturating_sub(1));
    if next < rows.len() {
        view.select(view.focus, &rows.swap_remove(next).key);
    }
}

/// The CPU of the selected row of the focused pane, else that of the CPU pane.
fn chosen_cpu(view: &View, now: &Now) -> Option<CpuId> {
    let of = |pane: usize| {
        let rows = rows(pane, now, view, 80);
        let selected = view.selected(pane);
        let row = rows.iter().find(|row| row.key == selected).or(rows.first())?;
        row.cpu
    };
    of(view.focus).or_else(|| of(0))
}

fn blame(view: &mut View, now: &Now) -> Option<Act> {
    let cpu = chosen_cpu(view, now)?;
    if now.scene.offline.contains(cpu) {
        view.note = format!("CPU {} is offline: nothing interrupts it", cpu.0);
        return None;
    }
    Some(Act::Blame(cpu))
}

/// The selected finding; from another pane the worst about the selected CPU, else the worst of all.
fn fix(view: &mut View, now: &Now) {
    let findings = PANES.len() - 1;
    let rows = rows(findings, now, view, 80);
    let selected = view.selected(findings);
    let chosen = rows
        .iter()
        .find(|row| row.key == selected)
        .or(rows.first())
        .map(|row| row.key.clone());
    let about_cpu = || {
        let cpu = chosen_cpu(view, now)?;
        let mut about: Vec<_> = now
            .scene
            .findings
            .iter()
            .filter(|seen| seen.cpus.contains(cpu))
            .collect();
        about.sort_by_key(|seen| std::cmp::Reverse(seen.level));
        about.first().map(|seen| panes::findings::key(seen))
    };
    let key = if view.focus == findings {
        chosen
    } else {
        about_cpu().or(chosen)
    };
    match key {
        Some(key) => view.lay_over(Overlay::Fix(key)),
        None => view.note = "check found nothing that needs a fix".to_owned(),
    }
}
