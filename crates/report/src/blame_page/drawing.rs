//! Draws single gaps as nested bars. A tooltip shows the name of a piece, and buttons in pure CSS zoom; the script only moves
//! through the pieces by keyboard.

use crate::blame_picture::len;
use crate::culprit::by;
use crate::page::escape::{html, unit};
use crate::style::{counted, safe_cut};
use crate::units::time;
use ::blame::{CpuAnswer, Interruption, Piece, Story};
use observe::Class;
use std::fmt::Write as _;

pub(super) const WIDTH: f64 = 640.0;
pub(super) const LEFT: f64 = 64.0;
pub(super) const RIGHT: f64 = 14.0;
pub(super) const TOP: f64 = 8.0;
/// Height of a bar, in the picture's units.
const BAR: f64 = 24.0;
/// Minimum width of a drawn piece: a thousandth of the drawing at the highest magnification.
const NARROWEST: f64 = 0.04;

/// The kind of a row: sets the colour and height of its bar.
pub(super) const fn kind(row: &Interruption) -> &'static str {
    match row.class {
        Class::Preemption | Class::KernelThread | Class::Work | Class::SystemCall | Class::PageFault => {
            "task"
        }
        Class::SoftTimer
        | Class::SoftHrtimer
        | Class::SoftSched
        | Class::SoftRcu
        | Class::SoftNet
        | Class::SoftBlock
        | Class::SoftTasklet => "soft",
        _ => "irq",
    }
}

pub(super) fn of_piece<'a>(cpu: &'a CpuAnswer, piece: &Piece) -> Option<&'a Interruption> {
    cpu.interruptions.get(piece.row?)
}

pub(super) fn kind_of(cpu: &CpuAnswer, piece: &Piece) -> &'static str {
    of_piece(cpu, piece).map_or("blank", kind)
}

/// Draws one gap with the events around it.
pub(super) fn gap(page: &mut String, cpu: &CpuAnswer, story: &Story, place: usize) {
    let id = format!("g{}-{place}", cpu.cpu);
    let all = len(story).max(1);
    let scale = (WIDTH - LEFT - RIGHT) / all as f64;
    let base = TOP + 3.0 * (BAR + 2.0);
    let began = cpu.stories.iter().map(|story| story.gap.start).min().unwrap_or(0);
    let _ = write!(
        page,
        "<div class=\"zoom told\"><p><b>{}</b> <span class=\"small\">{} after the first gap</span></p>",
        unit(&time(all)),
        unit(&time(story.gap.start - began))
    );
    for (class, words, checked) in [
        ("x1", "1&times;", " checked"),
        ("x4", "4&times;", ""),
        ("x16", "16&times;", ""),
    ] {
        let _ = write!(
            page,
            "<input class=\"{class}\" type=\"radio\" name=\"{id}\" id=\"{id}-{class}\"{checked}><label for=\"{id}-{class}\">{words}</label>"
        );
    }
    let _ = write!(
        page,
        "<div class=\"scroll\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"a gap of {}\">\
         <rect class=\"strip\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>",
        base + 22.0,
        html(&time(all)),
        WIDTH - LEFT - RIGHT,
        base - TOP
    );
    let mut left_out = 0;
    for piece in &story.pieces {
        let x = LEFT + (piece.span.start - story.gap.start) as f64 * scale;
        let width = (piece.span.end - piece.span.start) as f64 * scale;
        if width < NARROWEST {
            left_out += 1;
            continue;
        }
        draw(page, cpu, piece, [x, width]);
    }
    page.push_str("<g class=\"tick\">");
    for (part, anchor) in [(0, "start"), (1, "middle"), (2, "end")] {
        let ns = all / 2 * part;
        let _ = write!(
            page,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            LEFT + ns as f64 * scale,
            base + 15.0,
            if part == 2 {
                unit(&time(all))
            } else {
                unit(&time(ns))
            }
        );
    }
    page.push_str("</g></svg></div><output></output>");
    if left_out > 0 {
        let _ = write!(
            page,
            "<p class=\"small\">{} too short to be drawn</p>",
            counted(left_out, "piece")
        );
    }
    page.push_str("</div>\n");
}

fn draw(page: &mut String, cpu: &CpuAnswer, piece: &Piece, [x, width]: [f64; 2]) {
    let row = of_piece(cpu, piece);
    let kind = kind_of(cpu, piece);
    let height = match kind {
        "irq" => 0.0,
        "soft" => 1.0,
        _ => 2.0,
    };
    let y = TOP + height * (BAR + 2.0);
    let name = row.map_or("unexplained", |row| row.name.as_str());
    let cause = row
        .and_then(|row| row.culprit.as_ref())
        .map_or(String::new(), |culprit| format!(", {}", by(culprit)));
    let _ = write!(
        page,
        "<rect class=\"piece mark {kind}\" x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{BAR}\"><title>{}: {}{}</title></rect>",
        html(name),
        unit(&time(piece.span.end - piece.span.start)),
        html(&cause)
    );
    // As large as fits, down to the size that the highest magnification makes readable.
    let letters = name.chars().count().clamp(1, 24) as f64;
    let size = (width / (letters * 0.62)).min(12.0);
    if size >= 0.8 {
        let _ = write!(
            page,
            "<text class=\"in\" x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"middle\" style=\"font-size:{size:.2}px\">{}</text>",
            x + width / 2.0,
            y + BAR / 2.0 + size * 0.35,
            html(&safe_cut(name, 24))
        );
    }
}
