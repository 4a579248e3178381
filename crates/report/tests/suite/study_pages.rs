//! The page of a study: every cell is drawn and in the table, every difference is listed, hostile names stay text, and
//! missing parts are reported.

use crate::support::models::measurement;
use compare::{RunSet, SetComparison, compared};
use formats::Recording;
use report::study::PairRow;
use report::{STUDY_FORMS, StudyCell, StudyPage};

/// Returns slightly different runs of one cell.
fn cell(centre: u64) -> Vec<Recording> {
    (0..4)
        .map(|run| formats::of_measurement(measurement("latency", centre + run * 10, &[(700_000 + run, 1)])))
        .collect()
}

fn pair(first: &[Recording], other: &[Recording]) -> SetComparison {
    let set = |name: &str, runs: &'_ [Recording]| RunSet {
        name: name.to_owned(),
        runs: runs.to_vec().leak().iter().collect(),
    };
    compared(&set("none-idle", first), &set("strict-idle", other))
}

fn page(cells: &[(&str, &[Recording])], rows: &[PairRow]) -> String {
    written("html", cells, rows)
}

fn written(form: &str, cells: &[(&str, &[Recording])], rows: &[PairRow]) -> String {
    let form = STUDY_FORMS.iter().find(|one| one.name == form).unwrap();
    let cells: Vec<StudyCell> = cells
        .iter()
        .map(|(name, runs)| StudyCell {
            name,
            levels: vec![("isolation".to_owned(), (*name).to_owned())],
            runs: runs.iter().collect(),
        })
        .collect();
    (form.write)(&StudyPage {
        name: "results",
        runs_done: cells.iter().map(|cell| cell.runs.len()).sum(),
        runs: 12,
        cells: &cells,
        rows,
        json: Some(b"{}"),
        json_name: "study.json",
    })
}

fn row<'a>(with: &'a [(String, String)], compared: &'a SetComparison) -> PairRow<'a> {
    PairRow {
        axis: "isolation",
        from: "none",
        to: "strict",
        with,
        compared,
        apart_mc: None,
    }
}

