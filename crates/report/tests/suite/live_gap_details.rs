//! The page of `blame` in a real browser: the pointer and the keys show the details of gaps and their parts.

use crate::support::browser::Browser;
use crate::support::browser::screens::{beyond_a_phone, contrast, show};
use crate::support::models::{self, blamed::plain_page};
use report::blame_html;

/// The strip of all gaps, and the first drawing of a single gap.
const STRIP: &str = "figure.readout";
const GAP: &str = "div.readout";

fn page(name: &str) -> String {
    let environment = models::measurement("noise", 1_000, &[]).environment;
    let answer = models::blamed::answer(name);
    blame_html(&plain_page(&answer, &environment))
}

fn focus(browser: &mut Browser, drawing: &str) {
    browser.value(&format!(
        "document.querySelector('{drawing} svg').focus({{focusVisible: true}})"
    ));
}

fn shown_text(browser: &mut Browser, drawing: &str) -> String {
    browser.text(&format!("document.querySelector('{drawing} output').textContent"))
}

#[test]
fn keys_select_one_gap_after_the_other() {
    let name = "keys_select_one_gap_after_the_other";
    let Some(mut browser) = Browser::open(name, &page("<i>make</i>")) else {
        return;
    };
    focus(&mut browser, STRIP);
    let first = "110\u{a0}µs, 0\u{a0}ns after the first gap, mostly by ";
    let printed = shown_text(&mut browser, STRIP);
    assert!(printed.starts_with(first), "{printed}");
    browser.key("ArrowRight", 0);
    let printed = shown_text(&mut browser, STRIP);
    assert!(
        printed.starts_with("1.1\u{a0}ms, 499") && printed.ends_with("mostly by <i>make</i>"),
        "{printed}"
    );
    browser.key("ArrowRight", 0);
    browser.key("ArrowRight", 0);
    assert!(
        shown_text(&mut browser, STRIP).starts_with("3\u{a0}µs, "),
        "the last one stays"
    );
    browser.key("ArrowLeft", 0);
    assert_eq!(shown_text(&mut browser, STRIP), printed);
    assert_eq!(
        browser.value(&format!("document.querySelectorAll('{STRIP} .mark.at').length")),
        1
    );
    browser.key("Home", 0);
    assert!(shown_text(&mut browser, STRIP).starts_with(first));
    browser.key("Escape", 0);
    assert_eq!(shown_text(&mut browser, STRIP), "");
    focus(&mut browser, GAP);
    browser.key("ArrowRight", 0);
    assert!(
        shown_text(&mut browser, GAP).contains(": "),
        "{}",
        shown_text(&mut browser, GAP)
    );
    assert_eq!(shown_text(&mut browser, STRIP), "");
    assert!(browser.is_alone(), "{:?}", browser.fetched);
}

#[test]
fn the_pointer_selects_the_nearest_gap() {
    let name = "the_pointer_selects_the_nearest_gap";
    let Some(mut browser) = Browser::open(name, &page("make")) else {
        return;
    };
    let place = browser.value(&format!(
        "(() => {{ const s = document.querySelector('{STRIP} svg'); s.scrollIntoView({{block: 'center'}}); \
         const f = s.getBoundingClientRect(), one = f.width / 640; return [f.left + 66.5 * one, f.top + 40 * one]; }})()"
    ));
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    browser.pointer("mouseMoved", (x, y));
    assert!(
        shown_text(&mut browser, STRIP).starts_with("110\u{a0}µs, "),
        "{}",
        shown_text(&mut browser, STRIP)
    );
    browser.pointer("mouseMoved", (x, 2.0));
    assert_eq!(shown_text(&mut browser, STRIP), "");
}

#[test]
fn the_page_is_readable_in_dark_mode_and_on_a_phone() {
    let name = "the_page_is_readable_in_dark_mode_and_on_a_phone";
    let Some(mut browser) = Browser::open(name, &page("make")) else {
        return;
    };
    focus(&mut browser, STRIP);
    for scheme in ["light", "dark"] {
        show(&mut browser, "screen", scheme);
        let found = contrast(&mut browser, ".readout output", "color");
        assert!(found >= 4.5, "{scheme}: {found}");
    }
    assert!(beyond_a_phone(&mut browser) <= 0.0);
}
