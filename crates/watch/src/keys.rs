//! Maps keys to changes of the view and to actions of the caller.

use crate::panes::rows;
use crate::{CpuScope, DisplayData, Overlay, PANES, ViewState, panes};
use KeyPress::{
    BackTab, Backspace, Char, Control, Down, End, Enter, Escape, Home, Left, PageDown, PageUp, Right, Tab, Up,
};
use machine::CpuId;

/// A key, independent of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
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
pub enum ViewAction {
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
    ("Tab, 1-5", "next pane"),
    ("up, down", "next row (also j, k, PgUp, PgDn)"),
    ("s", "next sort order"),
    ("/", "only rows that contain a text; empty: all"),
    ("a", "all CPUs, or the isolated ones"),
    ("Enter", "only the selected CPU"),
    ("space, z", "freeze; a recording: pause and continue"),
    ("b", "what interrupts the selected CPU (runs blame)"),
    ("f", "evidence and fix of the selected finding"),
    ("^L", "redraw"),
    ("left, right", "recording: one sample back, forward"),
    ("[ ]", "recording: ten samples back, forward"),
    ("Home, End", "recording: first, last sample"),
    ("+ -", "recording: faster, slower"),
];

/// Handles a key.
pub fn press(view: &mut ViewState, key: KeyPress, now: &DisplayData) -> Option<ViewAction> {
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
    if key == Char('b') {
        return blame(view, now);
    }
    let act = key_act(key);
    if act.is_none() {
        change_view(view, key, now);
    }
    act
}

/// The action of a key with Ctrl, which applies everywhere.
fn control_act(key: KeyPress) -> Option<ViewAction> {
    match key {
        Control('c') => Some(ViewAction::Quit),
        Control('z') => Some(ViewAction::Stop),
        Control('l') => Some(ViewAction::Redraw),
        _ => None,
    }
}

/// The action of a key that depends on neither the view nor the machine.
fn key_act(key: KeyPress) -> Option<ViewAction> {
    match key {
        Char('q') => Some(ViewAction::Quit),
        Char(' ' | 'z') => Some(ViewAction::Freeze),
        Left => Some(ViewAction::Step(-1)),
        Right => Some(ViewAction::Step(1)),
        Char('[') => Some(ViewAction::Step(-10)),
        Char(']') => Some(ViewAction::Step(10)),
        Home => Some(ViewAction::First),
        End => Some(ViewAction::Last),
        Char('+' | '=') => Some(ViewAction::Faster),
        Char('-') => Some(ViewAction::Slower),
        _ => None,
    }
}

/// Handles the keys that change what the panes show.
fn change_view(view: &mut ViewState, key: KeyPress, now: &DisplayData) {
    match key {
        Char('?' | 'h') => view.open_overlay(Overlay::Help),
        Char('f') => fix(view, now),
        Char('s') => view.sort_next(PANES.get(view.focus).map_or(1, |pane| pane.sorts.len())),
        Char('/') => view.typing = true,
        Char('a') => {
            view.scope = match view.scope {
                CpuScope::Isolated => CpuScope::All,
                CpuScope::All | CpuScope::One(_) => CpuScope::Isolated,
            };
        }
        Enter => {
            view.scope = match (view.scope, chosen_cpu(view, now)) {
                (CpuScope::One(one), Some(cpu)) if one == cpu => CpuScope::Isolated,
                (_, Some(cpu)) => CpuScope::One(cpu),
                (scope, None) => scope,
            };
        }
        Escape => {
            view.filter.clear();
            view.scope = CpuScope::Isolated;
        }
        Tab => view.focus = (view.focus + 1) % PANES.len(),
        BackTab => view.focus = (view.focus + PANES.len() - 1) % PANES.len(),
        Char(digit @ '1'..='9') => {
            let pane = digit as usize - '1' as usize;
            if pane < PANES.len() {
                view.focus = pane;
            }
        }
        Up | Char('k') => go(view, now, |place, _| place.saturating_sub(1)),
        Down | Char('j') => go(view, now, |place, last| (place + 1).min(last)),
        PageUp => go(view, now, |place, _| place.saturating_sub(PAGE)),
        PageDown => go(view, now, |place, last| (place + PAGE).min(last)),
        _ => {}
    }
}

fn type_filter(view: &mut ViewState, key: KeyPress) -> Option<ViewAction> {
    match key {
        Enter => view.typing = false,
        Escape => {
            view.typing = false;
            view.filter.clear();
        }
        Backspace => {
            view.filter.pop();
        }
        Char(letter) if view.filter.chars().count() < 40 => view.filter.push(letter),
        _ => {}
    }
    None
}

fn in_overlay(view: &mut ViewState, key: KeyPress) -> Option<ViewAction> {
    match key {
        Up | Char('k') => view.scroll = view.scroll.saturating_sub(1),
        Down | Char('j') => view.scroll = view.scroll.saturating_add(1),
        PageUp => view.scroll = view.scroll.saturating_sub(PAGE),
        PageDown | Char(' ') => view.scroll = view.scroll.saturating_add(PAGE),
        Home => view.scroll = 0,
        _ => view.overlay = None,
    }
    None
}

/// Moves the selection in the focused pane. The set of rows does not depend on the width.
fn go(view: &mut ViewState, now: &DisplayData, to: impl Fn(usize, usize) -> usize) {
    let mut rows = rows(view.focus, now, view, 80);
    let selected = view.selected(view.focus);
    let place = rows.iter().position(|row| row.key == selected).unwrap_or(0);
    let next = to(place, rows.len().saturating_sub(1));
    if next < rows.len() {
        view.select(view.focus, &rows.swap_remove(next).key);
    }
}

/// The CPU of the selected row of the focused pane, else that of the CPU pane.
fn chosen_cpu(view: &ViewState, now: &DisplayData) -> Option<CpuId> {
    let of = |pane: usize| {
        let rows = rows(pane, now, view, 80);
        let selected = view.selected(pane);
        let row = rows.iter().find(|row| row.key == selected).or(rows.first())?;
        row.cpu
    };
    of(view.focus).or_else(|| of(0))
}

fn blame(view: &mut ViewState, now: &DisplayData) -> Option<ViewAction> {
    let cpu = chosen_cpu(view, now)?;
    if now.scene.offline.contains(cpu) {
        view.note = format!("CPU {} is offline: nothing interrupts it", cpu.0);
        return None;
    }
    Some(ViewAction::Blame(cpu))
}

/// The selected finding; from another pane the worst about the selected CPU, else the worst of all.
fn fix(view: &mut ViewState, now: &DisplayData) {
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
        let about = now.scene.findings.iter().filter(|seen| seen.cpus.contains(cpu));
        // The first of the most severe ones.
        about.rev().max_by_key(|seen| seen.level).map(panes::findings::key)
    };
    let key = if view.focus == findings {
        chosen
    } else {
        about_cpu().or(chosen)
    };
    match key {
        Some(key) => view.open_overlay(Overlay::Fix(key)),
        None => view.note = "check found nothing that needs a fix".to_owned(),
    }
}
