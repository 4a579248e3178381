//! The drawings of a measurement and of `prove` on the page: which CPUs are drawn, that hostile names stay text, and
//! that ids are unique.

use crate::support::models;
use report::{measurement_html, prove::prove_html};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns a page of this many CPUs, one of which is the worst.
fn of_cpus(count: u32, worst: u32) -> String {
    let mut result = serde_json::to_value(models::measurement("latency", 3_000, &[])).unwrap();
    let thread = result["threads"][0].clone();
    let threads = (0..count).map(|cpu| {
        let mut thread = thread.clone();
        thread["cpu"] = json!(cpu);
        if cpu == worst {
            thread["max_ns"] = json!(7_000_000);
            thread["histogram"].as_array_mut().unwrap().push(json!([7_000_000, 1]));
        }
        thread
    });
    result["threads"] = threads.collect();
    measurement_html(&serde_json::from_value(result).unwrap(), "x.json")
}

fn curves(page: &str) -> Vec<&str> {
    let mut curves = page.split("data-name=\"").skip(1);
    let mut names: Vec<&str> = curves.by_ref().map(|rest| rest.split('"').next().unwrap()).collect();
    names.truncate(names.len() / 2);
    names
}

#[test]
fn every_cpu_has_a_curve_and_the_worst_value_a_flag() {
    let page = of_cpus(3, 1);
    assert_eq!(curves(&page), ["CPU 0", "CPU 1", "CPU 2"]);
    assert!(!page.contains("The drawing shows all CPUs together"));
    assert_eq!(page.matches("class=\"flag").count(), 1, "the linear scale ends before");
    assert!(page.contains(">CPU 1: worst 7\u{a0}ms<"));
}

#[test]
fn with_many_cpus_a_combined_curve_and_the_worst_cpu_are_drawn() {
    let page = of_cpus(20, 17);
    let names = curves(&page);
    assert_eq!(names.len(), 12, "{names:?}");
    assert_eq!(names[0], "all 20 CPUs");
    assert_eq!(names[11], "CPU 17");
    assert!(page.contains(">CPU 17: worst 7\u{a0}ms<"));
    assert!(page.contains("those of 9 more are in the JSON"), "{page}");
    // The sum contains every CPU.
    let one: u64 = models::measurement("latency", 3_000, &[]).threads[0].recorded;
    let all = (one * 20 + 1).to_string();
    let (millions, rest) = all.split_at(all.len() - 6);
    let (thousands, rest) = rest.split_at(3);
    assert!(page.contains(&format!("<small>{millions},{thousands},{rest} wake-ups</small>")));
}

#[test]
fn ids_on_a_page_are_unique() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    let mut everything: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    // A second CPU with every field.
    let mut more = everything["threads"].as_array().unwrap().clone();
    for thread in &mut more {
        thread["cpu"] = json!(4);
    }
    everything["threads"].as_array_mut().unwrap().extend(more);
    let everything = measurement_html(&serde_json::from_value(everything).unwrap(), "x.json");
    for (page, least) in [(everything, 25), (prove_html(&models::story()), 14)] {
        let ids: Vec<&str> = page
            .split(" id=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        let different: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), different.len(), "{ids:?}");
        assert!(ids.len() >= least, "the check sees them: {ids:?}");
        // Each group of scale buttons belongs to one drawing.
        let groups = page.matches("class=\"scales\"").count();
        let names: BTreeSet<&str> = page
            .split("type=\"radio\" name=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert_eq!(names.len(), groups, "{names:?}");
    }
}

#[test]
fn prove_states_when_a_curve_combines_cpus() {
    let mut story = models::story();
    let words = "<legend>Each phase, all measured CPUs together</legend>";
    assert!(!prove_html(&story).contains(words));
    let latency = story.before.as_mut().unwrap().latency.as_mut().unwrap();
    let mut more = serde_json::to_value(&latency.threads[0]).unwrap();
    more["cpu"] = json!(2);
    latency.threads.push(serde_json::from_value(more).unwrap());
    assert_eq!(prove_html(&story).matches(words).count(), 1);
}

#[test]
fn the_load_in_the_legend_is_escaped() {
    let page = prove_html(&models::hostile());
    let nasty = "<small>(load: &lt;script&gt;alert(1)&lt;/script&gt;\\u{1b}[2J\\u{202e}&quot;'&amp;)</small>";
    assert_eq!(page.matches(nasty).count(), 4, "two phases of wake-ups, two of gaps");
}
