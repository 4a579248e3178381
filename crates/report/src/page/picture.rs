//! Writes a drawing of curves with its controls: scale, curve selection, zoom, values. All pages that compare distributions use
//! the same one, so that readers learn it once.

use super::curves::{Curve, Scale, curves, round};
use super::text::unit;
use crate::style::safe;
use maud::{Markup, html};

/// Style of these drawings.
pub(crate) const STYLE: &str = include_str!("picture.css");

/// The script for zoom and values.
pub(crate) const SCRIPT: &str = include_str!("zoom.js");

/// Maximum number of curves, each with its own colour and dashes.
pub(crate) const CURVES: usize = 12;

/// Content and texts of the drawing.
pub(crate) struct Picture<'a> {
    /// Its id, unique on the page.
    pub id: &'a str,
    /// Description for readers who cannot see it.
    pub title: &'a str,
    /// Meaning of the times.
    pub axis: &'a str,
    /// Meaning of the curves.
    pub legend: &'a str,
    /// At most [`CURVES`], each with a unique number below that.
    pub curves: &'a [Curve],
    /// Upper bound of nearly all samples: the end of the linear scale.
    pub common_ns: Option<u64>,
}

/// The drawing, in both scales.
pub(crate) fn picture(picture: &Picture) -> Markup {
    let Picture { id, title, axis, .. } = picture;
    let drawn = |scale: Scale| {
        let id = format!("{id}-{}", scale.class());
        curves(&id, title, axis, scale, picture.curves)
    };
    let Some(logarithmic) = drawn(Scale::Logarithmic) else {
        return html! { p { "No sample was recorded, so there is nothing to draw." } "\n" };
    };
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // Of a scale.
    let linear = picture
        .common_ns
        .and_then(|top_ns| drawn(Scale::Linear(round(top_ns as f64) as u64)));
    html! {
        div.picture { "\n"
            @if linear.is_some() {
                fieldset.scales {
                    legend { "Scales" }
                    label { input type="radio" name=(id) class="log" checked; " logarithmic" }
                    label { input type="radio" name=(id) class="lin"; " linear" }
                } "\n"
            }
            (legend(picture))
            (logarithmic)
            @if let Some(linear) = linear { (linear) }
        } "\n"
    }
}

/// A checkbox for each curve.
fn legend(picture: &Picture) -> Markup {
    html! {
        fieldset.legend {
            legend { (safe(picture.legend)) }
            @for curve in picture.curves {
                label class={ "k" (curve.number) } {
                    input type="checkbox" class={ "show" (curve.number) } checked; " "
                    svg viewBox="0 0 26 4" aria-hidden="true" { path d="M0 2H26" {} }
                    span {
                        (safe(&curve.name))
                        @if !curve.note.is_empty() { " " small { (unit(&curve.note)) } }
                    }
                }
            }
        } "\n"
    }
}

/// Upper bound of 99 of 100 samples of every curve.
pub(crate) fn common(curves: &[Curve]) -> Option<u64> {
    let of_one = |curve: &Curve| {
        let seldom = curve.samples() / 100;
        let mut above = 0_u64;
        let mut down = curve.histogram.iter().rev();
        down.find_map(|(low_ns, count)| {
            above = above.saturating_add(*count);
            (above > seldom).then(|| low_ns.saturating_add(1))
        })
    };
    curves.iter().filter_map(of_one).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(histograms: &[&[(u64, u64)]]) -> Vec<Curve> {
        let curve = |(number, histogram): (usize, &&[(u64, u64)])| Curve {
            number,
            name: format!("<b>{number}"),
            note: "with <i> 5 us".to_owned(),
            histogram: histogram.to_vec(),
            worst_ns: None,
        };
        histograms.iter().enumerate().map(curve).collect()
    }

    fn drawn(curves: &[Curve], common_ns: Option<u64>) -> String {
        let (id, title, axis, legend) = ("a", "<title>", "late", "Each <cell>");
        picture(&Picture {
            id,
            title,
            axis,
            legend,
            curves,
            common_ns,
        })
        .into_string()
    }

    #[test]
    fn the_common_range_covers_every_curve() {
        assert_eq!(common(&of(&[&[(1_000, 99), (2_000, 1)]])), Some(1_001));
        assert_eq!(common(&of(&[&[(1_000, 98), (2_000, 2)]])), Some(2_001));
        assert_eq!(common(&of(&[&[(1_000, 5)], &[(7, 500)], &[]])), Some(1_001));
        assert_eq!(common(&of(&[&[]])), None);
        assert_eq!(common(&[]), None);
    }

    /// A common value is visible on the linear scale even if the scale ends exactly there.
    #[test]
    fn a_choice_of_scales_needs_both_scales() {
        let curves = of(&[&[(1_000, 5)]]);
        let page = drawn(&curves, common(&curves));
        assert!(page.contains("class=\"lins plot\"") && page.contains("class=\"scales\""));
        for none in [None, Some(0)] {
            let page = drawn(&curves, none);
            assert!(page.contains("class=\"logs plot\"") && !page.contains("class=\"scales\""));
        }
        assert!(drawn(&of(&[&[]]), None).contains("nothing to draw"));
    }

    #[test]
    fn names_and_notes_are_escaped() {
        let page = drawn(&of(&[&[(1_000, 5)]]), None);
        assert!(
            page.contains("&lt;b&gt;0 <small>with &lt;i&gt; 5\u{a0}µs</small>"),
            "{page}"
        );
        assert!(page.contains("Each &lt;cell&gt;") && page.contains("&lt;title&gt;"));
        assert!(!page.contains("<b>") && !page.contains("<i>"));
    }
}
