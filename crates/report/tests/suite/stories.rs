//! Golden tests of the output of `prove` and `measure` for constructed models and hostile names. Every number on the
//! page must come from the model.
//!
//! `QUIETCORE_BLESS=1 cargo test -p report` rewrites the golden files.

// Tests may panic. Without this, clippy allows it only inside `#[test]` functions.

use crate::support::golden;
use crate::support::models::{hostile, measurement, plan, refused, story};
use report::Style;
use report::prove::{ProvePhase, ProveRecord};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn the_text_of_prove_matches_the_golden_files() {
    golden::check("prove.txt", &report::prove::prove_text(&story(), Style::Plain));
    golden::check(
        "prove-refused.txt",
        &report::prove::prove_text(&refused(), Style::Plain),
    );
    let emulated = ProveRecord {
        emulated: true,
        ..story()
    };
    assert!(report::prove::prove_text(&emulated, Style::Plain).contains("EMULATED PROCESSOR"));
}

#[test]
fn the_page_of_prove_matches_the_golden_files() {
    golden::check("prove.html", &report::prove::prove_html(&story()));
    golden::check("prove-refused.html", &report::prove::prove_html(&refused()));
    let planned = report::prove::prove_html(&ProveRecord {
        during: None,
        entries: vec![],
        ..story()
    });
    assert!(planned.contains("Planned changes") && !planned.contains(">outcome<"));
    let emulated = report::prove::prove_html(&ProveRecord {
        emulated: true,
        ..story()
    });
    assert!(emulated.contains("class=\"stamp\"") && !emulated.contains("What this proves"));
}

#[test]
fn the_text_of_measurements_matches_the_golden_files() {
    let text = |kind: &str| {
        let late: &[(u64, u64)] = &[(240_000, 7), (4_718_592, 1)];
        report::measurement_text(&measurement(kind, 3_000, late), report::Histograms::Drawn, Style::Plain)
    };
    golden::check("latency.txt", &text("latency"));
    golden::check("noise.txt", &text("noise"));
    let mut broken = measurement("latency", 3_000, &[]);
    broken.complete = false;
    broken.environment.emulated = true;
    broken.threads[0].histogram.clear();
    let text = report::measurement_text(&broken, report::Histograms::Drawn, Style::Plain);
    assert!(text.contains("INTERRUPTED") && text.contains("EMULATED"));
}

