//! Tests the scores with artificial disturbances and results.

use super::*;
use crate::inject::event::DisturbanceKind;
use crate::truth::seen::bins_of_width;

const LENGTHS: &[u64] = &[5_000, 10_000, 20_000, 1_000_000, 2_000_000, 5_000_000];

fn event(wanted_ns: u64, begin_ns: u64, length_ns: u64) -> InjectedDisturbance {
    InjectedDisturbance {
        kind: DisturbanceKind::Preempt,
        intended_ns: wanted_ns,
        begin_ns,
        end_ns: begin_ns + length_ns,
    }
}

fn seen(counts: &[(u64, u64)]) -> ToolReading {
    ToolReading {
        bins: bins_of_width(counts.iter().copied(), 1_000, Some(1_024_000)),
        duration_ns: 1_000,
        ..ToolReading::default()
    }
}

fn bounds(length_ns: u64, ceiling: Option<u64>) -> (u64, u64) {
    let window = window(length_ns, LENGTHS, of_preemptions(2_000), ceiling);
    (window.low_ns, window.high_ns)
}

#[test]
fn windows_do_not_overlap_and_are_shared_above_the_ceiling() {
    assert_eq!(bounds(5_000, None), (2_000, 9_500));
    assert_eq!(bounds(10_000, None), (9_500, 17_000));
    assert_eq!(bounds(20_000, None), (17_000, 42_000));
    assert_eq!(bounds(5_000_000, None), (4_992_000, 5_022_000));
    let oslat = Some(1_024_000);
    assert_eq!(bounds(1_000_000, oslat), (992_000, 1_022_000));
    assert_eq!(bounds(2_000_000, oslat), (1_024_000, u64::MAX));
    assert_eq!(bounds(5_000_000, oslat), (1_024_000, u64::MAX));
}

#[test]
fn recall_subtracts_the_control_run() {
    let events = [
        event(5_000, 0, 5_010),
        event(5_000, 100_000, 5_010),
        event(5_000, 200_000, 5_900),
    ];
    let of_five = window(5_000, LENGTHS, of_preemptions(2_000), None);
    let control = seen(&[(7_000, 2), (12_000, 50)]);
    let recall_of = |counts: &[(u64, u64)]| recall(&seen(counts), &control, &events, of_five);
    assert_eq!(recall_of(&[(7_000, 5)]), Some(1.0));
    assert_eq!(recall_of(&[(7_000, 4), (9_500, 100)]), Some(2.0 / 3.0));
    assert_eq!(recall_of(&[(7_000, 1)]), Some(0.0), "never below nothing");
    assert_eq!(recall_of(&[(6_000, 50)]), Some(1.0), "never above everything");
    assert_eq!(recall(&seen(&[]), &control, &[], of_five), None);
    let twice_as_long = ToolReading {
        duration_ns: 2_000,
        ..control.clone()
    };
    assert_eq!(
        recall(&seen(&[(7_000, 4)]), &twice_as_long, &events, of_five),
        Some(1.0)
    );
}

#[test]
fn the_truth_of_a_shared_window_is_every_event_in_it() {
    let events = [event(2_000_000, 0, 2_000_100), event(5_000_000, 9_000_000, 5_000_100)];
    let shared = window(5_000_000, LENGTHS, of_preemptions(2_000), Some(1_024_000));
    let half = seen(&[(1_024_000, 1)]);
    assert_eq!(recall(&half, &seen(&[]), &events, shared), Some(0.5));
    assert_eq!(
        differences(&half, &seen(&[]), shared),
        None,
        "lengths are not told apart there"
    );
}

#[test]
fn differences_are_spread_over_bins_and_the_control_is_subtracted() {
    let ten = window(10_000, LENGTHS, of_preemptions(2_000), None);
    let all = differences(&seen(&[(12_000, 10), (30_000, 9)]), &seen(&[(12_000, 5)]), ten).unwrap();
    let weight: f64 = all.iter().map(|(_, weight)| weight).sum();
    assert!((weight - 5.0).abs() < 1e-9, "{weight}");
    let low = all.iter().map(|(value, _)| *value).fold(f64::MAX, f64::min);
    let high = all.iter().map(|(value, _)| *value).fold(f64::MIN, f64::max);
    assert!(
        (low - 2_050.0).abs() < 1e-6 && (high - 2_950.0).abs() < 1e-6,
        "{low} {high}"
    );
    let mut exact = seen(&[]);
    exact.bins = vec![DurationBin {
        low_ns: 12_345,
        high_ns: Some(12_346),
        count: 1,
    }];
    assert_eq!(differences(&exact, &seen(&[]), ten), Some(vec![(2_345.0, 1.0)]));
}

