//! Draws single gaps as nested bars. A tooltip shows the name of a piece, and buttons in pure CSS zoom; the script only moves
//! through the pieces by keyboard.

use crate::blame_picture::len;
use crate::culprit::by;
use crate::page::text::{Tenths, unit};
use crate::style::{counted, safe, safe_cut};
use crate::units::time;
use ::blame::{CpuAnswer, GapStory, Interruption, StoryPiece};
use maud::{Markup, html};
use observe::Class;

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
        Class::Preemption | Class::KernelThread | Class::Work | Class::SystemCall | Class::PageFault => "task",
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

pub(super) fn of_piece<'a>(cpu: &'a CpuAnswer, piece: &StoryPiece) -> Option<&'a Interruption> {
    cpu.interruptions.get(piece.row?)
}

pub(super) fn kind_of(cpu: &CpuAnswer, piece: &StoryPiece) -> &'static str {
    of_piece(cpu, piece).map_or("blank", kind)
}

/// Draws one gap with the events around it.
pub(super) fn gap(cpu: &CpuAnswer, story: &GapStory, place: usize) -> Markup {
    let id = format!("g{}-{place}", cpu.cpu);
    let all = len(story).max(1);
    let scale = (WIDTH - LEFT - RIGHT) / all as f64;
    let base = TOP + 3.0 * (BAR + 2.0);
    let first = cpu.stories.iter().map(|story| story.gap.start).min().unwrap_or(0);
    let width = |piece: &StoryPiece| (piece.span.end - piece.span.start) as f64 * scale;
    let drawn = |piece: &&StoryPiece| width(piece) >= NARROWEST;
    let left_out = story.pieces.len() - story.pieces.iter().filter(drawn).count();
    html! {
        div class="zoom readout" {
            p { b { (unit(&time(all))) } " " span.small { (unit(&time(story.gap.start - first))) " after the first gap" } }
            (magnifications(&id))
            div.scroll {
                svg viewBox={ "0 0 " (WIDTH) " " (base + 22.0) } role="img" aria-label={ "a gap of " (safe(&time(all))) } {
                    rect.strip x=(LEFT) y=(TOP) width=(WIDTH - LEFT - RIGHT) height=(base - TOP) {}
                    @for one in story.pieces.iter().filter(drawn) {
                        @let x = LEFT + (one.span.start - story.gap.start) as f64 * scale;
                        (piece(cpu, one, [x, width(one)]))
                    }
                    g.tick {
                        @for (ns, label, anchor) in [(0, 0, "start"), (all / 2, all / 2, "middle"), (all / 2 * 2, all, "end")] {
                            text x=(Tenths(LEFT + ns as f64 * scale)) y=(Tenths(base + 15.0)) text-anchor=(anchor) {
                                (unit(&time(label)))
                            }
                        }
                    }
                }
            }
            output {}
            @if left_out > 0 { p.small { (counted(left_out, "piece")) " too short to draw" } }
        } "\n"
    }
}

/// The buttons that magnify a drawing.
fn magnifications(id: &str) -> Markup {
    html! {
        @for (class, label) in [("x1", "1×"), ("x4", "4×"), ("x16", "16×")] {
            @let of = format!("{id}-{class}");
            input class=(class) type="radio" name=(id) id=(of) checked[class == "x1"];
            label for=(of) { (label) }
        }
    }
}

fn piece(cpu: &CpuAnswer, piece: &StoryPiece, [x, width]: [f64; 2]) -> Markup {
    let row = of_piece(cpu, piece);
    let kind = kind_of(cpu, piece);
    let height = match kind {
        "irq" => 0.0,
        "soft" => 1.0,
        _ => 2.0,
    };
    let y = TOP + height * (BAR + 2.0);
    let name = row.map_or("unexplained", |row| row.name.as_str());
    let cause = row.and_then(|row| row.culprit.as_ref()).map(by);
    // As large as fits, down to the size that the highest magnification makes readable.
    let letters = name.chars().count().clamp(1, 24) as f64;
    let size = (width / (letters * 0.62)).min(12.0);
    let hundredths = |value: f64| format!("{value:.2}");
    html! {
        rect class={ "piece mark " (kind) } x=(hundredths(x)) y=(y) width=(hundredths(width)) height=(BAR) {
            title {
                (safe(name)) ": " (unit(&time(piece.span.end - piece.span.start)))
                @if let Some(cause) = cause { ", " (safe(&cause)) }
            }
        }
        @if size >= 0.8 {
            text.in x=(hundredths(x + width / 2.0)) y=(hundredths(y + BAR / 2.0 + size * 0.35)) text-anchor="middle"
                style={ "font-size:" (hundredths(size)) "px" } { (safe(&safe_cut(name, 24))) }
        }
    }
}
