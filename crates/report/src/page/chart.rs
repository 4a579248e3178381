//! Histograms of both phases in one drawing: SVG written by hand, logarithmic in both directions, so that one
//! late sample among a million is still seen.

use super::escape::{html, unit};
use crate::bins::{Bin, logarithmic};
use crate::measurement::time;
use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 52.0;

/// Bins per power of ten: fine enough for shape, coarse enough that single samples have a width.
const PER_DECADE: u32 = 24;

/// One phase in the drawing.
pub(crate) struct Series<'a> {
    /// Class of its style: `before` or `during`.
    pub class: &'static str,
    /// Name in the legend.
    pub name: &'static str,
    /// Exact buckets.
    pub histogram: &'a [(u64, u64)],
    /// Largest sample.
    pub worst: Option<u64>,
}

/// Draws the histograms; `None` where there is no sample at all.
pub(crate) fn histograms(
    id: &str,
    title: &str,
    description: &str,
    axis: &str,
    series: &[Series],
) -> Option<String> {
    let bins: Vec<Vec<Bin>> = series
        .iter()
        .map(|series| logarithmic(series.histogram, PER_DECADE))
        .collect();
    let all = || bins.iter().flatten().filter(|bin| bin.count > 0);
    let low = all().map(|bin| bin.low_ns).min()?;
    let high = all()
        .map(|bin| bin.high_ns)
        .max()?
        .max(series.iter().filter_map(|series| series.worst).max().unwrap_or(0));
    let most = all().map(|bin| bin.count).max()?;
    let plot = Plot::over(low, high, most);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n",
        html(title),
        html(description)
    );
    plot.grid(&mut svg, axis);
    for (series, bins) in series.iter().zip(&bins) {
        plot.area(&mut svg, series.class, bins);
    }
    for series in series {
        if let Some(worst) = series.worst {
            plot.worst(&mut svg, series, worst);
        }
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

struct Plot {
    low: f64,
    high: f64,
    top: f64,
}

impl Plot {
    /// Whole decades around the samples.
    #[allow(clippy::cast_precision_loss)]
    fn over(low_ns: u64, high_ns: u64, most: u64) -> Plot {
        let low = (low_ns.max(1) as f64).log10();
        let high = (high_ns.max(2) as f64).log10();
        // Half decades keep the drawing full without cutting the labels of decades away.
        let low = (low * 2.0).floor() / 2.0;
        let high = ((high * 2.0).ceil() / 2.0).max(low + 1.0);
        Plot {
            low,
            high,
            top: (most as f64).log10().ceil().max(1.0),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn x(&self, ns: u64) -> f64 {
        let place = ((ns.max(1) as f64).log10() - self.low) / (self.high - self.low);
        LEFT + place.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// A count of 1 stands a little above the axis, or it would not be seen.
    #[allow(clippy::cast_precision_loss)]
    fn y(&self, count: u64) -> f64 {
        const FLOOR: f64 = 0.6;
        let place = if count == 0 {
            0.0
        } else {
            ((count as f64).log10() + FLOOR) / (self.top + FLOOR)
        };
        HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn grid(&self, svg: &mut String, axis: &str) {
        let base = HEIGHT - BOTTOM;
        svg.push_str("<g class=\"grid\">");
        let (first, last) = (self.low.ceil() as u32, self.high.floor() as u32);
        for decade in first..=last {
            let x = self.x(10_u64.pow(decade.min(19)));
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{base}\"/>"
            );
        }
        for decade in 0..=(self.top as u32) {
            let y = self.y(10_u64.pow(decade.min(19)));
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\"/>",
                WIDTH - RIGHT
            );
        }
        svg.push_str("</g><g class=\"tick\">");
        for decade in first..=last {
            let value = 10_u64.pow(decade.min(19));
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.x(value),
                base + 19.0,
                unit(&time(value))
            );
        }
        for decade in 0..=(self.top as u32) {
            let value = 10_u64.pow(decade.min(19));
            let label = match decade {
                0..=3 => value.to_string(),
                _ => format!("10<tspan dy=\"-5\" font-size=\"70%\">{decade}</tspan>"),
            };
            let y = self.y(value) + 4.0;
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 7.0
            );
        }
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let _ = write!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 7.0,
            html(axis)
        );
        let _ = writeln!(
            svg,
            "<text class=\"side\" transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">samples</text></g>",
            f64::midpoint(TOP, base)
        );
    }

    fn area(&self, svg: &mut String, class: &str, bins: &[Bin]) {
        let base = HEIGHT - BOTTOM;
        let mut path = String::new();
        let mut open = false;
        for bin in bins {
            let (left, right, top) = (self.x(bin.low_ns), self.x(bin.high_ns), self.y(bin.count));
            // Late samples that stand alone are islands: no line along the axis leads to them.
            match (bin.count > 0, open) {
                (true, false) => drop(write!(path, "M{left:.1} {base:.1}V{top:.1}H{right:.1}")),
                (true, true) => drop(write!(path, "V{top:.1}H{right:.1}")),
                (false, true) => drop(write!(path, "V{base:.1}Z")),
                (false, false) => {}
            }
            open = bin.count > 0;
        }
        if open {
            let _ = write!(path, "V{base:.1}Z");
        }
        let _ = writeln!(svg, "<path class=\"area {class}\" d=\"{path}\"/>");
    }

    /// A flag at the largest sample; that of the isolated phase stands lower, so that the two do not collide.
    fn worst(&self, svg: &mut String, series: &Series, worst: u64) {
        let x = self.x(worst);
        let y = if series.class == "before" {
            TOP + 4.0
        } else {
            TOP + 24.0
        };
        let (anchor, shift) = if x > WIDTH * 0.62 {
            ("end", -5.0)
        } else {
            ("start", 5.0)
        };
        let _ = writeln!(
            svg,
            "<line class=\"worst {class}\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{base:.1}\"/>\
             <text class=\"flag {class}\" x=\"{tx:.1}\" y=\"{ty:.1}\" text-anchor=\"{anchor}\">worst {label}</text>",
            class = series.class,
            top = y - 8.0,
            base = HEIGHT - BOTTOM,
            tx = x + shift,
            ty = y + 3.0,
            label = unit(&machine::Nanos(worst).to_string()),
        );
    }
}