#[test]
fn a_gap_must_cover_the_disturbance_and_spoiled_events_do_not_count() {
    let events = [
        event(10_000, 100_000, 10_000),
        event(10_000, 200_000, 10_000),
        event(10_000, 300_000, 10_000),
        event(10_000, 400_000, 12_001),
        event(20_000, 500_000, 20_000),
    ];
    // The first is covered, the second only by half, the third not at all, and the fourth was spoiled.
    let gaps = [
        (50, 60),
        (99_000, 111_500),
        (205_000, 230_000),
        (399_000, 413_000),
        (499_000, 521_000),
    ];
    let found = overlap(&gaps, &events, 10_000);
    assert_eq!((found.injected, found.found), (3, 1));
    assert_eq!(found.excess_ns, [2_500.0]);
    assert_eq!(events.iter().filter(|event| event.spoiled()).count(), 1);
}

#[test]
fn a_short_gap_before_does_not_hide_the_covering_gap() {
    let gaps = [(99_000, 100_100), (100_200, 111_000)];
    assert_eq!(overlap(&gaps, &[event(10_000, 100_000, 10_000)], 10_000).found, 1);
}

#[test]
fn an_interrupt_is_detected_by_an_overlapping_gap() {
    let ipi = |begin_ns| InjectedDisturbance {
        kind: DisturbanceKind::Ipi,
        intended_ns: 0,
        begin_ns,
        end_ns: begin_ns + 2_000,
    };
    let gaps = [(10_500, 11_500), (80_000, 81_000)];
    assert_eq!(
        count_detected(&gaps, &[ipi(10_000), ipi(40_000), ipi(79_000), ipi(90_000)]),
        2
    );
}

#[test]
fn late_wake_ups_are_reported_as_late_or_missed() {
    // 4.8 ms and 0.8 ms beyond the limit: 5.6 expected wake-ups at an interval of one millisecond.
    let events = [
        event(5_000_000, 0, 5_000_000),
        event(1_000_000, 9_000_000, 1_000_000),
        event(5_000, 1, 5_000),
    ];
    assert!((late_expected(&events, 1_000_000) - 5.6).abs() < 1e-9);
    let silent = seen(&[(199_000, 7), (900_000, 1), (1_024_000, 1)]);
    let control = seen(&[(300_000, 1)]);
    assert_eq!(late_reported(&silent, &control), 1.0);
    let honest = ToolReading {
        missed: Some(4),
        ..silent
    };
    assert_eq!(late_reported(&honest, &control), 5.0);
}

#[test]
fn unreported_wake_ups_are_expected_minus_recorded_and_missed() {
    let mut run = ToolReading {
        expected: Some(4_000),
        recorded: 3_464,
        ..ToolReading::default()
    };
    assert_eq!(unreported(&run), Some(536));
    run.missed = Some(536);
    assert_eq!(unreported(&run), Some(0));
    run.recorded += 1;
    assert_eq!(unreported(&run), Some(-1));
    run.expected = None;
    assert_eq!(unreported(&run), None);
}

#[test]
fn the_switching_cost_is_measured_with_a_bare_loop() {
    let bare = |wanted_ns, length_ns| InjectedDisturbance {
        kind: DisturbanceKind::Switch,
        ..event(wanted_ns, 0, length_ns)
    };
    let all = [
        bare(5_010, 8_010),
        bare(5_000, 9_000),
        bare(7_001, 20_000),
        bare(10_000, 11_000),
    ];
    assert_eq!(bare_excess_ns(&all, 5_000), [3_000.0, 4_000.0]);
    assert_eq!(bare_excess_ns(&all, 10_000), [1_000.0]);
}
