//! Provides the plane for curves: its scales, its grid, and the position of each element.

use super::{Curve, CurveStep, Scale};
use crate::page::text::{Tenths, unit};
use crate::style::safe;
use crate::units::time;
use maud::{Markup, html};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 432.0;
const LEFT: f64 = 88.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 64.0;
/// Distance of the time labels below the plane, so that the large letters of a phone touch neither it nor the text below.
const LABELS: f64 = 25.0;
/// Height of a flag, so that flags do not overlap with the large letters of a phone.
const FLAG: f64 = 28.0;
/// Maximum number of powers of ten for the share of samples.
const DECADES: u32 = 9;

/// A plane with its scales.
pub(super) struct Plot {
    scale: Scale,
    left: f64,
    right: f64,
    low: f64,
    high: f64,
}

impl Plot {
    pub(super) fn over(scale: Scale, left: f64, right: f64, low: f64, high: f64) -> Plot {
        match scale {
            Scale::Linear(top_ns) => Plot {
                scale,
                left: 0.0,
                #[allow(clippy::cast_precision_loss)]
                right: (top_ns as f64).max(1.0),
                low: 0.0,
                high: round(high).min(1.0),
            },
            Scale::Logarithmic => {
                let left = (left.max(1.0).log10() * 2.0).floor() / 2.0;
                let right = ((right.max(2.0).log10() * 2.0).ceil() / 2.0).max(left + 0.5);
                let high = high.log10().ceil();
                Plot {
                    scale,
                    left,
                    right,
                    // The rarest value is a little above the axis, so that it is visible.
                    low: (low.log10() - 0.2).floor().clamp(high - f64::from(DECADES), high - 1.0),
                    high,
                }
            }
        }
    }

    fn x(&self, ns: f64) -> f64 {
        let value = match self.scale {
            Scale::Logarithmic => ns.max(1.0).log10(),
            Scale::Linear(_) => ns,
        };
        let place = (value - self.left) / (self.right - self.left);
        LEFT + place.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, share: f64) -> f64 {
        let value = match self.scale {
            Scale::Logarithmic if share <= 0.0 => f64::NEG_INFINITY,
            Scale::Logarithmic => share.log10(),
            Scale::Linear(_) => share,
        };
        let place = (value - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - place.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    /// Positions of grid lines: times in nanoseconds, and shares.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn marks(&self) -> (Vec<u64>, Vec<f64>) {
        match self.scale {
            Scale::Logarithmic => (
                (self.left.ceil() as u32..=self.right.floor() as u32)
                    .map(|decade| 10_u64.pow(decade.min(19)))
                    .collect(),
                (self.low as i32..=self.high as i32)
                    .map(|decade| 10_f64.powi(decade))
                    .collect(),
            ),
            Scale::Linear(top_ns) => (
                (0..=5).map(|mark| top_ns / 5 * mark).collect(),
                (0..=4).map(|mark| self.high / 4.0 * f64::from(mark)).collect(),
            ),
        }
    }

    /// The drawing, with the scale data for the script.
    pub(super) fn drawing(&self, id: &str, title: &str, content: &Markup) -> Markup {
        let scale = match self.scale {
            Scale::Logarithmic => "log",
            Scale::Linear(_) => "lin",
        };
        let base = HEIGHT - BOTTOM;
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby={ (id) "-t" } data-scale=(scale)
                data-left=(LEFT) data-right=(WIDTH - RIGHT) data-top=(TOP) data-base=(base) data-labels=(base + LABELS)
                data-from=(self.left) data-to=(self.right) data-low=(self.low) data-high=(self.high) {
                title id={ (id) "-t" } { (safe(title)) } "\n"
                (content)
            } "\n"
        }
    }

    /// The group that zooming moves; it is clipped to the plane.
    pub(super) fn moved(&self, id: &str, content: &Markup) -> Markup {
        html! {
            clipPath id={ (id) "-c" } {
                rect x=(LEFT) y="0" width=(WIDTH - LEFT - RIGHT) height=(HEIGHT - BOTTOM + 2.0) {}
            }
            g clip-path={ "url(#" (id) "-c)" } { g.moved { "\n" (content) } } "\n"
        }
    }

