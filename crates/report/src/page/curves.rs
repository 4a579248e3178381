//! Draws histograms as overlaid curves, on logarithmic scales for rare values and on linear ones for common values. CSS and
//! checkboxes select the curves; only zoom and values need the script `zoom.js`, which reads the scales from the drawing.

mod plot;

use crate::bins::logarithmic;
use maud::{Markup, html};
use plot::Plot;

pub(crate) use plot::round;

/// Bins per power of ten on the logarithmic scale.
const PER_DECADE: u32 = 20;
/// Bins of the linear scale.
const BINS: u64 = 160;

/// One curve.
pub(crate) struct Curve {
    /// Its number: the class of its style is `k` plus this.
    pub number: usize,
    /// Its name, also as a tooltip.
    pub name: String,
    /// An addition in the legend; may be empty.
    pub note: String,
    /// Exact buckets in ascending order: lowest value in nanoseconds, number of samples.
    pub histogram: Vec<(u64, u64)>,
    /// A largest sample to mark with a flag.
    pub worst_ns: Option<u64>,
}

impl Curve {
    /// Number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.histogram
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// The scale of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Both axes logarithmic: one late sample among millions is visible.
    Logarithmic,
    /// Both axes linear, up to this many nanoseconds: true shapes. Larger values are in no bin.
    Linear(u64),
}

impl Scale {
    /// The class of its drawings in the page's style.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Scale::Logarithmic => "logs",
            Scale::Linear(_) => "lins",
        }
    }
}

/// A part of a curve: from, to (nanoseconds), and its share of the samples.
type CurveStep = (f64, f64, f64);

/// Draws the curves, as a figure that can be zoomed; `None` without samples. `id` must be unique on the page.
pub(crate) fn curves(id: &str, title: &str, axis: &str, scale: Scale, all: &[Curve]) -> Option<Markup> {
    let steps: Vec<Vec<CurveStep>> = all.iter().map(|curve| steps(curve, scale)).collect();
    let seen = || steps.iter().flatten().filter(|step| step.2 > 0.0);
    let least = |from: fn(&CurveStep) -> f64| seen().map(from).fold(f64::INFINITY, f64::min);
    let most = |from: fn(&CurveStep) -> f64| seen().map(from).fold(0.0, f64::max);
    seen().next()?;
    #[allow(clippy::cast_precision_loss)]
    let worst = all.iter().filter_map(|curve| curve.worst_ns).max().unwrap_or(0) as f64;
    let plot = Plot::over(
        scale,
        least(|step| step.0),
        most(|step| step.1).max(worst),
        least(|step| step.2),
        most(|step| step.2),
    );
    let flagged = || all.iter().filter(|curve| curve.worst_ns.is_some()).enumerate();
    let content = html! {
        (plot.grid(axis))
        (plot.moved(id, &html! {
            @for (curve, steps) in all.iter().zip(&steps) { (plot.curve(curve, steps)) }
        }))
        @for (row, curve) in flagged() { (plot.flag(curve, row)) }
    };
    Some(html! {
        figure class={ (scale.class()) " plot" } id=(id) { "\n"
            (plot.drawing(id, title, &content))
            (controls())
        } "\n"
    })
}

/// Zoom controls; only the script shows them, because they need it.
fn controls() -> Markup {
    html! {
        div.zoom role="group" aria-label="zoom" hidden {
            button type="button" data-do="in" { "zoom in " kbd { "+" } }
            button type="button" data-do="out" { "zoom out " kbd { "-" } }
            button type="button" data-do="earlier" { "shorter " kbd { "shift \u{2190}" } }
            button type="button" data-do="later" { "longer " kbd { "shift \u{2192}" } }
            button type="button" data-do="all" { "show all " kbd { "0" } }
            output {}
            p.small { "Or drag over the part that you want to see. The arrow keys read the curves." }
            p.values aria-live="polite" {}
        } "\n"
    }
}

#[allow(clippy::cast_precision_loss)] // A drawing needs no more.
fn steps(curve: &Curve, scale: Scale) -> Vec<CurveStep> {
    let samples = curve.samples().max(1) as f64;
    match scale {
        Scale::Logarithmic => logarithmic(&curve.histogram, PER_DECADE)
            .iter()
            .map(|bin| (bin.low_ns as f64, bin.high_ns as f64, bin.count as f64 / samples))
            .collect(),
        Scale::Linear(top_ns) => {
            let width = (top_ns / BINS).max(1);
            let mut steps: Vec<CurveStep> = (0..BINS)
                .map(|bin| ((bin * width) as f64, ((bin + 1) * width) as f64, 0.0))
                .collect();
            for (low_ns, count) in &curve.histogram {
                let place = usize::try_from(low_ns / width).unwrap_or(usize::MAX);
                if let Some(step) = steps.get_mut(place) {
                    step.2 += *count as f64 / samples;
                }
            }
            steps
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &[(u64, u64)] = &[(1_000, 500), (2_000, 499), (90_000, 1)];

    fn curve(number: usize, name: &str, histogram: &[(u64, u64)]) -> Curve {
        Curve {
            number,
            name: name.to_owned(),
            note: String::new(),
            histogram: histogram.to_vec(),
            worst_ns: None,
        }
    }

    fn drawn(scale: Scale) -> String {
        let flagged = Curve {
            worst_ns: Some(90_123),
            ..curve(0, "<none>", COMMON)
        };
        let all = [flagged, curve(1, "strict", &COMMON[..1])];
        curves("a", "all & everything", "late", scale, &all)
            .unwrap()
            .into_string()
    }

    /// The outline of the first curve.
    fn first_path(svg: &str) -> &str {
        let (_, curve) = svg.split_once("<path class=\"curve k0\"").unwrap();
        let (_, outline) = curve.split_once(" d=\"").unwrap();
        outline.split('"').next().unwrap()
    }

    #[test]
    fn a_single_late_sample_is_a_separate_part_of_the_curve() {
        let svg = drawn(Scale::Logarithmic);
        let path = first_path(&svg);
        assert_eq!(path.matches('M').count(), 3, "{path}");
        assert!(svg.contains("<title>&lt;none&gt;</title>") && svg.contains("all &amp; everything"));
        assert!(svg.contains(">0.1\u{a0}%<") && svg.contains(">100\u{a0}%<"), "{svg}");
    }

    #[test]
    fn the_linear_scale_ends_at_the_given_value() {
        let svg = drawn(Scale::Linear(4_000));
        let path = first_path(&svg);
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(svg.contains(">4\u{a0}µs<"), "{svg}");
    }

    #[test]
    fn the_worst_value_has_a_flag_if_the_scale_reaches_it() {
        let far = drawn(Scale::Logarithmic);
        assert!(far.contains(">&lt;none&gt;: worst 90.1\u{a0}µs<"), "{far}");
        assert_eq!(far.matches("class=\"flag k0\"").count(), 1);
        assert!(!drawn(Scale::Linear(4_000)).contains("class=\"flag"));
    }

    #[test]
    fn empty_curves_are_not_drawn() {
        let none = curve(0, "none", &[]);
        for scale in [Scale::Logarithmic, Scale::Linear(1_000), Scale::Linear(0)] {
            assert!(curves("a", "b", "c", scale, std::slice::from_ref(&none)).is_none());
        }
        // Values at both ends of the range.
        let wide = curve(0, "none", &[(0, 1), (u64::MAX - 1, u64::MAX / 2)]);
        for scale in [Scale::Logarithmic, Scale::Linear(u64::MAX)] {
            let svg = curves("a", "b", "c", scale, std::slice::from_ref(&wide))
                .unwrap()
                .into_string();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
