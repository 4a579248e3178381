//! Histograms of many measurements as curves over each other, on logarithmic scales for what is seldom and on linear ones for
//! what is common. Which curves are shown is the page's own style and its boxes to tick; only zoom and values need the script
//! `zoom.js`, which reads from the drawing how it is divided.

use super::escape::{html, unit};
use crate::bins::logarithmic;
use crate::measurement::time;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;

/// Bins per power of ten on the logarithmic scale.
const PER_DECADE: u32 = 20;
/// Bins of the linear scale.
const BINS: u64 = 160;
/// Powers of ten that the share of samples spans at most.
const DECADES: u32 = 9;

/// One of them.
pub(crate) struct Curve<'a> {
    /// Its number: the class of its style is `k` with it.
    pub number: usize,
    /// Shown by a pointer that rests on it.
    pub name: &'a str,
    /// Exact buckets in ascending order: the lowest value in nanoseconds, and how many samples.
    pub histogram: &'a [(u64, u64)],
}

impl Curve<'_> {
    fn samples(&self) -> u64 {
        self.histogram
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// How a drawing is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Both directions by powers of ten: one late sample among millions is seen.
    Logarithmic,
    /// Both evenly, up to so many nanoseconds: shapes as they are. What is above is in no bin.
    Linear(u64),
}

/// A part of a curve: from, to (nanoseconds), and the share of the samples that is in it.
type Step = (f64, f64, f64);

/// Draws them, as a figure that can be zoomed; `None` where there is no sample. `id` is the only one of its name on the page.
pub(crate) fn curves(
    id: &str,
    class: &str,
    title: &str,
    axis: &str,
    scale: Scale,
    all: &[Curve],
) -> Option<String> {
    let steps: Vec<Vec<Step>> = all.iter().map(|curve| steps(curve, scale)).collect();
    let seen = || steps.iter().flatten().filter(|step| step.2 > 0.0);
    let least = |from: fn(&Step) -> f64| seen().map(from).fold(f64::INFINITY, f64::min);
    let most = |from: fn(&Step) -> f64| seen().map(from).fold(0.0, f64::max);
    seen().next()?;
    let plot = Plot::over(
        scale,
        least(|step| step.0),
        most(|step| step.1),
        least(|step| step.2),
        most(|step| step.2),
    );
    let mut svg = format!("<figure class=\"{class} plot\">\n");
    plot.open(&mut svg, id, title);
    plot.grid(&mut svg, axis);
    // Whoever zooms moves the curves; what is outside of the plot is cut off.
    let _ = writeln!(
        svg,
        "<clipPath id=\"{id}-c\"><rect x=\"{LEFT}\" y=\"0\" width=\"{}\" height=\"{}\"/></clipPath>\
         <g clip-path=\"url(#{id}-c)\"><g class=\"moved\">",
        WIDTH - LEFT - RIGHT,
        HEIGHT - BOTTOM + 2.0
    );
    for (curve, steps) in all.iter().zip(&steps) {
        plot.curve(&mut svg, curve, steps);
    }
    svg.push_str("</g></g></svg>\n");
    svg.push_str(CONTROLS);
    svg.push_str("</figure>\n");
    Some(svg)
}

/// What zooms; shown by the script alone, because nothing else could.
const CONTROLS: &str = "<div class=\"zoom\" role=\"group\" aria-label=\"zoom\" hidden>\
<button type=\"button\" data-do=\"in\">zoom in <kbd>+</kbd></button>\
<button type=\"button\" data-do=\"out\">zoom out <kbd>-</kbd></button>\
<button type=\"button\" data-do=\"earlier\">shorter <kbd>shift \u{2190}</kbd></button>\
<button type=\"button\" data-do=\"later\">longer <kbd>shift \u{2192}</kbd></button>\
<button type=\"button\" data-do=\"all\">show all <kbd>0</kbd></button>\
<output></output><p class=\"small\">Or drag over what shall fill the drawing. The arrow keys read the curves.</p>\
<p class=\"values\" aria-live=\"polite\"></p></div>\n";

