//! Every text of a model stays text on every page: a page has the same elements with texts that contain markup and with
//! texts that do not.

use crate::support::models::{self, blamed};
use crate::support::predicted;
use crate::support::texts::with_text;
use blame::{FunctionTime, FunctionsReport, GapFunctions, HwlatReport};
use check::{CheckFinding, Intention, IntentionSource};
use compare::RunSet;
use formats::requirement::{Judgement, RequirementOutcome};
use formats::{Basis, Recording};
use measure::Measurement;
use report::study::PairRow;
use report::{
    BlamePage, CheckOutput, ComparePage, ComparedFile, RequirementResult, STUDY_FORMS, StudyCell, StudyPage, Tracers,
    blame_html, check_junit, comparison_html, measurement_html,
};

const HOSTILE: &str = "</title></style><script>alert(1)</script>&\"'\u{1b}";
const ESCAPED: &str = "&lt;/title&gt;&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;'\\u{1b}";

/// A text of the same length as the hostile one, without a meaning in HTML.
fn harmless() -> String {
    "x".repeat(HOSTILE.chars().count())
}

fn everything() -> Measurement {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the names of the elements of a page, in order, with the number of their attributes.
fn elements(page: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '\n']).next().unwrap();
        found.push((name.to_owned(), tag.matches("=\"").count()));
        rest = match name {
            "script" | "style" => &after[after.find(&format!("</{name}>")).expect("its end")..],
            _ => after,
        };
    }
    found
}

/// Renders the page with both texts and compares them. `least` is the minimum number of places that must show the text.
fn stays_text(least: usize, page: impl Fn(&str) -> String) {
    let (hostile, harmless) = (page(HOSTILE), page(&harmless()));
    assert_eq!(elements(&hostile), elements(&harmless));
    assert!(!hostile.contains("<script>alert") && !hostile.contains('\u{1b}'));
    let shown = hostile.matches(ESCAPED).count();
    assert!(shown >= least, "{shown} of at least {least}: {hostile}");
}

#[test]
fn every_text_of_prove_is_escaped() {
    stays_text(40, |text| report::prove::prove_html(&models::named(text)));
}

#[test]
fn every_text_of_a_measurement_is_escaped() {
    stays_text(10, |text| measurement_html(&with_text(&everything(), text), text));
}

#[test]
fn every_text_of_blame_is_escaped() {
    let environment = models::measurement("noise", 1_000, &[]).environment;
    stays_text(18, |text| {
        let gap = GapFunctions {
            cpu: 1,
            start_ns: 7_000_012_345,
            duration_ns: 1_000_000,
            in_functions_ns: 900_000,
            functions: vec![FunctionTime {
                name: text.to_owned(),
                calls: 1,
                net_ns: 750_000,
                way: vec![text.to_owned(), text.to_owned()],
            }],
            left_out: 0,
            left_out_ns: 0,
        };
        let functions = FunctionsReport {
            by: Some("function_graph"),
            gaps: vec![gap],
            ..FunctionsReport::default()
        };
        let hwlat = HwlatReport {
            why: Some(text.to_owned()),
            ..HwlatReport::default()
        };
        let tracers = Tracers {
            functions: Some(&functions),
            hwlat: Some(&hwlat),
        };
        let answer = with_text(&blamed::answer(text), text);
        let mut prediction = predicted::prediction();
        prediction.changes[0].change.name = text.to_owned();
        prediction.changes[0].change.commands = vec![text.to_owned()];
        prediction.changes[0].change.excluded = vec![text.to_owned()];
        blame_html(&BlamePage {
            answer: &answer,
            tracers,
            prediction: Some(&prediction),
            environment: &with_text(&environment, text),
            json: Some(text.as_bytes()),
            json_name: text,
        })
    });
}

/// Returns slightly different runs of one set, with this text in every place.
fn runs(centre: u64, text: &str) -> Vec<Recording> {
    let run = |run: u64| models::measurement("latency", centre + run * 10, &[(700_000 + run, 1)]);
    let recording = |at| formats::of_measurement(with_text(&run(at), text));
    (0..4).map(recording).collect()
}

