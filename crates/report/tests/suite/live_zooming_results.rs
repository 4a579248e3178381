//! The pages of a measurement and of `prove` in a real browser: each drawing can be zoomed, read and switched
//! separately, in light and dark mode, in print and on a phone. Nothing is fetched.

use crate::support::browser::Browser;
use crate::support::browser::drawing::{WHOLE, display, focus, moved, place, stretched, values};
use crate::support::browser::screens::{beyond_a_phone, contrast, show};
use crate::support::models;
use std::path::Path;

/// The drawings on the page of a measurement of all kinds, on logarithmic scales.
const WAKE_UPS: &str = "#samples-logs";
const PERIOD: &str = "#period-logs";
const GAPS: &str = "#gaps-logs";

fn everything() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    let result = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    report::measurement_html(&result, "everything.json")
}

fn prove() -> String {
    report::prove::prove_html(&models::story())
}

#[test]
fn keys_zoom_only_the_focused_drawing() {
    let name = "keys_zoom_only_the_focused_drawing";
    let Some(mut browser) = Browser::open(name, &everything()) else {
        return;
    };
    focus(&mut browser, WAKE_UPS);
    browser.key("+", 0);
    assert!((stretched(&mut browser, WAKE_UPS) - 2.0).abs() < 1e-6);
    for other in [PERIOD, GAPS] {
        assert_eq!(moved(&mut browser, other), WHOLE, "{other}");
    }
    focus(&mut browser, GAPS);
    browser.key("+", 0);
    browser.key("+", 0);
    assert!((stretched(&mut browser, GAPS) - 4.0).abs() < 1e-6);
    assert!((stretched(&mut browser, WAKE_UPS) - 2.0).abs() < 1e-6);
    browser.key("0", 0);
    assert_eq!(moved(&mut browser, GAPS), WHOLE);
    assert!((stretched(&mut browser, WAKE_UPS) - 2.0).abs() < 1e-6);
    assert!(browser.is_alone(), "{:?}", browser.fetched);
}

#[test]
fn values_belong_to_the_drawing_under_the_pointer() {
    let name = "values_belong_to_the_drawing_under_the_pointer";
    let Some(mut browser) = Browser::open(name, &everything()) else {
        return;
    };
    // At 2.1 us there are 60,000 of 98,995 wake-ups and 60,000 of 99,295 expected ones.
    let at = browser.value(
        "(() => { const d = document.querySelector('#samples-logs svg').dataset; \
         return (Math.log10(2110) - d.from) / (d.to - d.from); })()",
    );
    let there = place(&mut browser, WAKE_UPS, at.as_f64().unwrap());
    browser.pointer("mouseMoved", there);
    let reported = values(&mut browser, WAKE_UPS);
    assert!(reported.contains("CPU 3: about 61\u{a0}%"), "{reported}");
    assert!(reported.contains("all expected: about 60\u{a0}%"), "{reported}");
    assert_eq!(values(&mut browser, GAPS), "");
    focus(&mut browser, GAPS);
    browser.key("ArrowRight", 0);
    let reported = values(&mut browser, GAPS);
    assert!(reported.contains("CPU 3: ") && !reported.contains("due"), "{reported}");
}

/// The flag stays at its sample while the curves are moved, and is hidden with its curve.
#[test]
fn the_flag_of_the_worst_value_follows_its_curve() {
    let name = "the_flag_of_the_worst_value_follows_its_curve";
    let Some(mut browser) = Browser::open(name, &prove()) else {
        return;
    };
    let (figure, flag) = ("#latency-logs", "#latency-logs .flag.k0");
    let sight = format!("getComputedStyle(document.querySelector('{flag}')).visibility");
    // The distance from the right end of the visible curve is less than a bin. A bin is stretched as much as the curve.
    let apart = |browser: &mut Browser| -> f64 {
        let apart = browser.value(&format!(
            "(() => {{ const box = s => document.querySelector(s).getBoundingClientRect(); \
             return Math.abs(box('{flag} line').x - box('{figure} .curve.k0').right); }})()"
        ));
        apart.as_f64().unwrap()
    };
    let whole = apart(&mut browser);
    assert!(whole < 9.0, "{whole}");
    let left = format!("document.querySelector('{flag} line').getBoundingClientRect().x");
    let before = browser.value(&left).as_f64().unwrap();
    focus(&mut browser, figure);
    browser.key("+", 0);
    assert_eq!(browser.text(&sight), "visible");
    let near = apart(&mut browser);
    assert!(near < 18.0, "{near}");
    let moved = before - browser.value(&left).as_f64().unwrap();
    assert!(moved > 40.0, "it is left of the middle: {moved}");
    browser.key("+", 0);
    assert_eq!(browser.text(&sight), "hidden", "what is shown begins after it");
    browser.key("ArrowLeft", 8);
    assert_eq!(browser.text(&sight), "visible");
    browser.value("document.querySelector('.picture:has(#latency-logs) .show0').click()");
    assert_eq!(display(&mut browser, flag), "none");
}

