//! The page of a study in a real browser: zoom with keys, buttons and pointer, values, hidden curves, dark mode,
//! printing, no network access.

use crate::support::browser::Browser;
use crate::support::browser::drawing::{WHOLE, display, focus, moved, place, stretched, values};
use crate::support::browser::screens::{beyond_a_phone, show};
use crate::support::models::measurement;
use formats::Recording;
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
        runs_done: 2,
        runs: 2,
        cells: &cells,
        rows: &[],
        json: Some(b"{}"),
        json_name: "study.json",
    })
}

const LOGS: &str = ".logs";
const OUTPUT_TEXT: &str = "document.querySelector('.logs output').textContent";
const FOCUSED: &str = "document.activeElement.dataset.do || (document.activeElement.tagName === 'svg' ? 'svg' : document.activeElement.className)";

#[test]
fn keys_and_buttons_zoom_and_the_visible_range_is_announced() {
    let Some(mut browser) = Browser::open("keys_and_buttons_zoom_and_the_visible_range_is_announced", &page()) else {
        return;
    };
    assert_eq!(moved(&mut browser, LOGS), WHOLE);
    // Tab moves from the legend's check boxes to the drawing, and then to its buttons.
    browser.value("document.querySelector('.legend .show0').focus()");
    let mut reached = Vec::new();
    for _ in 0..4 {
        browser.key("Tab", 0);
        reached.push(browser.text(FOCUSED));
    }
    // A drawing at its full range cannot be zoomed out or moved, so these buttons are skipped.
    assert_eq!(reached, ["show1", "svg", "in", "download"]);
    focus(&mut browser, LOGS);
    browser.key("+", 0);
    assert!((stretched(&mut browser, LOGS) - 2.0).abs() < 1e-6);
    let message = browser.text(OUTPUT_TEXT);
    assert!(
        message.starts_with("Shown: ") && message.contains("µs to "),
        "{message}"
    );
    assert_eq!(browser.text("document.querySelector('.logs output').tagName"), "OUTPUT");
    browser.key("+", 0);
    browser.key("ArrowRight", 8);
    assert!((stretched(&mut browser, LOGS) - 4.0).abs() < 1e-6);
    assert_ne!(browser.text(OUTPUT_TEXT), message);
    browser.key("-", 0);
    assert!((stretched(&mut browser, LOGS) - 2.0).abs() < 1e-6);
    browser.key("0", 0);
    assert_eq!(moved(&mut browser, LOGS), WHOLE);
    assert_eq!(browser.text(OUTPUT_TEXT), "All is shown.");
    browser.key("+", 0);
    browser.value("document.querySelector('.logs [data-do=all]').focus()");
    browser.key("Enter", 0);
    assert_eq!(moved(&mut browser, LOGS), WHOLE);
    assert_eq!(browser.text(FOCUSED), "svg", "the button cannot be pressed any more");
    browser.value("document.querySelector('.logs [data-do=in]').focus()");
    browser.key("Enter", 0);
    assert!((stretched(&mut browser, LOGS) - 2.0).abs() < 1e-6);
    let labels =
        browser.value("[...document.querySelectorAll('.zoom button')].every(b => b.textContent.trim().length > 3)");
    assert_eq!(labels, true);
    assert!(browser.is_alone(), "{:?}", browser.fetched);
}

#[test]
fn dragging_zooms_to_the_span_and_a_double_click_resets_the_zoom() {
    let name = "dragging_zooms_to_the_span_and_a_double_click_resets_the_zoom";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    let (from, to) = (place(&mut browser, LOGS, 0.25), place(&mut browser, LOGS, 0.5));
    browser.drag(from, to);
    assert!(
        (stretched(&mut browser, LOGS) - 4.0).abs() < 0.05,
        "{}",
        moved(&mut browser, LOGS)
    );
    // The axis has the ticks of the visible range, more than the powers of ten of the full range.
    let marks = "document.querySelectorAll('.logs .times text').length";
    let near = browser.value(marks).as_u64().unwrap();
    assert!(near >= 3, "{near}");
    // A click does not select a range.
    browser.drag(from, (from.0 + 2.0, from.1));
    assert!((stretched(&mut browser, LOGS) - 4.0).abs() < 0.05);
    let begin = place(&mut browser, LOGS, 0.5);
    for count in [1, 2] {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": begin.0, "y": begin.1, "button": "left", "clickCount": count});
            browser.call("Input.dispatchMouseEvent", event);
        }
    }
    assert_eq!(moved(&mut browser, LOGS), WHOLE);
}

