//! Draws the screen: title, map, the CPU pane, and below it the focused pane, or all of them if there is room.

use crate::overlay;
use crate::panes::{map, rows};
use crate::row::{PaneRow, Tone};
use crate::{CpuScope, DisplayData, Overlay, PANES, ViewState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// The source of the moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewMode {
    /// From the machine.
    Live,
    /// From the machine, with the view frozen.
    Frozen,
    /// From a recording.
    Playing {
        /// The shown moment, from 1.
        at: usize,
        /// The number of moments.
        of: usize,
        /// The speed factor; 0 is paused.
        speed: f64,
    },
}

/// What the title says about the source of the moments.
#[derive(Clone, Copy, Debug)]
pub struct TitleBar<'a> {
    /// The release of the kernel.
    pub kernel: &'a str,
    /// Where the moments come from.
    pub mode: ViewMode,
}

/// The smallest size at which anything is drawn.
const SMALLEST: (u16, u16) = (40, 8);

/// The size from which all panes are visible at once.
const ROOMY: (u16, u16) = (110, 34);

/// Draws everything.
pub fn draw(buffer: &mut Buffer, bar: TitleBar<'_>, now: &DisplayData, view: &ViewState, look: report::Style) {
    let area = buffer.area;
    let mut pen = CellWriter { buffer, look };
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("quietcore watch needs {} x {}", SMALLEST.0, SMALLEST.1);
        pen.text(area.x, area.y, area.width, &text, Style::new());
        return;
    }
    let mut left = title(&mut pen, area, bar, now);
    left.height -= 1;
    let footer = Rect {
        y: left.bottom(),
        height: 1,
        ..area
    };
    let map = map::lines(now, usize::from(area.width), usize::from((area.height / 6).max(1)));
    for line in map {
        pen.pieces(left.x, left.y, left.width, &line, Style::new());
        left = down(left, 1);
    }
    if let Some(over) = &view.overlay {
        overlay(&mut pen, left, over, now, view);
    } else {
        panes(&mut pen, left, now, view);
    }
    foot(&mut pen, footer, view);
}

fn down(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: area.height - lines,
        ..area
    }
}

/// Draws the title, and returns the area below it.
fn title(pen: &mut CellWriter, area: Rect, TitleBar { kernel, mode }: TitleBar<'_>, now: &DisplayData) -> Rect {
    let clock = now.last().map_or(String::new(), |moment| {
        let text = machine::utc_text(moment.unix_s);
        text.get(11..).unwrap_or_default().to_owned()
    });
    let mode = match mode {
        ViewMode::Live => "LIVE".to_owned(),
        ViewMode::Frozen => "FROZEN".to_owned(),
        ViewMode::Playing { at, of, speed } if speed > 0.0 => format!("PLAY {at}/{of} x{speed}"),
        ViewMode::Playing { at, of, .. } => format!("PAUSED {at}/{of}"),
    };
    let right = format!("{mode}  {clock} ");
    let isolated = &now.scene.isolated;
    let open = &now.scene.not_isolated;
    let isolated = match (isolated.is_empty(), isolated.minus(open).is_empty()) {
        (true, _) => "no CPU is isolated".to_owned(),
        (false, true) => format!("CPU {isolated} is not isolated: {}", now.scene.verdict),
        (false, false) if open.is_empty() => format!("isolated {isolated}: {}", now.scene.verdict),
        (false, false) => format!(
            "isolated {}, not isolated {open}: {}",
            isolated.minus(open),
            now.scene.verdict
        ),
    };
    let (kernel, isolated) = (report::safe(kernel), report::safe(&isolated));
    let bar = Style::new().add_modifier(Modifier::REVERSED);
    let width = usize::from(area.width);
    let room = width.saturating_sub(right.chars().count() + 1);
    // The verdict is most important: if room is short, the rest is dropped first.
    let forms = [
        format!(" quietcore watch  {kernel}  {isolated}"),
        format!(" quietcore watch  {isolated}"),
        format!(" {isolated}"),
    ];
    let fits = forms.iter().find(|form| form.chars().count() <= room);
    let left = fits.or(forms.last()).map_or("", String::as_str);
    let left: String = left.chars().take(room).collect();
    let text = format!("{left:room$} {right}");
    pen.text(area.x, area.y, area.width, &text, bar);
    down(area, 1)
}