#[allow(clippy::cast_precision_loss)] // A drawing needs no more.
fn steps(curve: &Curve, scale: Scale) -> Vec<Step> {
    let samples = curve.samples().max(1) as f64;
    match scale {
        Scale::Logarithmic => logarithmic(curve.histogram, PER_DECADE)
            .iter()
            .map(|bin| (bin.low_ns as f64, bin.high_ns as f64, bin.count as f64 / samples))
            .collect(),
        Scale::Linear(top_ns) => {
            let width = (top_ns / BINS).max(1);
            let mut steps: Vec<Step> = (0..BINS)
                .map(|bin| ((bin * width) as f64, ((bin + 1) * width) as f64, 0.0))
                .collect();
            for (low_ns, count) in curve.histogram {
                let place = usize::try_from(low_ns / width).unwrap_or(usize::MAX);
                if let Some(step) = steps.get_mut(place) {
                    step.2 += *count as f64 / samples;
                }
            }
            steps
        }
    }
}

struct Plot {
    scale: Scale,
    left: f64,
    right: f64,
    low: f64,
    high: f64,
}

impl Plot {
    fn over(scale: Scale, left: f64, right: f64, low: f64, high: f64) -> Plot {
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
                    low: low.log10().floor().clamp(high - f64::from(DECADES), high - 1.0),
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

    /// Where lines stand: times in nanoseconds, and shares.
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

    /// The drawing's head: what the script has to know of its scales stands in it.
    fn open(&self, svg: &mut String, id: &str, title: &str) {
        let scale = match self.scale {
            Scale::Logarithmic => "log",
            Scale::Linear(_) => "lin",
        };
        let _ = writeln!(
            svg,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t\" data-scale=\"{scale}\" \
             data-left=\"{LEFT}\" data-right=\"{}\" data-top=\"{TOP}\" data-base=\"{}\" data-from=\"{}\" data-to=\"{}\" \
             data-low=\"{}\" data-high=\"{}\"><title id=\"{id}-t\">{}</title>",
            WIDTH - RIGHT,
            HEIGHT - BOTTOM,
            self.left,
            self.right,
            self.low,
            self.high,
            html(title)
        );
    }

    fn grid(&self, svg: &mut String, axis: &str) {
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
                base + 19.0,
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

    /// Samples that stand alone are islands: no line along the axis leads to them.
    fn curve(&self, svg: &mut String, curve: &Curve, steps: &[Step]) {
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
            name = html(curve.name)
        );
    }
}

/// The first of 1, 2 and 5 with any power of ten that is not below it: what a scale may end with.
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

/// A share for people: `0.01 %`.
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

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &[(u64, u64)] = &[(1_000, 500), (2_000, 499), (90_000, 1)];

    fn drawn(scale: Scale) -> String {
        let curve = |number, name, histogram| Curve {
            number,
            name,
            histogram,
        };
        let all = [curve(0, "<none>", COMMON), curve(1, "strict", &COMMON[..1])];
        curves("a", "logs", "all & everything", "late", scale, &all).unwrap()
    }

    /// The outline of the first curve.
    fn first_path(svg: &str) -> &str {
        let (_, curve) = svg.split_once("<path class=\"curve k0\"").unwrap();
        let (_, outline) = curve.split_once(" d=\"").unwrap();
        outline.split('"').next().unwrap()
    }

    #[test]
    fn a_single_late_sample_is_an_island_of_the_logarithmic_drawing() {
        let svg = drawn(Scale::Logarithmic);
        let path = first_path(&svg);
        assert_eq!(path.matches('M').count(), 3, "{path}");
        assert!(svg.contains("<title>&lt;none&gt;</title>") && svg.contains("all &amp; everything"));
        assert!(
            svg.contains(">0.1\u{a0}%<") && svg.contains(">100\u{a0}%<"),
            "{svg}"
        );
    }

    #[test]
    fn the_linear_drawing_ends_where_it_is_told_to() {
        let svg = drawn(Scale::Linear(4_000));
        let path = first_path(&svg);
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(svg.contains(">4\u{a0}µs<"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let none = Curve {
            number: 0,
            name: "none",
            histogram: &[],
        };
        for scale in [Scale::Logarithmic, Scale::Linear(1_000), Scale::Linear(0)] {
            assert_eq!(
                curves("a", "x", "b", "c", scale, std::slice::from_ref(&none)),
                None
            );
        }
        // Values at both ends of what there is.
        let ends = [(0, 1), (u64::MAX - 1, u64::MAX / 2)];
        let wide = Curve {
            histogram: &ends,
            ..none
        };
        for scale in [Scale::Logarithmic, Scale::Linear(u64::MAX)] {
            let svg = curves("a", "x", "b", "c", scale, std::slice::from_ref(&wide)).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
