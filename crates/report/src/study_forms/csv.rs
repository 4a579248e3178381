//! Exports a study as a table for other programs: one line per number that a run reports for a thread.
//!
//! The format is long, not wide, so that runs with different numbers fit into one table, and readers can group by any column.

use crate::recording::sets::name;
use crate::study_page::StudyPage;
use compare::{Number, numbers, value};
use formats::{Basis, Recording, Series, SeriesKind};
use std::fmt::Write as _;

/// The columns before and after those of the axes.
const COLUMNS: [&[&str]; 2] = [
    &["cell"],
    &["run", "began", "kind", "thread", "basis", "number", "value", "unit"],
];

/// Writes the table. Missing numbers have no line.
pub(super) fn write(study: &StudyPage) -> String {
    let axes: Vec<&str> = study.cells.first().map_or_else(Vec::new, |cell| {
        cell.levels.iter().map(|(axis, _)| axis.as_str()).collect()
    });
    let [first, last] = COLUMNS;
    let head: Vec<String> = first.iter().chain(&axes).chain(last).map(|name| quoted(name)).collect();
    let mut text = format!("{}\n", head.join(","));
    for cell in study.cells {
        let levels: Vec<String> = cell
            .levels
            .iter()
            .map(|(_, level)| format!("{},", quoted(level)))
            .collect();
        for (place, run) in cell.runs.iter().enumerate() {
            let started_at = run.started_at.as_deref().unwrap_or_default();
            let start = format!(
                "{},{}{},{}",
                quoted(cell.name),
                levels.concat(),
                place + 1,
                quoted(started_at)
            );
            lines(&mut text, &start, run);
        }
    }
    text
}

fn lines(text: &mut String, start: &str, run: &Recording) {
    for series in &run.series {
        let kind = match series.kind {
            SeriesKind::Latency => "latency",
            SeriesKind::Noise => "noise",
        };
        let thread = quoted(&run.name_of(series));
        for (basis, of) in [
            (Basis::Samples, Some(series)),
            (Basis::Schedule, series.by(Basis::Schedule)),
        ] {
            for (number, value, unit) in of.map(series_numbers).unwrap_or_default() {
                let number = quoted(&number);
                let _ = writeln!(text, "{start},{kind},{thread},{},{number},{value},{unit}", basis.name());
            }
        }
    }
}

/// Name, value and unit of all numbers of a series.
fn series_numbers(series: &Series) -> Vec<(String, f64, &'static str)> {
    #[allow(clippy::cast_precision_loss)] // Counts and nanoseconds of runs are far below 2^53.
    let whole =
        |name: &str, value: Option<u64>, unit: &'static str| value.map(|value| (name.to_owned(), value as f64, unit));
    let counted = [
        whole("samples", series.samples(), ""),
        whole("missed", series.missed, ""),
        whole("min", series.stated.min_ns, "ns"),
        whole("max", series.stated.max_ns, "ns"),
    ];
    let quantities = numbers(series.kind).into_iter().filter_map(|number| {
        let unit = match number {
            Number::Quantile(_) => "ns",
            Number::Stolen => "ns/s",
            Number::Rate(_) => "1/s",
        };
        value(series, number).map(|(value, _)| (name(number), value, unit))
    });
    counted.into_iter().flatten().chain(quantities).collect()
}

/// A field as in RFC 4180. Formulas are disarmed, because spreadsheets run them.
fn quoted(field: &str) -> String {
    let field = crate::style::safe(field);
    let field = match field.starts_with(['=', '+', '-', '@']) {
        true => format!("'{field}"),
        false => field,
    };
    match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}
