//! The page of a study: every cell is in the table and drawn, every difference is told, hostile names stay text, and what is
//! missing is said.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)] // Other pages need more of them.
mod models;

use compare::{Compared, Set, compared};
use formats::Recording;
use models::measurement;
use report::study::Row;
use report::{StudyPage, study_html};

/// Runs of one cell, each a little different.
fn cell(centre: u64) -> Vec<Recording> {
    (0..4)
        .map(|run| formats::of_measurement(measurement("latency", centre + run * 10, &[(700_000 + run, 1)])))
        .collect()
}

fn pair(first: &[Recording], other: &[Recording]) -> Compared {
    let set = |name: &str, runs: &'_ [Recording]| Set {
        name: name.to_owned(),
        runs: runs.to_vec().leak().iter().collect(),
    };
    compared(&set("none-idle", first), &set("strict-idle", other))
}

fn page(cells: &[(&str, &[Recording])], rows: &[Row]) -> String {
    study_html(&StudyPage {
        name: "results",
        done: cells.iter().map(|cell| cell.1.len()).sum(),
        runs: 12,
        cells,
        rows,
        json: Some(b"{}"),
        json_name: "study.json",
    })
}

fn row<'a>(with: &'a [(String, String)], compared: &'a Compared) -> Row<'a> {
    Row {
        axis: "isolation",
        from: "none",
        to: "strict",
        with,
        compared,
    }
}

#[test]
fn every_cell_is_drawn_and_in_the_table_and_every_difference_told() {
    let (slow, quick) = (cell(9_000), cell(3_000));
    let with = [("load".to_owned(), "<script>".to_owned())];
    let compared = pair(&slow, &quick);
    let page = page(
        &[("none-idle", &slow), ("<b>strict</b>", &quick), ("empty", &[])],
        &[row(&with, &compared)],
    );
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(
        page.contains("A difference is shown in 1 of 1 pairs of cells"),
        "{page}"
    );
    assert!(page.contains("8 of 12 runs in 3 cells are done"), "{page}");
    // Twice in drawings and once in the table; the cell without a run is in neither.
    for curve in ["class=\"curve k0\"", "class=\"curve k1\""] {
        assert_eq!(page.matches(curve).count(), 2, "{curve}");
    }
    assert!(!page.contains("class=\"curve k2\""));
    assert!(
        page.contains("<th scope=\"row\">&lt;b&gt;strict&lt;/b&gt;</th><td class=\"n\">4</td>"),
        "{page}"
    );
    assert!(!page.contains("<b>strict") && !page.contains("<script"), "{page}");
    let samples: u64 = quick
        .iter()
        .flat_map(|run| &run.series)
        .map(|series| series.samples())
        .sum();
    assert!(samples > 500_000);
    let samples = samples.to_string();
    let (thousands, rest) = samples.split_at(samples.len() - 3);
    assert!(page.contains(&format!("{thousands},{rest}")), "{samples}");
    assert_eq!(
        page.matches("<td class=\"good\">better</td>").count(),
        compared
            .answers
            .iter()
            .filter(|(_, answer)| answer.difference < 0.0 && answer.p <= 0.05)
            .count(),
        "{page}"
    );
    assert!(
        page.contains("<td class=\"good\">better</td><td>CPU 1</td><td>p50</td>"),
        "{page}"
    );
    assert!(page.contains("max of each run") && page.contains("700"), "{page}");
}

#[test]
fn too_few_runs_and_emulated_ones_have_no_verdict() {
    let runs = cell(3_000);
    let few = pair(&runs[..1], &runs[1..2]);
    let text = page(&[("none-idle", &runs[..1])], &[row(&[], &few)]);
    assert!(
        text.contains("No verdict yet") && text.contains("<p class=\"care\">No verdict.</p>"),
        "{text}"
    );
    assert!(!text.contains("class=\"stamp\""));
    let mut emulated = runs.clone();
    for run in &mut emulated {
        run.own.as_mut().unwrap().environment.emulated = true;
    }
    let compared = pair(&emulated, &emulated);
    let text = page(&[("none-idle", &emulated)], &[row(&[], &compared)]);
    assert!(
        text.contains("class=\"stamp\"") && text.contains("No verdict: emulated."),
        "{text}"
    );
    let nothing = page(&[("none-idle", &[])], &[]);
    assert!(
        nothing.contains("No two cells can be compared yet") && nothing.ends_with("</html>\n"),
        "{nothing}"
    );
}

#[test]
fn of_many_cells_the_table_has_all() {
    let runs = cell(3_000);
    let names: Vec<String> = (0..40).map(|number| format!("cell-{number}")).collect();
    let cells: Vec<(&str, &[Recording])> = names
        .iter()
        .map(|name| (name.as_str(), runs.as_slice()))
        .collect();
    let page = page(&cells, &[]);
    assert!(page.contains("Drawn are the first 12 cells of 40."), "{page}");
    assert_eq!(page.matches("<th scope=\"row\">cell-").count(), 40);
    assert_eq!(page.matches("class=\"curve ").count(), 24);
}