#[test]
fn the_pages_of_measurements_match_the_golden_files() {
    let late: &[(u64, u64)] = &[(240_000, 7), (4_718_592, 1)];
    for kind in ["latency", "noise"] {
        let page = report::measurement_html(&measurement(kind, 3_000, late), "result.json");
        golden::check(&format!("{kind}.html"), &page);
        assert_eq!(outside(&page), None);
        assert_eq!(
            inside(&page),
            serde_json::to_vec(&measurement(kind, 3_000, late)).expect("JSON")
        );
        let mut broken = measurement(kind, 3_000, &[]);
        broken.complete = false;
        broken.environment.emulated = true;
        broken.environment.model_name = Some("<script>alert(1)</script>".to_owned());
        for thread in &mut broken.threads {
            thread.histogram.clear();
            (thread.recorded, thread.max_ns, thread.stolen_max_ns, thread.gaps) = (0, None, None, None);
        }
        let page = report::measurement_html(&broken, "\"><script>.json");
        for part in [
            "class=\"stamp\"",
            "interrupted: ",
            "nothing to draw",
            "&lt;script&gt;alert",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(scripts(&page), 1, "a name became markup");
    }
}

#[test]
fn the_counter_is_reported_with_its_uncertainty() {
    let counter = |value: Value| {
        let mut measurement = measurement("noise", 3_000, &[]);
        measurement.threads[0].counter = Some(serde_json::from_value(value).expect("a counter"));
        let text = report::measurement_text(&measurement, report::Histograms::Left, Style::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = report::measurement_html(&measurement, "x.json");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (words, page)
    };
    let rate = serde_json::json!({
        "khz": 2_599_998.25, "uncertainty_ppm": 0.004, "kernel_khz": 2_599_998.0,
        "kernel_says": "kernel log, detected at boot", "apart_ppm": 0.096, "apart_uncertainty_ppm": 0.196,
        "clock_is_counter": true,
    });
    let offset = |offset_ns: i64| serde_json::json!({"against": 0, "offset_ns": offset_ns, "uncertainty_ns": 40, "round_trip_ns": 97});
    let (text, page) = counter(serde_json::json!({
        "name": "tsc", "khz": 2_599_998, "invariant": true, "clocksource": "tsc", "rate": rate, "offset": offset(-7),
    }));
    for part in [
        "counter tsc, invariant; the kernel's clock source is tsc",
        "it ran at 2599998.250 kHz +-0.004 ppm; the kernel reports 2599998.000 (kernel log, detected at boot): 0.096 \
         ppm +-0.196 apart",
        "measured with a clock that is based on this counter",
        "its counter and that of CPU 0 agree within 47 ns (round trip 97 ns)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(page.contains("counter tsc, invariant") && page.contains("round trip"));
    let (text, _) = counter(serde_json::json!({
        "name": "tsc", "khz": null, "invariant": false, "clocksource": null, "offset": offset(-9_000),
    }));
    assert!(
        text.contains("NOT invariant; the kernel's clock source is unknown"),
        "{text}"
    );
    assert!(text.contains("is 9 us behind that of CPU 0, +-40 ns"), "{text}");
    let (text, _) = counter(serde_json::json!({"name": "clock_monotonic", "khz": null, "invariant": null}));
    assert!(
        text.contains("invariant or not is unknown") && text.contains("other CPUs is unknown"),
        "{text}"
    );
}

#[test]
fn unrepresentative_conditions_are_marked_and_every_count_is_shown() {
    let mut measurement = measurement("noise", 3_000, &[]);
    let plain = report::measurement_text(&measurement, report::Histograms::Left, Style::Plain);
    let page = report::measurement_html(&measurement, "x.json");
    for words in ["NOT REPRESENTATIVE", "counted:", "not known:"] {
        assert!(!plain.contains(words) && !page.contains(words), "{words}");
    }
    measurement.not_representative = ["cpu_not_isolated", "steal", "of_a_newer_version"]
        .map(str::to_owned)
        .to_vec();
    let count = |name: &str, count: Option<u64>, unit: &str, why: Option<&str>| measure::CountResult {
        name: name.to_owned(),
        count,
        unit: unit.to_owned(),
        source: "somewhere".to_owned(),
        why: why.map(str::to_owned),
    };
    measurement.threads[0].counts = vec![
        count("smi", None, "interrupts", Some("there is no /dev/cpu/1/msr")),
        count("core_throttle", Some(1_234), "events", None),
        count("steal", Some(30_000_000), "ns", None),
    ];
    let text = report::measurement_text(&measurement, report::Histograms::Left, Style::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = report::measurement_html(&measurement, "x.json");
    let sum = "NOT REPRESENTATIVE OF THIS MACHINE: not isolated; the hypervisor took time; of_a_newer_version";
    assert!(words.contains(sum), "{text}");
    assert!(page.contains(&format!("<p class=\"stamp\" role=\"note\">{sum}</p>")));
    for part in [
        "counted: core throttle 1,234, steal 30 ms",
        "not known: smi: there is no /dev/cpu/1/msr",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
    assert!(page.contains("core throttle 1,234") && page.contains("/dev/cpu/1/msr"));
    let painted = report::measurement_text(&measurement, report::Histograms::Left, Style::Colour);
    let red = painted
        .lines()
        .find(|line| line.contains("NOT REPRESENTATIVE"))
        .expect("the line");
    assert!(red.starts_with("\u{1b}["), "{red:?}");
}

#[test]
fn the_text_of_a_plan_matches_the_golden_file() {
    golden::check(
        "plan.txt",
        &report::plan_text(&plan(), None, report::KnobDetail::Short, Style::Plain),
    );
}

#[test]
fn screens_fit_eighty_columns() {
    let texts = [
        report::prove::prove_text(&story(), Style::Plain),
        report::plan_text(&plan(), None, report::KnobDetail::Whole, Style::Plain),
        report::measurement_text(
            &measurement("noise", 3_000, &[]),
            report::Histograms::Drawn,
            Style::Plain,
        ),
    ];
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    let story = hostile();
    let page = report::prove::prove_html(&story);
    assert_eq!(scripts(&page), 1, "a name became markup");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u{1b}[2J\\u{202e}&quot;'&amp;"));
    for output in [
        page,
        report::prove::prove_text(&story, Style::Plain),
        report::plan_text(
            story.plan.as_ref().expect("a plan"),
            None,
            report::KnobDetail::Whole,
            Style::Plain,
        ),
    ] {
        let bad = output
            .chars()
            .find(|letter| letter.is_control() && *letter != '\n' || *letter == '\u{202e}');
        assert_eq!(bad, None, "a control character came through");
    }
}

#[test]
fn the_page_loads_nothing_from_outside() {
    assert_eq!(outside(&report::prove::prove_html(&story())), None);
}

/// Returns a part of the page that would load something from outside. The script is inline, and its references to
/// drawings are not addresses.
fn outside(page: &str) -> Option<&'static str> {
    let page = page.replace("url(#", "").replace("\"http://www.w3.org/2000/svg\"", "");
    let parts = ["http://", "https://", "<link", "src=", "<img", "@import", "url("];
    parts.into_iter().find(|part| page.contains(part))
}

/// Returns the number of scripts on a page. One is its own.
fn scripts(page: &str) -> usize {
    page.to_lowercase().matches("<script").count()
}

#[test]
fn the_page_contains_the_whole_result_as_json() {
    let story = story();
    let page = report::prove::prove_html(&story);
    assert_eq!(inside(&page), story.json().expect("JSON"));
}

/// Returns the JSON that is embedded in a page.
fn inside(page: &str) -> Vec<u8> {
    let body = page
        .split("charset=utf-8,")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a data URI");
    let mut bytes = Vec::new();
    let mut rest = body.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
            let digits = std::str::from_utf8(&digits).expect("ASCII").to_owned();
            bytes.push(u8::from_str_radix(&digits, 16).expect("hexadecimal"));
        } else {
            bytes.push(byte);
        }
    }
    bytes
}

/// Returns the tokens of a text that contain a digit, with their unit if one follows.
fn numbers(text: &str) -> Vec<String> {
    let digit = |letter: char| letter.is_ascii_digit();
    text.split(|letter: char| !(letter.is_ascii_digit() || ".,".contains(letter)))
        .map(|token| token.trim_matches(['.', ',']).to_owned())
        .filter(|token| token.contains(digit))
        .collect()
}

/// Returns the text of a page without its tags, style, script and axis labels.
fn visible(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page.split_once("</head>").expect("a head").1;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        if tag.starts_with("script") {
            rest = tag.split_once("</script>").expect("the end of the script").1;
        } else if tag.starts_with("g class=\"tick\"") || tag.starts_with("g class=\"grid times\"") {
            rest = tag.split_once("</g>").expect("the end of the axis").1;
        } else {
            rest = tag.split_once('>').expect("the end of a tag").1;
        }
    }
    text
}

/// Collects every form in which a number of the model may be shown.
fn forms(value: &Value, forms_of: &mut BTreeSet<String>) {
    match value {
        Value::Number(number) => {
            let mut add = |text: String| forms_of.extend(numbers(&text));
            if let Some(number) = number.as_u64() {
                add(number.to_string());
                add(machine::Nanos(number).to_string());
                let digits = number.to_string();
                let groups: Vec<&str> = digits
                    .as_bytes()
                    .rchunks(3)
                    .rev()
                    .map(|part| std::str::from_utf8(part).expect("ASCII"))
                    .collect();
                add(groups.join(","));
            }
            if let Some(number) = number.as_f64() {
                for digits in [0, 1, 3] {
                    add(format!("{number:.digits$}"));
                }
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let whole = number.abs().round() as u64;
                add(machine::Nanos(whole).to_string());
                for scale in [1_000, 1_000_000, 1_000_000_000] {
                    if whole.is_multiple_of(scale) {
                        add((whole / scale).to_string());
                    }
                }
            }
        }
        Value::String(text) => forms_of.extend(numbers(text)),
        Value::Array(values) => values.iter().for_each(|value| forms(value, forms_of)),
        Value::Object(fields) => fields.values().for_each(|value| forms(value, forms_of)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Recomputes from the model every value that the page computes.
fn derived(story: &ProveRecord) -> BTreeSet<String> {
    let mut text = String::from("99 99.9 95 %");
    let thread = |phase: &Option<ProvePhase>| {
        phase
            .as_ref()
            .and_then(|phase| phase.noise.as_ref())
            .map(|result| result.threads[0].clone())
    };
    for thread in [&story.before, &story.during].into_iter().filter_map(thread) {
        let share = thread.stolen_ns.unwrap_or(0) as f64 * 100.0 / thread.duration_ns as f64;
        let stolen_ms_per_s = share * 10.0;
        let rate = thread.expected as f64 * 1e9 / thread.duration_ns as f64;
        let whole = rate.round() as u64;
        text.push_str(&format!(
            " {share:.2} {share:.4} {stolen_ms_per_s:.1} {rate:.1} {},{:03}",
            whole / 1_000,
            whole % 1_000
        ));
        text.push_str(&format!(" {}", thread.gaps.as_ref().map_or(0, Vec::len)));
    }
    for phase in [&story.before, &story.during].into_iter().flatten() {
        let third = phase
            .latency
            .as_ref()
            .map_or(0, |result| result.threads[0].recorded / 3);
        text.push_str(&format!(" {},{:03} ", third / 1_000, third % 1_000));
    }
    let plan = story.plan.as_ref().expect("a plan");
    let mut by_knob = std::collections::BTreeMap::<&str, usize>::new();
    for change in &plan.changes {
        *by_knob.entry(change.id.split('/').next().expect("a name")).or_default() += 1;
    }
    for count in by_knob.values() {
        text.push_str(&format!(" {count}"));
    }
    for knob in plan::KNOBS {
        text.push_str(&format!(" {}", knob.what));
    }
    numbers(&text).into_iter().collect()
}

#[test]
fn every_number_on_the_page_comes_from_the_model() {
    let mut story = story();
    story.residue[0].rows[0].count = 987_654;
    let mut allowed = derived(&story);
    forms(&serde_json::to_value(&story).expect("JSON"), &mut allowed);
    let shown = numbers(&visible(&report::prove::prove_html(&story)));
    assert!(
        shown.contains(&"987,654".to_owned()),
        "the check sees the page's numbers"
    );
    assert!(shown.len() > 100);
    let invented: BTreeSet<&String> = shown.iter().filter(|number| !allowed.contains(*number)).collect();
    assert_eq!(invented, BTreeSet::new());
}

#[test]
fn the_headline_of_a_plan_names_other_owners_of_the_isolated_cpus() {
    let mut plan = plan();
    plan.shared_with = ["/torque/1", "/torque/2", "/torque/3", "/torque/4"]
        .map(str::to_owned)
        .to_vec();
    let expected = "CPU 1 NOT for you alone: 4 cpusets of other owners keep their tasks there (/torque/1, /torque/2, \
         /torque/3 and 1 more)";
    assert_eq!(report::promise(&plan), expected);
    let text = report::plan_text(&plan, None, report::KnobDetail::Short, Style::Plain);
    let head = text.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(head.contains(expected), "{text}");
    let mut story = story();
    story.plan = Some(plan.clone());
    let page = report::prove::prove_html(&story);
    assert!(page.contains("CPU 1 isolated but NOT exclusive (4 cpusets of other owners"));
    plan.without.push("cpuset_partition".to_owned());
    assert!(report::promise(&plan).contains("NOT for you alone: without a cpuset partition"));
}
