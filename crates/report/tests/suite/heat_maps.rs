//! Heat maps of all CPUs over time: each field is at the time of its samples and as dark as they were bad.

use crate::support::models;
use report::measurement_html;
use serde_json::{Value, json};

/// Returns a page of CPUs that were measured for ten seconds, with these values over time.
fn page(kind: &str, cpus: &[(u32, Value)]) -> String {
    let mut result = serde_json::to_value(models::measurement(kind, 3_000, &[])).unwrap();
    let thread = result["threads"][0].clone();
    let threads = cpus.iter().map(|(cpu, over_time)| {
        let mut thread = thread.clone();
        thread["cpu"] = json!(cpu);
        thread["over_time"] = over_time.clone();
        thread
    });
    result["threads"] = threads.collect();
    measurement_html(&serde_json::from_value(result).unwrap(), "x.json")
}

/// Returns the fields with a tooltip, without those of the legend.
fn fields(page: &str) -> Vec<&str> {
    page.match_indices("<rect class=\"heat ")
        .filter_map(|(place, _)| page[place..].split_once("</rect>"))
        .map(|(field, _)| field)
        .filter(|field| field.contains("<title>"))
        .collect()
}

fn over_time(begins_ns: u64, part_ns: u64, values_ns: &[u64]) -> Value {
    json!({"begins_ns": begins_ns, "part_ns": part_ns, "values_ns": values_ns})
}

#[test]
fn stolen_time_is_shown_by_cpu_and_time() {
    const SECOND: u64 = 1_000_000_000;
    let page = page(
        "noise",
        &[
            (1, over_time(SECOND, SECOND, &[500_000_000, 0, 1, 200_000])),
            // The last part extends beyond the window. A tenth of its visible time was stolen.
            (2, over_time(9_900_000_000, SECOND, &[10_000_000])),
        ],
    );
    let fields = fields(&page);
    assert_eq!(fields.len(), 4, "{fields:#?}");
    for (field, words) in fields.iter().zip([
        [
            "heat h3\" x=\"120.2\"",
            "width=\"56.2\"",
            "CPU 1, from 1\u{a0}s: 500\u{a0}ms",
        ],
        ["heat h0\" x=\"232.6\"", "width=\"56.2\"", ": 1\u{a0}ns stolen"],
        ["heat h0\" x=\"288.8\"", "width=\"56.2\"", ": 200"],
        ["heat h3\" x=\"620.4\"", "width=\"5.6\"", "CPU 2, from 9.90\u{a0}s: 10"],
    ]) {
        assert!(words.iter().all(|word| field.contains(word)), "{words:?} in {field}");
    }
}

#[test]
fn late_wake_ups_are_shown_for_a_single_cpu() {
    let page = page(
        "latency",
        &[(3, over_time(0, 2_000_000_000, &[9_999, 10_000, 0, 3_000_000]))],
    );
    let fields = fields(&page);
    let shades: Vec<&str> = fields.iter().filter_map(|field| field.split('"').nth(1)).collect();
    assert_eq!(shades, ["heat h0", "heat h1", "heat h3"], "{fields:#?}");
}

#[test]
fn a_long_row_is_merged_without_losing_the_maximum() {
    let many: Vec<u64> = (0..250)
        .map(|part| if part == 201 { 9_000_000 } else { 1_000 })
        .collect();
    let drawn = page("noise", &[(1, over_time(0, 40_000_000, &many))]);
    let all = fields(&drawn);
    assert_eq!(all.len(), 125);
    assert!(
        all[100].contains(": 9.0\u{a0}ms stolen") && all[0].contains(": 2\u{a0}µs"),
        "{} {}",
        all[100],
        all[0]
    );
    let drawn = page("latency", &[(1, over_time(0, 40_000_000, &many))]);
    assert!(
        fields(&drawn)[100].contains(": 9\u{a0}ms late"),
        "{}",
        fields(&drawn)[100]
    );
}

#[test]
fn a_result_without_parts_has_no_heat_map_and_extreme_numbers_are_safe() {
    let page_without = measurement_html(&models::measurement("noise", 3_000, &[]), "x.json");
    assert!(!page_without.contains("class=\"heat-map\""));
    for hostile in [
        over_time(u64::MAX, u64::MAX, &[u64::MAX, u64::MAX]),
        over_time(0, 0, &[1, 0, 2]),
        over_time(0, 1, &[]),
    ] {
        let cpus: Vec<(u32, Value)> = (0..100).map(|cpu| (cpu, hostile.clone())).collect();
        let text = page("noise", &cpus);
        assert!(text.contains("36 more are in the tables"));
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{hostile}");
    }
}
