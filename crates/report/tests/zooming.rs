//! The page of a study in a real browser: zoom by keys, buttons and pointer, values, curves switched, dark, paper, no network.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod browser;
#[allow(dead_code)] // Other pages need more of them.
mod models;

use browser::Browser;
use formats::Recording;
use models::measurement;
use report::{STUDY_FORMS, StudyCell, StudyPage};
use serde_json::json;

fn page() -> String {
    let runs = |centre: u64| -> Vec<Recording> {
        let run = measurement("latency", centre, &[(700_000, 1)]);
        vec![formats::of_measurement(run)]
    };
    let (slow, quick) = (runs(9_000), runs(3_000));
    let cell = |name, runs| StudyCell {
        name,
        levels: Vec::new(),
        runs,
    };
    let cells = [
        cell("none", slow.iter().collect()),
        cell("<i>strict</i>", quick.iter().collect()),
    ];
    let [html, ..] = STUDY_FORMS;
    (html.write)(&StudyPage {
        name: "results",
        done: 2,
        runs: 2,
        cells: &cells,
        rows: &[],
        json: Some(b"{}"),
        json_name: "study.json",
    })
}

const MOVED: &str = "document.querySelector('.logs .moved').getAttribute('transform')";
const SAID: &str = "document.querySelector('.logs output').textContent";
const VALUES: &str = "document.querySelector('.logs .values').textContent";
const FOCUSED: &str = "document.activeElement.dataset.do || (document.activeElement.tagName === 'svg' ? 'svg' : document.activeElement.className)";
const WHOLE: &str = "matrix(1 0 0 1 0 0)";

/// How much the curves are stretched.
fn stretched(browser: &mut Browser) -> f64 {
    let matrix = browser.text(MOVED);
    let first = matrix.trim_start_matches("matrix(").split(' ').next();
    first.and_then(|word| word.parse().ok()).expect(&matrix)
}

/// A place in the drawing, in parts of its width.
fn place(browser: &mut Browser, share: f64) -> (f64, f64) {
    let frame = browser.value(
        "(() => { const s = document.querySelector('.logs svg'); s.scrollIntoView({block: 'center'}); \
         const f = s.getBoundingClientRect(); return [f.left, f.top, f.width, f.height]; })()",
    );
    let part = |place: usize| frame[place].as_f64().unwrap();
    let x = (70.0 + share * 876.0) / 960.0;
    (part(0) + x * part(2), part(1) + part(3) * 0.4)
}

#[test]
fn keys_and_buttons_zoom_and_say_what_is_shown() {
    let Some(mut browser) = Browser::open("keys_and_buttons_zoom_and_say_what_is_shown", &page()) else {
        return;
    };
    assert_eq!(browser.text(MOVED), WHOLE);
    // By Tab from the boxes of the legend to the drawing, and on to its buttons.
    browser.value("document.querySelector('.legend input:last-child').focus()");
    let mut reached = Vec::new();
    for _ in 0..4 {
        browser.key("Tab", 0);
        reached.push(browser.text(FOCUSED));
    }
    // What is whole cannot be zoomed out of, nor moved: these buttons are passed over.
    assert_eq!(reached, ["show1", "svg", "in", "download"]);
    browser.value("document.querySelector('.logs svg').focus()");
    browser.key("+", 0);
    assert!((stretched(&mut browser) - 2.0).abs() < 1e-6);
    let said = browser.text(SAID);
    assert!(said.starts_with("Shown: ") && said.contains("µs to "), "{said}");
    assert_eq!(
        browser.text("document.querySelector('.logs output').tagName"),
        "OUTPUT"
    );
    browser.key("+", 0);
    browser.key("ArrowRight", 8);
    assert!((stretched(&mut browser) - 4.0).abs() < 1e-6);
    assert_ne!(browser.text(SAID), said);
    browser.key("-", 0);
    assert!((stretched(&mut browser) - 2.0).abs() < 1e-6);
    browser.key("0", 0);
    assert_eq!(browser.text(MOVED), WHOLE);
    assert_eq!(browser.text(SAID), "All is shown.");
    browser.key("+", 0);
    browser.value("document.querySelector('.logs [data-do=all]').focus()");
    browser.key("Enter", 0);
    assert_eq!(browser.text(MOVED), WHOLE);
    assert_eq!(
        browser.text(FOCUSED),
        "svg",
        "the button cannot be pressed any more"
    );
    browser.value("document.querySelector('.logs [data-do=in]').focus()");
    browser.key("Enter", 0);
    assert!((stretched(&mut browser) - 2.0).abs() < 1e-6);
    let labels = browser
        .value("[...document.querySelectorAll('.zoom button')].every(b => b.textContent.trim().length > 3)");
    assert_eq!(labels, true);
    assert!(
        browser
            .fetched
            .iter()
            .all(|address| address.starts_with("file://")),
        "{:?}",
        browser.fetched
    );
    assert_eq!(browser.fetched.len(), 1, "only the page itself");
}

