//! Formats facts about the counter that a thread has read: whether it is steady, its rate, its offset from other CPUs.

use crate::units::time;
use measure::{CounterInfo, CounterOffset, CounterRate, ThreadResult};

/// One line each, without indent; none for a thread that read no counter.
pub(super) fn lines(thread: &ThreadResult) -> Vec<String> {
    let Some(counter) = &thread.counter else {
        return Vec::new();
    };
    let mut lines = vec![what(counter)];
    lines.extend(counter.rate.as_ref().map(rate));
    lines.push(match counter.offset {
        Some(offset) => offset_text(offset),
        None => "the offset to the counters of other CPUs is unknown".to_owned(),
    });
    lines
}

fn what(counter: &CounterInfo) -> String {
    let steady = match counter.invariant {
        Some(true) => "invariant",
        Some(false) => "NOT invariant",
        None => "invariant or not is unknown",
    };
    let clocksource = counter.clocksource.as_deref().unwrap_or("unknown");
    format!(
        "counter {}, {steady}; the kernel's clock source is {}",
        crate::style::safe(&counter.name),
        crate::style::safe(clocksource)
    )
}

fn rate(rate: &CounterRate) -> String {
    let mut text = format!("it ran at {:.3} kHz +-{} ppm", rate.khz, ppm(rate.uncertainty_ppm));
    match (rate.kernel_khz, &rate.kernel_says, rate.apart_ppm) {
        (Some(khz), Some(from), Some(apart)) => {
            let doubt = rate
                .apart_uncertainty_ppm
                .map_or_else(String::new, |doubt| format!(" +-{}", ppm(doubt)));
            text.push_str(&format!(
                "; the kernel reports {khz:.3} ({}): {} ppm{doubt} apart",
                crate::style::safe(from),
                ppm(apart)
            ));
        }
        _ => text.push_str("; the frequency that the kernel assumes is unknown"),
    }
    if rate.clock_is_counter == Some(true) {
        text.push_str(", measured with a clock that is based on this counter");
    }
    text
}

fn offset_text(offset: CounterOffset) -> String {
    let doubt = time(offset.uncertainty_ns);
    let trip = time(offset.round_trip_ns);
    let ns = offset.offset_ns.unsigned_abs();
    match ns <= offset.uncertainty_ns {
        true => format!(
            "its counter and that of CPU {} agree within {} (round trip {trip})",
            offset.against,
            time(ns.saturating_add(offset.uncertainty_ns))
        ),
        false => format!(
            "its counter is {} {} that of CPU {}, +-{doubt} (round trip {trip})",
            time(ns),
            if offset.offset_ns < 0 { "behind" } else { "ahead of" },
            offset.against
        ),
    }
}

/// Parts per million, with the necessary digits.
fn ppm(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.001 => format!("{value:.0e}"),
        size if size < 1.0 => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    }
}