fn panes(pen: &mut CellWriter, area: Rect, now: &DisplayData, view: &ViewState) {
    let seen = rows(0, now, view, usize::from(area.width)).len();
    let seen = u16::try_from(seen).unwrap_or(u16::MAX).saturating_add(2);
    if area.width >= ROOMY.0 && area.height >= ROOMY.1 - 4 {
        let cpus = Rect {
            height: seen.min(area.height / 3),
            ..area
        };
        pane(pen, cpus, 0, now, view);
        let rest = down(area, cpus.height);
        let (upper, lower) = (rest.height / 2, rest.height - rest.height / 2);
        let halves = [(1, 3, rest.y, upper), (2, 4, rest.y + upper, lower)];
        for (first, second, y, height) in halves {
            let half = rest.width / 2;
            pane(
                pen,
                Rect {
                    y,
                    height,
                    width: half - 1,
                    ..rest
                },
                first,
                now,
                view,
            );
            pane(
                pen,
                Rect {
                    x: rest.x + half,
                    y,
                    height,
                    width: rest.width - half,
                },
                second,
                now,
                view,
            );
        }
        return;
    }
    // Six lines of the pane below are always visible.
    let below = if view.focus == 0 { 1 } else { view.focus };
    let cpus = Rect {
        height: seen.min(area.height.saturating_sub(8).max(area.height / 2)),
        ..area
    };
    pane(pen, cpus, 0, now, view);
    pane(pen, down(area, cpus.height), below, now, view);
}

fn pane(pen: &mut CellWriter, area: Rect, place: usize, now: &DisplayData, view: &ViewState) {
    let Some(one) = PANES.get(place) else { return };
    if area.height == 0 {
        return;
    }
    let width = usize::from(area.width);
    let focused = view.focus == place;
    let rows = rows(place, now, view, width.saturating_sub(2));
    let order = one.sorts.get(view.sort(place)).copied().unwrap_or_default();
    let scope = match (place, view.scope) {
        (0, CpuScope::One(_) | CpuScope::All) => "all".to_owned(),
        (_, CpuScope::All) => "all CPUs".to_owned(),
        (_, CpuScope::One(cpu)) => format!("CPU {}", cpu.0),
        (_, CpuScope::Isolated) if now.scene.not_isolated.is_empty() => "isolated CPUs".to_owned(),
        (_, CpuScope::Isolated) => "CPUs to check".to_owned(),
    };
    let mark = if focused { "=" } else { "-" };
    let name = format!(
        "{mark}{mark}[{} {}]{mark} {scope}, {} by {order} ",
        place + 1,
        one.name,
        rows.len()
    );
    let head = Style::new().add_modifier(if focused { Modifier::BOLD } else { Modifier::empty() });
    let line: String = name.chars().chain(mark.chars().cycle()).take(width).collect();
    pen.text(area.x, area.y, area.width, &line, head);
    let area = down(area, 1);
    if area.height == 0 {
        return;
    }
    pen.text(
        area.x + 1,
        area.y,
        area.width - 1,
        &(one.head)(now, width.saturating_sub(2)),
        pen.style(Tone::Quiet),
    );
    let area = down(area, 1);
    if rows.is_empty() {
        let why = if place > 0 && !view.filter.is_empty() {
            "no row contains the text of the filter"
        } else {
            one.empty
        };
        pen.text(
            area.x + 2,
            area.y,
            if area.height == 0 { 0 } else { area.width - 2 },
            why,
            pen.style(Tone::Quiet),
        );
        return;
    }
    listed(pen, area, &rows, view.selected(place), focused);
}