#[test]
fn curves_and_scales_are_switched_per_drawing() {
    let name = "curves_and_scales_are_switched_per_drawing";
    let Some(mut browser) = Browser::open(name, &everything()) else {
        return;
    };
    browser.value("document.querySelector('.picture:has(#samples-logs) .show0').click()");
    assert_eq!(display(&mut browser, "#samples-logs .curve.k0"), "none");
    assert_ne!(display(&mut browser, "#samples-logs .curve.k1"), "none");
    assert_ne!(display(&mut browser, "#gaps-logs .curve.k0"), "none");
    focus(&mut browser, WAKE_UPS);
    browser.key("ArrowRight", 0);
    let reported = values(&mut browser, WAKE_UPS);
    assert!(
        reported.contains("all expected") && !reported.contains("CPU 3"),
        "{reported}"
    );
    browser.value("document.querySelector('.picture:has(#gaps-logs) .lin').click()");
    for (figure, wanted) in [
        (GAPS, "none"),
        ("#gaps-lins", "block"),
        (WAKE_UPS, "block"),
        ("#samples-lins", "none"),
        (PERIOD, "block"),
    ] {
        assert_eq!(display(&mut browser, figure), wanted, "{figure}");
    }
    focus(&mut browser, "#gaps-lins");
    browser.key("+", 0);
    assert!((stretched(&mut browser, "#gaps-lins") - 2.0).abs() < 1e-6);
    assert_eq!(moved(&mut browser, GAPS), WHOLE);
}

#[test]
fn both_pages_are_readable_in_dark_mode_in_print_and_on_a_phone() {
    let name = "both_pages_are_readable_in_dark_mode_in_print_and_on_a_phone";
    for (page, html) in [("measurement", everything()), ("prove", prove())] {
        let Some(mut browser) = Browser::open(name, &html) else {
            return;
        };
        for (media, scheme) in [("screen", "light"), ("screen", "dark"), ("print", "dark")] {
            show(&mut browser, media, scheme);
            let seen = format!("{page}, {media}, {scheme}");
            for (what, colour, least) in [
                (".curve", "stroke", 3.0),
                (".flag text", "fill", 3.0),
                (".times text", "fill", 4.5),
                (".legend label", "color", 4.5),
                ("section p", "color", 4.5),
            ] {
                let found = contrast(&mut browser, what, colour);
                assert!(found >= least, "{seen}: {what}: {found}");
            }
            let buttons = display(&mut browser, ".logs .zoom");
            let wanted = if media == "print" { "none" } else { "flex" };
            assert_eq!(buttons, wanted, "{seen}");
            let scales = display(&mut browser, ".scales");
            assert_eq!(scales, wanted, "{seen}");
        }
        // Print shows the legend of visible curves only, without check boxes.
        browser.value("document.querySelector('.show0').click()");
        show(&mut browser, "print", "light");
        assert_eq!(display(&mut browser, ".legend label.k0"), "none", "{page}");
        assert_ne!(display(&mut browser, ".legend label.k1"), "none", "{page}");
        assert_eq!(display(&mut browser, ".legend .show1"), "none", "{page}");
        show(&mut browser, "screen", "light");
        assert!(beyond_a_phone(&mut browser) <= 0.0, "{page}");
        assert!(browser.is_alone(), "{:?}", browser.fetched);
    }
}

#[test]
fn values_of_both_phases_of_prove_are_shown_together() {
    let name = "values_of_both_phases_of_prove_are_shown_together";
    let Some(mut browser) = Browser::open(name, &prove()) else {
        return;
    };
    for figure in ["#latency-logs", "#noise-logs"] {
        focus(&mut browser, figure);
        browser.key("ArrowLeft", 0);
        let reported = values(&mut browser, figure);
        assert!(
            reported.contains(" · before: ") && reported.contains(" · isolated: "),
            "{reported}"
        );
    }
    focus(&mut browser, "#latency-logs");
    browser.key("+", 0);
    assert!((stretched(&mut browser, "#latency-logs") - 2.0).abs() < 1e-6);
    assert_eq!(moved(&mut browser, "#noise-logs"), WHOLE);
    browser.value("document.querySelector('.picture:has(#noise-logs) .show1').click()");
    assert_eq!(display(&mut browser, "#noise-logs .curve.k1"), "none");
    assert_eq!(display(&mut browser, "#noise-logs .flag.k1"), "none");
    assert_ne!(display(&mut browser, "#latency-logs .curve.k1"), "none");
}

#[test]
fn without_its_script_a_page_is_complete() {
    let name = "without_its_script_a_page_is_complete";
    let page = everything();
    let (before, script) = page.split_once("<script>").expect("the script");
    let after = script.split_once("</script>").expect("its end").1;
    let Some(mut browser) = Browser::open(name, &format!("{before}{after}")) else {
        return;
    };
    assert_eq!(display(&mut browser, "#samples-logs .zoom"), "none");
    for part in [".curve.k0", ".curve.k1", ".flag.k0", ".times text"] {
        let wide = browser.value(&format!(
            "document.querySelector('#samples-logs {part}').getBoundingClientRect().height"
        ));
        assert!(wide.as_f64().unwrap() > 5.0, "{part}: {wide}");
    }
    // Scales and curves are switched with CSS alone.
    browser.value("document.querySelector('.picture:has(#samples-logs) .lin').click()");
    assert_eq!(display(&mut browser, WAKE_UPS), "none");
    assert_eq!(display(&mut browser, "#samples-lins"), "block");
    browser.value("document.querySelector('.picture:has(#samples-logs) .show1').click()");
    assert_eq!(display(&mut browser, "#samples-lins .curve.k1"), "none");
}