    pub(super) fn grid(&self, axis: &str) -> Markup {
        let (times, shares) = self.marks();
        let (base, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let anchor = |x: f64| if x > right - 24.0 { "end" } else { "middle" };
        html! {
            g.grid {
                @for y in shares.iter().map(|share| self.y(*share)) {
                    line x1=(LEFT) y1=(Tenths(y)) x2=(right) y2=(Tenths(y)) {}
                }
            }
            g class="grid times" {
                @for ns in times {
                    @let x = self.x(exact(ns));
                    line x1=(Tenths(x)) y1=(TOP) x2=(Tenths(x)) y2=(base) {}
                    text x=(Tenths(x)) y=(Tenths(base + LABELS)) text-anchor=(anchor(x)) { (unit(&time(ns))) }
                }
            }
            g.tick {
                @for share in shares {
                    text x=(Tenths(LEFT - 7.0)) y=(Tenths(self.y(share) + 4.0)) text-anchor="end" { (percent(share)) }
                }
                text x=(Tenths(f64::midpoint(LEFT, right))) y=(Tenths(HEIGHT - 7.0)) text-anchor="middle" { (safe(axis)) }
            } "\n"
        }
    }

    /// Isolated samples are islands: no line along the axis connects them.
    pub(super) fn curve(&self, curve: &Curve, steps: &[CurveStep]) -> Markup {
        let base = HEIGHT - BOTTOM;
        let mut path = String::new();
        let mut is_open = false;
        for (from, to, share) in steps {
            let (left, right, top) = (self.x(*from), self.x(*to), self.y(*share));
            match (*share > 0.0, is_open) {
                (true, false) => drop(write!(path, "M{left:.1} {base:.1}V{top:.1}H{right:.1}")),
                (true, true) => drop(write!(path, "V{top:.1}H{right:.1}")),
                (false, true) => drop(write!(path, "V{base:.1}")),
                (false, false) => {}
            }
            is_open = *share > 0.0;
        }
        if is_open {
            let _ = write!(path, "V{base:.1}");
        }
        let name = safe(&curve.name);
        html! {
            path class={ "curve k" (curve.number) } data-name=(name) d=(path) { title { (name) } } "\n"
        }
    }

    /// A flag at the largest sample of a curve, lower for later rows; none beyond the end of the scale. The script moves it
    /// separately, because its letters must not be stretched with the curves.
    pub(super) fn flag(&self, curve: &Curve, row: usize) -> Markup {
        let Some(worst_ns) = curve.worst_ns.filter(|worst| exact(*worst) <= self.end()) else {
            return Markup::default();
        };
        let x = self.x(exact(worst_ns));
        #[allow(clippy::cast_precision_loss)]
        let y = TOP + 16.0 + FLAG * row as f64;
        let (anchor, shift) = match x > f64::midpoint(LEFT, WIDTH - RIGHT) {
            true => ("end", -6.0),
            false => ("start", 6.0),
        };
        html! {
            g class={ "flag k" (curve.number) } data-at=(Tenths(x)) transform={ "translate(" (Tenths(x)) " 0)" } {
                line y1=(Tenths(y - 12.0)) y2=(Tenths(HEIGHT - BOTTOM)) {}
                text x=(shift) y=(Tenths(y)) text-anchor=(anchor) { (safe(&curve.name)) ": worst " (unit(&time(worst_ns))) }
            } "\n"
        }
    }

    /// The longest time within the scale.
    fn end(&self) -> f64 {
        match self.scale {
            Scale::Logarithmic => 10_f64.powf(self.right),
            Scale::Linear(_) => self.right,
        }
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten, as the end of a scale.
pub(crate) fn round(value: f64) -> f64 {
    let decade = 10_f64.powf(value.max(f64::MIN_POSITIVE).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps
        .into_iter()
        .find(|step| *step >= value * 0.999_999)
        .unwrap_or(value)
}

#[allow(clippy::cast_precision_loss)]
fn exact(ns: u64) -> f64 {
    ns as f64
}

/// A share as text: `0.01 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        0.0 => "0".to_owned(),
        1.0.. => format!("{percent:.1}"),
        _ => format!("{percent:.7}"),
    };
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}\u{a0}%")
}