#[test]
fn pointer_and_keys_show_the_values_of_visible_curves() {
    let name = "pointer_and_keys_show_the_values_of_visible_curves";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    let middle = place(&mut browser, LOGS, 0.1);
    browser.pointer("mouseMoved", middle);
    let message = values(&mut browser, LOGS);
    assert!(
        message.contains("µs · none: ") && message.contains(" · <i>strict</i>: "),
        "{message}"
    );
    // The share of the first sample of the model, according to its histogram.
    let model = measurement("latency", 3_000, &[(700_000, 1)]);
    let (first_ns, count) = model.threads[0].histogram[0];
    let share = count as f64 / model.threads[0].recorded as f64 * 100.0;
    let at = format!(
        "(() => {{ const s = document.querySelector('.logs svg'), f = Number(s.dataset.from), t = Number(s.dataset.to); \
         return (Math.log10({first_ns}) + 0.01 - f) / (t - f); }})()"
    );
    let at = browser.value(&at).as_f64().unwrap();
    let there = place(&mut browser, LOGS, at);
    browser.pointer("mouseMoved", there);
    let message = values(&mut browser, LOGS);
    let shown = message.split("strict</i>: about ").nth(1).expect(&message);
    let shown: f64 = shown.trim_end_matches('%').trim().parse().expect(&message);
    assert!((shown / share - 1.0).abs() < 0.06, "{shown} {share}");
    // A hidden curve is neither announced nor visible.
    browser.value("document.querySelector('.show0').click()");
    assert_eq!(display(&mut browser, ".logs .curve.k0"), "none");
    focus(&mut browser, LOGS);
    browser.key("ArrowLeft", 0);
    let message = values(&mut browser, LOGS);
    assert!(message.contains("strict") && !message.contains("none: "), "{message}");
    // Zooming keeps the selected place visible.
    browser.key("+", 0);
    assert_ne!(values(&mut browser, LOGS), "");
    assert!((stretched(&mut browser, LOGS) - 2.0).abs() < 1e-6);
}

#[test]
fn printing_shows_the_whole_drawing_and_restores_the_zoom() {
    let name = "printing_shows_the_whole_drawing_and_restores_the_zoom";
    let Some(mut browser) = Browser::open(name, &page()) else {
        return;
    };
    focus(&mut browser, LOGS);
    browser.key("+", 0);
    let near = moved(&mut browser, LOGS);
    browser.value(
        "addEventListener('beforeprint', () => { \
         window.printed = document.querySelector('.logs .moved').getAttribute('transform'); }); true",
    );
    browser.call("Page.printToPDF", json!({}));
    assert_eq!(browser.text("window.printed"), WHOLE);
    assert_eq!(moved(&mut browser, LOGS), near);
    let buttons = ".logs .zoom";
    assert_eq!(display(&mut browser, buttons), "flex");
    show(&mut browser, "print", "light");
    assert_eq!(display(&mut browser, buttons), "none");
    let ground = "getComputedStyle(document.body).backgroundColor";
    show(&mut browser, "screen", "light");
    let light = browser.text(ground);
    show(&mut browser, "screen", "dark");
    assert_ne!(browser.text(ground), light);
    // The other scale is a separate drawing, and on a phone only vertical scrolling remains.
    browser.value("document.querySelector('.lin').click()");
    assert_eq!(display(&mut browser, ".logs"), "none");
    assert_eq!(display(&mut browser, ".lins"), "block");
    assert!(beyond_a_phone(&mut browser) <= 0.0);
}