/// Draws the rows that fit, including the selected one.
fn listed(pen: &mut CellWriter, area: Rect, rows: &[PaneRow<'_>], selected: &str, focused: bool) {
    let room = usize::from(area.height);
    let chosen = rows.iter().position(|row| row.key == selected).unwrap_or(0);
    let first = (chosen + 1).saturating_sub(room);
    for (place, row) in rows.iter().enumerate().skip(first).take(room) {
        let y = area.y + u16::try_from(place - first).unwrap_or(0);
        let is_chosen = focused && place == chosen;
        let base = if is_chosen {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        pen.text(area.x, y, 1, if is_chosen { ">" } else { " " }, base);
        pen.pieces(area.x + 1, y, area.width - 1, &row.pieces(), base);
    }
}

fn overlay(pen: &mut CellWriter, area: Rect, over: &Overlay, now: &DisplayData, view: &ViewState) {
    let width = usize::from(area.width);
    let (title, lines) = overlay::lines(over, view, now, width.saturating_sub(2));
    let room = usize::from(area.height.saturating_sub(1));
    let first = view.scroll.min(lines.len().saturating_sub(room));
    let more = if lines.len() > room {
        format!(" {}-{} of {}", first + 1, (first + room).min(lines.len()), lines.len())
    } else {
        String::new()
    };
    let head: String = format!("==[{}]={more} ", report::safe(&title))
        .chars()
        .chain("=".chars().cycle())
        .take(width)
        .collect();
    pen.text(
        area.x,
        area.y,
        area.width,
        &head,
        Style::new().add_modifier(Modifier::BOLD),
    );
    for (place, line) in lines.iter().skip(first).take(room).enumerate() {
        let y = area.y + 1 + u16::try_from(place).unwrap_or(0);
        pen.text(area.x, y, area.width, line, Style::new());
    }
}

fn foot(pen: &mut CellWriter, area: Rect, view: &ViewState) {
    let text = if view.typing {
        format!(
            " filter: {}_  (Enter keeps it, Esc drops it)",
            report::safe(&view.filter)
        )
    } else if !view.note.is_empty() {
        format!(" {}", report::safe(&view.note))
    } else if view.overlay.is_some() {
        " up, down: scroll   any other key: back".to_owned()
    } else if !view.filter.is_empty() {
        format!(
            " only rows with `{}` (Esc: all)   ? keys  q quit",
            report::safe(&view.filter)
        )
    } else if area.width < ROOMY.0 {
        format!(" ? keys q quit s sort / filter b blame f fix | {}", map::SHORT_LEGEND)
    } else {
        format!(
            " ? keys  q quit  s sort  / filter  b blame  f fix   map: {}",
            map::LEGEND
        )
    };
    pen.text(area.x, area.y, area.width, &text, pen.style(Tone::Quiet));
}

/// Writes text into the cells.
struct CellWriter<'a> {
    buffer: &'a mut Buffer,
    look: report::Style,
}

impl CellWriter<'_> {
    fn style(&self, tone: Tone) -> Style {
        let style = Style::new();
        match (self.look, tone) {
            (_, Tone::Plain) | (report::Style::Plain, Tone::Quiet | Tone::Good) => style,
            (report::Style::Plain, Tone::Warning | Tone::Bad) => style.add_modifier(Modifier::BOLD),
            (report::Style::Colour, Tone::Quiet) => style.fg(Color::DarkGray),
            (report::Style::Colour, Tone::Good) => style.fg(Color::Green),
            (report::Style::Colour, Tone::Warning) => style.fg(Color::Yellow),
            (report::Style::Colour, Tone::Bad) => style.fg(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    /// Writes text, cut to `width`.
    fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) {
        if width > 0 && self.buffer.area.contains((x, y).into()) {
            self.buffer.set_stringn(x, y, text, usize::from(width), style);
        }
    }

    fn pieces(&mut self, x: u16, y: u16, width: u16, pieces: &[(String, Tone)], base: Style) {
        let (mut x, end) = (x, x.saturating_add(width));
        for (text, tone) in pieces {
            if x >= end || !self.buffer.area.contains((x, y).into()) {
                return;
            }
            let style = base.patch(self.style(*tone));
            (x, _) = self.buffer.set_stringn(x, y, text, usize::from(end - x), style);
        }
        if base != Style::new() && x < end {
            let blank = " ".repeat(usize::from(end - x));
            self.text(x, y, end - x, &blank, base);
        }
    }
}