#[test]
fn a_span_that_is_dragged_over_fills_the_drawing_and_a_double_click_shows_all() {
    let name = "a_span_that_is_dragged_over_fills_the_drawing_and_a_double_click_shows_all";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    let (from, to) = (place(&mut browser, 0.25), place(&mut browser, 0.5));
    browser.drag(from, to);
    assert!(
        (stretched(&mut browser) - 4.0).abs() < 0.05,
        "{}",
        browser.text(MOVED)
    );
    // The marks are those of what is shown: more than the powers of ten of the whole.
    let marks = "document.querySelectorAll('.logs .times text').length";
    let near = browser.value(marks).as_u64().unwrap();
    assert!(near >= 3, "{near}");
    // A click is no span.
    browser.drag(from, (from.0 + 2.0, from.1));
    assert!((stretched(&mut browser) - 4.0).abs() < 0.05);
    let begin = place(&mut browser, 0.5);
    for count in [1, 2] {
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": begin.0, "y": begin.1, "button": "left", "clickCount": count});
            browser.call("Input.dispatchMouseEvent", event);
        }
    }
    assert_eq!(browser.text(MOVED), WHOLE);
}

#[test]
fn values_are_read_by_pointer_and_by_keys_of_the_curves_that_are_shown() {
    let name = "values_are_read_by_pointer_and_by_keys_of_the_curves_that_are_shown";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    let middle = place(&mut browser, 0.1);
    browser.pointer("mouseMoved", middle);
    let values = browser.text(VALUES);
    assert!(
        values.contains("µs · none: ") && values.contains(" · <i>strict</i>: "),
        "{values}"
    );
    // The share of the first sample of the model, as its histogram has it.
    let model = measurement("latency", 3_000, &[(700_000, 1)]);
    let (first_ns, count) = model.threads[0].histogram[0];
    let share = count as f64 / model.threads[0].recorded as f64 * 100.0;
    let at = format!(
        "(() => {{ const s = document.querySelector('.logs svg'), f = Number(s.dataset.from), t = Number(s.dataset.to); \
         return (Math.log10({first_ns}) + 0.01 - f) / (t - f); }})()"
    );
    let at = browser.value(&at).as_f64().unwrap();
    let there = place(&mut browser, at);
    browser.pointer("mouseMoved", there);
    let values = browser.text(VALUES);
    let told = values.split("strict</i>: about ").nth(1).expect(&values);
    let told: f64 = told.trim_end_matches('%').trim().parse().expect(&values);
    assert!((told / share - 1.0).abs() < 0.06, "{told} {share}");
    // A curve that is switched off is not told of and not seen.
    browser.value("document.querySelector('.show0').click()");
    let seen = "getComputedStyle(document.querySelector('.logs .curve.k0')).display";
    assert_eq!(browser.text(seen), "none");
    browser.value("document.querySelector('.logs svg').focus()");
    browser.key("ArrowLeft", 0);
    let values = browser.text(VALUES);
    assert!(
        values.contains("strict") && !values.contains("none: "),
        "{values}"
    );
    // What is near the place that is read stays in sight.
    browser.key("+", 0);
    assert_ne!(browser.text(VALUES), "");
    assert!((stretched(&mut browser) - 2.0).abs() < 1e-6);
}

#[test]
fn paper_shows_all_and_the_screen_is_as_it_was_afterwards() {
    let name = "paper_shows_all_and_the_screen_is_as_it_was_afterwards";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    browser.value("document.querySelector('.logs svg').focus()");
    browser.key("+", 0);
    let near = browser.text(MOVED);
    browser.value(&format!(
        "addEventListener('beforeprint', () => {{ window.printed = {MOVED}; }}); true"
    ));
    browser.call("Page.printToPDF", json!({}));
    assert_eq!(browser.text("window.printed"), WHOLE);
    assert_eq!(browser.text(MOVED), near);
    let shown = "getComputedStyle(document.querySelector('.logs .zoom')).display";
    assert_eq!(browser.text(shown), "flex");
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(browser.text(shown), "none");
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.call("Emulation.setEmulatedMedia", json!({"media": "screen"}));
    let light = browser.text(ground);
    let dark = json!({"media": "screen", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", dark);
    assert_ne!(browser.text(ground), light);
    // Another scale is another drawing, and a telephone scrolls only down.
    browser.value("document.querySelector('.lin').click()");
    let shown = "['.logs', '.lins'].map(c => getComputedStyle(document.querySelector(c)).display).join()";
    assert_eq!(browser.text(shown), "none,block");
    let narrow = json!({"width": 380, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    let over = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(over, 0);
}
