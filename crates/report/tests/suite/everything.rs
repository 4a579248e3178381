//! A result with every field, on the screen, on the page and in the output of `report`. Each part appears in all three,
//! and what must not be mixed has its own name.

use measure::Measurement;
use report::{Histograms, Style};
use std::path::Path;

fn fixture() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    std::fs::read(path).unwrap()
}

fn everything() -> Measurement {
    serde_json::from_slice(&fixture()).unwrap()
}

fn screen() -> String {
    report::measurement_text(&everything(), Histograms::Drawn, Style::Plain)
}

fn all_output() -> String {
    let recording = formats::read(&mut fixture().as_slice()).unwrap();
    report::recording_text(&recording, Style::Plain)
}

fn page() -> String {
    report::measurement_html(&everything(), "everything.json")
}

/// Returns the words of a text, or of a page without its tags, separated by single spaces.
fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for letter in text.chars() {
        match letter {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                plain.push(' ');
            }
            _ if inside => {}
            '\u{a0}' => plain.push(' '),
            'µ' => plain.push('u'),
            other => plain.push(other),
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text that all three must contain for each part of the result.
const PARTS: [(&str, &str); 27] = [
    ("until the interrupt", "until the timer's interrupt: p50 1.7 us"),
    ("counts", "counted: core throttle 1,234"),
    ("counts without a number", "not known: smi: there is no /dev/cpu/3/msr"),
    (
        "accounts of wake-ups",
        "99,300 wake-ups expected = 98,995 recorded + 305 missed",
    ),
    ("accounts of gaps", "5,014 gaps found = 5,011 recorded + 3 missed"),
    ("deviation", "deviation 95.7 us"),
    ("mode", "mode 2.1 us"),
    ("p99.999", "p99.999 301.0 ms"),
    (
        "schedule",
        "all 99,295 expected, missed ones with their estimated latency: p50 2.1 us",
    ),
    ("period", "at most 299.1 ms too long, 298.1 ms too short"),
    ("early", "early: 17 wake-ups, by at most 41.3 us"),
    (
        "spikes",
        "5 late by 65 us or more: the latest: 70.2 us at 12.00 s, 301.1 ms at 45.00 s",
    ),
    (
        "proof of wake-ups",
        "310 of 99,300 were later than 52 us; with 95 % confidence at most 0.0035 of all wake-ups are",
    ),
    ("claim about wake-ups", "the claim of 1.5e-6 is REFUTED"),
    (
        "proof of gaps",
        "7 gaps were longer than 61 us; with 95 % confidence there are at most 0.15 of them per second",
    ),
    (
        "claim about gaps",
        "the claim of 0.002 is not shown yet; this needs 25 min in total",
    ),
    ("stolen", "17.7 ms used by others"),
    (
        "caused by the tool itself",
        "50.1 ms were caused by the tool itself (4,102 wake-ups, real-time throttling)",
    ),
    ("steal", "20 ms used by the hypervisor, from /proc/stat"),
    ("own faults", "the sampler had 6 page faults and was preempted 13 times"),
    ("turns", "shortest loop 24 ns"),
    (
        "programs",
        "hackbench: started 14 times; 11 succeeded, 2 did not (killed by signal 11); it ended repeatedly right after \
         its start",
    ),
    ("findings", "the hypervisor took 30 ms"),
    ("counter", "counter tsc, invariant; the kernel's clock source is tsc"),
    (
        "rate of the counter",
        "it ran at 2595123.250 kHz +-0.004 ppm; the kernel reports 2595120.500 (kernel log, detected at boot): 1.1 ppm",
    ),
    (
        "offset of the counter",
        "its counter is 57 ns behind that of CPU 2, +-41 ns (round trip 97 ns)",
    ),
    ("more findings", "it was stopped by a late wake-up"),
];

#[test]
fn every_part_of_a_result_is_on_screen_page_and_report() {
    for (name, text) in [("screen", screen()), ("page", page()), ("report", all_output())] {
        let words = words(&text);
        for (part, wanted) in PARTS {
            assert!(words.contains(wanted), "{name}: {part}: {wanted}\n{words}");
        }
    }
    for (name, text) in [("screen", screen()), ("page", page())] {
        let wanted = "NOT REPRESENTATIVE OF THIS MACHINE: not isolated; the hypervisor took time";
        assert!(words(&text).contains(wanted), "{name}: {}", words(&text));
        let wanted = "after 99.30 s: CPU 3 had 301.1 ms, the limit was 300 ms";
        assert!(words(&text).contains(wanted), "{name}: {}", words(&text));
    }
}

#[test]
fn samples_and_expected_wake_ups_are_shown_separately() {
    let screen = screen();
    for name in ["  CPU 3, as sampled  ", "  CPU 3, all expected  ", "  CPU 3, gaps  "] {
        assert_eq!(screen.matches(name).count(), 1, "{name}\n{screen}");
    }
    let (sampled, due) = (
        screen.split("as sampled").nth(1).unwrap(),
        screen.split("all expected  ").nth(1).unwrap(),
    );
    assert!(due.contains(" 300\n") && !sampled.split("all expected").next().unwrap().contains(" 300\n"));
    let page = page();
    let words = words(&page);
    let legend = "CPU 3 98,995 wake-ups all expected 99,295; missed ones count with their estimated latency";
    assert!(words.contains(legend), "{words}");
    assert!(words.contains("CPU 3: worst 301.1 ms") && words.contains("CPU 3: worst 4.4 us"));
    for id in ["samples", "gaps", "period"] {
        for scale in ["logs", "lins"] {
            assert_eq!(
                page.matches(&format!("<title id=\"{id}-{scale}-t\">")).count(),
                1,
                "{id}"
            );
        }
    }
    // The drawing of wake-ups has two curves, that of gaps one, that of the period one, each in both scales.
    assert_eq!(page.matches("<path class=\"curve k1\"").count(), 2);
    assert_eq!(page.matches("<path class=\"curve k0\"").count(), 6);
    for row in ["3", "3, all expected", "3, period deviation"] {
        assert!(page.contains(&format!("<th scope=\"row\">{row}</th>")), "{row}");
    }
    for heading in ["Wake-up latency", "Noise", "Wake-ups on every CPU", "Gaps on every CPU"] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    assert!(words.contains("The latest wake-up was 301.1 ms late. The program was stopped for at most 4.5 us."));
    let reported = all_output();
    for name in ["CPU 3 ", "CPU 3 due ", "CPU 3 period ", "CPU 3 early ", "CPU 3 gaps "] {
        assert!(reported.contains(&format!("\n{name}")), "{name}\n{reported}");
    }
}

/// The two kinds are separate sets of samples: the maximum or sum of one is not shown for the other.
#[test]
fn latency_and_noise_are_not_mixed_on_the_page() {
    let words = words(&page());
    for tile in [
        "worst wake-up 301.1 ms",
        "99.9 % of wake-ups within 3.3 us",
        "wake-ups recorded 98,995",
        "wake-ups missed 305",
        "longest gap in a busy loop 4.4 us",
        "gaps per second 50.5",
        "CPU time used by others 0.02 %",
    ] {
        assert!(words.contains(tile), "{tile}\n{words}");
    }
}

/// What limits the numbers stands above them; facts about the machine come last.
#[test]
fn the_report_of_a_file_begins_with_its_limits() {
    let text = all_output();
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
    let order = [
        "complete: false",
        "not_representative.0: cpu_not_isolated",
        "samples      p50",
        "Machine and run",
        "hypervisor: kvm",
    ];
    assert!(order.map(place).is_sorted(), "{text}");
    assert_eq!(text.matches("not_representative.0").count(), 1);
}
