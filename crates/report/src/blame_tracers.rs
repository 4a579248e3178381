//! Formats reports of kernel tracers next to the answer of `blame`: the functions in which the time of the longest gaps was
//! spent, and the findings of a later hwlat run. The screen and the page share these sentences.

use crate::style::{counted, safe};
use ::blame::{FunctionsReport, HwlatCpu, HwlatReport};
use machine::Nanos;
use serde::Serialize;
use std::fmt::Write as _;

/// Number of functions shown of a call chain, innermost ones.
const MAX_FUNCTIONS: usize = 4;

/// The reports; `None` for tracers that were not requested.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tracers<'a> {
    /// The functions in which the time was spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<&'a FunctionsReport>,
    /// The findings of hwlat, which ran afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hwlat: Option<&'a HwlatReport>,
}

/// For a screen: the functions of each gap, and the findings of hwlat.
#[must_use]
pub fn tracers_text(tracers: Tracers) -> String {
    let mut text = tracers.functions.map_or_else(String::new, functions_text);
    for line in tracers.hwlat.map_or_else(Vec::new, hwlat_lines) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn functions_text(report: &FunctionsReport) -> String {
    let mut text = String::new();
    for gap in &report.gaps {
        let _ = writeln!(
            text,
            "\nCPU {}: functions in the gap of {} at {} s; they took {} of it",
            gap.cpu,
            Nanos(gap.duration_ns),
            seconds(gap.start_ns),
            Nanos(gap.in_functions_ns)
        );
        for function in &gap.functions {
            let _ = writeln!(
                text,
                "  {:>10} {:>7}x  {}{}",
                Nanos(function.net_ns).to_string(),
                function.calls,
                safe(&function.name),
                safe(&way(&function.way))
            );
        }
        if gap.left_out > 0 {
            let _ = writeln!(
                text,
                "  {:>10}           {}",
                Nanos(gap.left_out_ns).to_string(),
                counted(gap.left_out, "other function")
            );
        }
    }
    text
}

/// A trace timestamp, to the microsecond: `1234.000056`.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

/// ` < irq_exit_rcu < sysvec_call_function_single`: innermost first, not yet escaped.
pub(crate) fn way(functions: &[String]) -> String {
    let mut text = String::new();
    for function in functions.iter().rev().take(MAX_FUNCTIONS) {
        let _ = write!(text, " < {function}");
    }
    if functions.len() > MAX_FUNCTIONS {
        text.push_str(" < ...");
    }
    text
}

/// Notes about the functions, without a line end.
#[must_use]
pub fn functions_note(report: &FunctionsReport) -> String {
    if let Some(why) = &report.why {
        return format!("functions are not reported: {why}");
    }
    let lost = match report.lost {
        0 => String::new(),
        lost => format!(
            "\n  {lost} records of functions did not fit into the buffers{}, and their time is not reported: use a \
             larger --buffer",
            lost_of(report)
        ),
    };
    format!(
        "function_graph was active during the measurement: it slows down every kernel function on all CPUs, and gaps \
         become longer; without --functions they are shorter{lost}"
    )
}

/// The number of losses per CPU.
fn lost_of(report: &FunctionsReport) -> String {
    let each: Vec<String> = report
        .lost_of
        .iter()
        .map(|of| format!("CPU {}: {}", of.cpu, of.lost))
        .collect();
    match each.is_empty() {
        true => String::new(),
        false => format!(" ({})", each.join(", ")),
    }
}

/// The findings of hwlat: a sentence for each CPU, or why it did not run.
pub(crate) fn hwlat_lines(report: &HwlatReport) -> Vec<String> {
    match &report.why {
        Some(why) => vec![format!("hwlat did not run: {why}")],
        None => report.cpus.iter().map(|cpu| hwlat_line(report, cpu)).collect(),
    }
}

fn hwlat_line(report: &HwlatReport, of: &HwlatCpu) -> String {
    let looked = match (report.width_us, report.window_us) {
        (Some(width_us), Some(window_us)) => format!(
            ", for {} of each {}",
            Nanos(width_us.saturating_mul(1_000)),
            Nanos(window_us.saturating_mul(1_000))
        ),
        _ => String::new(),
    };
    let (time, threshold) = (Nanos(report.duration_ns), Nanos(report.threshold_ns));
    let nmis = match of.nmis {
        0 => "no NMI arrived during that time",
        _ => "NMIs arrived during that time and may explain part of it",
    };
    match of.samples {
        0 => format!(
            "hwlat on CPU {}: in {time} with interrupts disabled{looked} no gap of {threshold} was found: the hardware \
             took no time",
            of.cpu
        ),
        samples => format!(
            "hwlat on CPU {}: in {time} with interrupts disabled{looked} time was lost {} times in {samples} windows, \
             at most {} at once: the hypervisor, the firmware (SMI) or the hardware takes time here; {nmis}",
            of.cpu,
            of.hits,
            crate::bound::rounded(of.max_ns, crate::bound::BoundSide::Upper)
        ),
    }
}
