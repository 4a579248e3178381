//! Provides the plane for curves: its scales, its grid, and the position of each element.

use super::{Curve, Scale, Step};
use crate::page::escape::{html, unit};
use crate::units::time;
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
                    low: (low.log10() - 0.2)
                        .floor()
                        .clamp(high - f64::from(DECADES), high - 1.0),
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

    /// Starts the group that zooming moves; it is clipped to the plane.
    pub(super) fn open_moved(&self, svg: &mut String, id: &str) {
        let _ = writeln!(
            svg,
            "<clipPath id=\"{id}-c\"><rect x=\"{LEFT}\" y=\"0\" width=\"{}\" height=\"{}\"/></clipPath>\
             <g clip-path=\"url(#{id}-c)\"><g class=\"moved\">",
            WIDTH - LEFT - RIGHT,
            HEIGHT - BOTTOM + 2.0
        );
    }

    /// The start of the drawing, with the scale data for the script.
    pub(super) fn open(&self, svg: &mut String, id: &str, title: &str) {
        let scale = match self.scale {
            Scale::Logarithmic => "log",
            Scale::Linear(_) => "lin",
        };
        let _ = writeln!(
            svg,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t\" data-scale=\"{scale}\" \
             data-left=\"{LEFT}\" data-right=\"{}\" data-top=\"{TOP}\" data-base=\"{}\" data-labels=\"{}\" data-from=\"{}\" data-to=\"{}\" \
             data-low=\"{}\" data-high=\"{}\"><title id=\"{id}-t\">{}</title>",
            WIDTH - RIGHT,
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + LABELS,
            self.left,
            self.right,
            self.low,
            self.high,
            html(title)
        );
    }

    pub(super) fn grid(&self, svg: &mut String, axis: &str) {
        let (times, shares) = self.marks();
        let base = HEIGHT - BOTTOM;
        svg.push_str("<g class=\"grid\">");
        for y in shares.iter().map(|share| self.y(*share)) {
            let right = WIDTH - RIGHT;
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"
            );
        }
        svg.push_str("</g><g class=\"grid times\">");
        for ns in times {
            let x = self.x(exact(ns));
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{base}\"/>"
            );
            let anchor = if x > WIDTH - RIGHT - 24.0 { "end" } else { "middle" };
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                base + LABELS,
                unit(&time(ns))
            );
        }
        svg.push_str("</g><g class=\"tick\">");
        for share in shares {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                self.y(share) + 4.0,
                percent(share)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 7.0,
            html(axis)
        );
    }

    /// Isolated samples are islands: no line along the axis connects them.
    pub(super) fn curve(&self, svg: &mut String, curve: &Curve, steps: &[Step]) {
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
        let _ = writeln!(
            svg,
            "<path class=\"curve k{}\" data-name=\"{name}\" d=\"{path}\"><title>{name}</title></path>",
            curve.number,
            name = html(&curve.name)
        );
    }

    /// A flag at the largest sample of a curve, lower for later rows; none beyond the end of the scale. The script moves it
    /// separately, because its letters must not be stretched with the curves.
    pub(super) fn flag(&self, svg: &mut String, curve: &Curve, row: usize) {
        let Some(worst_ns) = curve.worst_ns.filter(|worst| exact(*worst) <= self.end()) else {
            return;
        };
        let x = self.x(exact(worst_ns));
        #[allow(clippy::cast_precision_loss)]
        let y = TOP + 16.0 + FLAG * row as f64;
        let (anchor, shift) = match x > f64::midpoint(LEFT, WIDTH - RIGHT) {
            true => ("end", -6.0),
            false => ("start", 6.0),
        };
        let _ = writeln!(
            svg,
            "<g class=\"flag k{}\" data-at=\"{x:.1}\" transform=\"translate({x:.1} 0)\"><line y1=\"{:.1}\" y2=\"{:.1}\"/>\
             <text x=\"{shift}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}: worst {}</text></g>",
            curve.number,
            y - 12.0,
            HEIGHT - BOTTOM,
            html(&curve.name),
            unit(&time(worst_ns))
        );
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
