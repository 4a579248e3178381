//! The screen of `predict`.

use crate::support::models;
use crate::support::predicted::prediction;
use predict::OtherCpus;
use report::{Style, blame_html, prediction_text, prediction_verdict};

#[test]
fn changes_are_listed_best_first_with_what_they_need() {
    let expected = "\
CPU 3: 1.2 ms of each second stolen; all safe changes together leave 80 us

Next:
  quietcore apply --cpus 3 --with stat_interval
  quietcore boot set --cpus 3

Watched for 30 s: 7,530 gaps. With the same load, another watch of this length
  lies in the range in nine of ten cases.

 stolen/s               range   gaps/s   longest  with
   1.2 ms     1.1 ms - 1.4 ms      251    350 us  no change
    80 us       72 us - 96 us      0.5      9 us  all safe changes
            needs a reboot; without cpu_cycle, which has risks; moves up to 12
            us to other CPUs
   180 us     162 us - 216 us      3.0     40 us  boot line
            needs a reboot; costs speed
   1.1 ms     972 us - 1.3 ms      250    350 us  stat_interval
            rare: watch for 100 s
   1.2 ms     1.1 ms - 1.4 ms      251    350 us  profile minimal
            no effect seen

Periodic wake-ups that gaps delay: 0.1% by at least 35 us (900 ns with the
  first change), 0.01% by at least 175 us (4.5 us with the first change).

No change removes:
    30 us  firmware: no cure is known
     5 us  without a known cause
";
    assert_eq!(prediction_text(&prediction(), Style::Plain), expected);
}

#[test]
fn the_latency_without_gaps_is_shown_with_the_delays() {
    let mut measured = prediction();
    measured.base_latency_ns = Some(3_200);
    let text = prediction_text(&measured, Style::Plain).replace("\n  ", " ");
    assert!(
        text.contains("Without gaps, half of those of a real-time thread are at most 3.2 us late."),
        "{text}"
    );
}

#[test]
fn what_is_left_without_the_trace_is_shown_where_it_was_measured() {
    let mut measured = prediction();
    measured.untraced = Some(predict::UntracedShares {
        stolen: 0.914,
        gaps: 1.0,
        gaps_10us: 0.6,
    });
    let text = prediction_text(&measured, Style::Plain).replace("\n  ", " ");
    let line = "A second without the trace had 91% of the time in gaps below 100 us, and 60% of the gaps from 10 us;";
    assert!(text.contains(line), "{text}");
}

#[test]
fn limits_of_a_prediction_are_reported_first() {
    let mut limited = prediction();
    limited.lost_events = 3;
    limited.unlisted_gaps = 7;
    let text = prediction_text(&limited, Style::Plain);
    let table = text.find("stolen/s").unwrap();
    for words in ["lost events", "Memory did not hold"] {
        assert!(text.find(words).is_some_and(|at| at < table), "{words}: {text}");
    }
}

#[test]
fn a_watch_without_gaps_or_causes_promises_nothing() {
    let mut quiet = prediction();
    quiet.gaps = 0;
    quiet.changes.clear();
    quiet.remaining.clear();
    assert_eq!(
        prediction_verdict(&quiet),
        "CPU 3: no gap was seen, so there is nothing to gain\n"
    );
    let mut unexplained = prediction();
    unexplained
        .changes
        .retain(|change| change.removed_ns_per_s.value == 0.0);
    unexplained.remaining.clear();
    unexplained.unexplained_ns_per_s = unexplained.now.stolen_ns_per_s.value;
    let text = prediction_text(&unexplained, Style::Plain);
    assert!(text.contains("no predicted change removes any of it"), "{text}");
    assert!(text.contains("No gap has a known cause"), "{text}");
    assert!(!text.contains("Next:"), "{text}");
}

#[test]
fn work_that_moves_is_shown_with_the_load_of_the_other_cpus() {
    let mut busy = prediction();
    busy.others = Some(OtherCpus {
        count: 3,
        busy_share: 0.34,
    });
    busy.changes[0].others_busy_share = Some(0.452);
    let text = prediction_text(&busy, Style::Plain)
        .replace("\n            ", " ")
        .replace("\n  ", " ");
    for words in [
        "The other CPUs were busy 34% of the time.",
        "moves up to 12 us to other CPUs, then busy up to 45%",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_page_of_blame_lists_the_changes_that_have_an_effect() {
    let answer = models::blamed::answer("make");
    let environment = models::measurement("noise", 1_000, &[]).environment;
    let mut page = models::blamed::plain_page(&answer, &environment);
    let title = "What each change would gain";
    assert!(!blame_html(&page).contains(title));
    let prediction = prediction();
    page.prediction = Some(&prediction);
    let html = blame_html(&page);
    let (_, section) = html.split_once(title).unwrap();
    let section = section.split_once("</section>").unwrap().0.replace('\u{a0}', " ");
    for words in [
        "all safe changes together leave 80 µs",
        "<code>quietcore boot set --cpus 3</code>",
        "rare: watch for 100 s",
    ] {
        assert!(section.contains(words), "{words}: {section}");
    }
    assert!(!section.contains("profile minimal"), "{section}");
}