fn pair(first: &[Recording], other: &[Recording], text: &str) -> compare::SetComparison {
    let set = |runs: &[Recording]| RunSet {
        name: text.to_owned(),
        runs: runs.to_vec().leak().iter().collect(),
    };
    compare::compared(&set(first), &set(other))
}

#[test]
fn every_text_of_a_study_is_escaped() {
    let form = STUDY_FORMS.iter().find(|one| one.name == "html").unwrap();
    stays_text(20, |text| {
        let (slow, quick) = (runs(9_000, text), runs(3_000, text));
        let compared = pair(&slow, &quick, text);
        let cell = |runs: &'static [Recording]| StudyCell {
            name: text.to_owned().leak(),
            levels: vec![(text.to_owned(), text.to_owned())],
            runs: runs.iter().collect(),
        };
        let cells = [cell(slow.leak()), cell(quick.leak())];
        let with = [(text.to_owned(), text.to_owned())];
        let row = PairRow {
            axis: text,
            from: text,
            to: text,
            with: &with,
            compared: &compared,
            apart_mc: None,
        };
        (form.write)(&StudyPage {
            name: text,
            runs_done: 8,
            runs: 8,
            cells: &cells,
            rows: &[row],
            json: Some(text.as_bytes()),
            json_name: text,
        })
    });
}

/// Returns the page of a comparison of two sets, or of two files without repetitions.
fn comparison(text: &str, repetitions: usize) -> String {
    let (slow, quick) = (runs(9_000, text), runs(3_000, text));
    let of = |runs: &[Recording]| runs[..repetitions].to_vec();
    let compared = |recording| ComparedFile {
        file: text.to_owned(),
        recording,
    };
    let mut files: Vec<ComparedFile> = of(&slow).into_iter().chain(of(&quick)).map(compared).collect();
    for (place, one) in files.iter_mut().enumerate() {
        one.recording.facts.push((format!("{text}, {place}"), text.to_owned()));
    }
    let judged = [RequirementResult {
        requirement: text.to_owned(),
        file: text.to_owned(),
        thread: text.to_owned(),
        basis: None::<Basis>,
        judgement: Judgement {
            outcome: RequirementOutcome::Violated,
            why: text.to_owned(),
        },
    }];
    let verdicts = match repetitions {
        1 => Vec::new(),
        _ => vec![pair(&slow, &quick, text)],
    };
    comparison_html(&ComparePage {
        files: &files,
        sets: &[(text.to_owned(), repetitions), (text.to_owned(), repetitions)],
        verdicts: &verdicts,
        judged: &judged,
        json: Some(text.as_bytes()),
        json_name: text,
    })
}

#[test]
fn every_text_of_a_comparison_is_escaped() {
    stays_text(20, |text| comparison(text, 4));
    stays_text(10, |text| comparison(text, 1));
}

#[test]
fn every_text_of_a_check_is_escaped_in_junit() {
    let intention = Intention {
        source: IntentionSource::CommandLine,
        isolations: Vec::new(),
        unseen: Vec::new(),
    };
    stays_text(4, |text| {
        let finding = CheckFinding::new(plan::Level::Error, plan::FindingId::NOTHING_ISOLATED, text, text);
        let judged = check::CheckResult {
            verdict: check::CheckVerdict::Noisy,
            findings: vec![finding.fix(text).seen(text)],
            ignored: Vec::new(),
            unused: Vec::new(),
            unseen: vec![text.to_owned()],
            fails: true,
        };
        let checked = CheckOutput {
            origin: "captured",
            intention: &intention,
            judged: &judged,
            window_ns: None,
            unread: &[],
            repairs: &[],
        };
        let text = check_junit(&checked, plan::Level::Warning);
        assert!(
            text.starts_with("<?xml ") && text.contains("failures=\"1\" skipped=\"1\""),
            "{text}"
        );
        text
    });
}