#[test]
fn every_cell_is_drawn_and_listed_and_every_difference_is_reported() {
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
    // Twice in drawings and once in the table. The cell without a run is in neither.
    for curve in ["class=\"curve k0\"", "class=\"curve k1\""] {
        assert_eq!(page.matches(curve).count(), 2, "{curve}");
    }
    assert!(!page.contains("class=\"curve k2\""));
    assert!(
        page.contains("<th scope=\"row\">&lt;b&gt;strict&lt;/b&gt;</th><td class=\"n\">4</td>"),
        "{page}"
    );
    assert!(
        !page.contains("<b>strict") && page.matches("<script").count() == 1,
        "{page}"
    );
    let samples: u64 = quick
        .iter()
        .flat_map(|run| &run.series)
        .filter_map(|series| series.samples())
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
fn the_table_has_every_cell_even_of_many() {
    let runs = cell(3_000);
    let names: Vec<String> = (0..40).map(|number| format!("cell-{number}")).collect();
    let cells: Vec<(&str, &[Recording])> = names.iter().map(|name| (name.as_str(), runs.as_slice())).collect();
    let page = page(&cells, &[]);
    assert!(page.contains("The drawing shows the first 12 cells of 40."), "{page}");
    assert_eq!(page.matches("<th scope=\"row\">cell-").count(), 40);
    assert_eq!(page.matches("class=\"curve ").count(), 24);
}

/// Markdown contains every cell, and escapes names that are markup elsewhere.
#[test]
fn markdown_has_the_tables_of_the_page() {
    let (slow, quick) = (cell(9_000), cell(3_000));
    let with = [("load".to_owned(), "a|b".to_owned())];
    let compared = pair(&slow, &quick);
    let cells: [(&str, &[Recording]); 3] = [("none_idle", &slow), ("<b>|`x`", &quick), ("empty", &[])];
    let rows = [row(&with, &compared)];
    let text = written("markdown", &cells, &rows);
    let head = "| cell | runs | samples | min | p50 | p99 | p99.9 | max of each run |\n| --- | ---: |";
    assert!(text.contains(head), "{text}");
    assert!(text.contains("\n| none\\_idle | 4 | "), "{text}");
    assert!(text.contains("\n| &lt;b&gt;\\|\\`x\\` | 4 | "), "{text}");
    assert!(!text.contains("| empty |"));
    assert!(
        text.contains("### isolation: none -&gt; strict, with load a\\|b (4 runs and 4 runs)\n"),
        "{text}"
    );
    let page = written("html", &cells, &rows);
    for (word, class) in [("better", "good"), ("not shown", "small")] {
        let there = page.matches(&format!("<td class=\"{class}\">{word}</td>")).count();
        assert_eq!(
            text.matches(&format!("\n| {word} | CPU ")).count(),
            there,
            "{word}: {text}"
        );
    }
    assert!(
        text.contains("\n| kernel | ") && text.contains("\n| began | "),
        "{text}"
    );
    // Every row of a table has as many columns as its head.
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut wanted = 0;
    for line in text.lines() {
        match line.starts_with('|') {
            false => wanted = 0,
            true if wanted == 0 => wanted = columns(line),
            true => assert_eq!(columns(line), wanted, "{line}"),
        }
    }
}

#[test]
fn the_csv_table_has_every_number_of_every_run() {
    let (slow, quick) = (cell(9_000), cell(3_000));
    let text = written("csv", &[("none", &slow), ("a,\"b\"", &quick), ("=1+1", &quick)], &[]);
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("cell,isolation,run,began,kind,thread,basis,number,value,unit")
    );
    let medians: Vec<&str> = lines.filter(|line| line.contains(",samples,p50,")).collect();
    assert_eq!(medians.len(), 12, "{text}");
    for (place, run) in slow.iter().enumerate() {
        let series = &run.series[0];
        let (p50, _) = compare::value(series, compare::Number::Quantile(0.5)).unwrap();
        let wanted = format!("{},samples,p50,{p50},ns", run.name_of(series));
        assert!(medians[place].ends_with(&wanted), "{} {wanted}", medians[place]);
        let start = format!("none,none,{},", place + 1);
        assert!(medians[place].starts_with(&start), "{}", medians[place]);
    }
    assert!(
        medians[4].starts_with("\"a,\"\"b\"\"\",\"a,\"\"b\"\"\",1,"),
        "{}",
        medians[4]
    );
    assert!(medians[8].starts_with("'=1+1,"), "no formula: {}", medians[8]);
}

#[test]
fn the_gnuplot_script_has_every_sample_and_the_share_above_it() {
    let quick = cell(3_000);
    let text = written("gnuplot", &[("it's", &quick), ("empty", &[])], &[]);
    let block = text.split("$latency0 << EOD\n").nth(1).unwrap();
    let block = block.split("EOD\n").next().unwrap();
    let rows: Vec<Vec<f64>> = block
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    let samples: u64 = quick.iter().filter_map(|run| run.series[0].samples()).sum();
    let counted: f64 = rows.iter().map(|row| row[1]).sum();
    assert_eq!(counted as u64, samples);
    let (last, rest) = rows.split_last().unwrap();
    assert!(last[2].is_nan(), "nothing was longer than the longest");
    assert!(rest.windows(2).all(|two| two[0][2] > two[1][2]), "{block}");
    assert!((rest[0][2] - (1.0 - rest[0][1] / samples as f64)).abs() < 1e-9);
    let bins = text.split("$latency0_bins << EOD\n").nth(1).unwrap();
    let bins = bins.split("EOD\n").next().unwrap().lines();
    let shares: f64 = bins
        .map(|line| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    assert!(text.contains("title 'it''s, 4 runs'"), "{text}");
    assert!(!text.contains("$latency1"));
    let nothing = written("gnuplot", &[("empty", &[])], &[]);
    assert!(!nothing.contains("plot $"), "{nothing}");
}
