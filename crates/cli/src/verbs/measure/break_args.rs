//! The options `--break-trace` and `--trace-out`.

use clap::ValueEnum;
use std::path::{Path, PathBuf};
use tracing::break_trace::{BreakTrace, BreakTraceChoice, TraceRequirement};

/// Arguments about the trace of `--break`.
#[derive(clap::Args)]
pub struct BreakArgs {
    /// With --break: which trace to stop at that sample, with a marker [default: own]
    ///
    /// If a trace is requested (also by --trace-out) and not possible, the measurement ends. The default continues and the
    /// result says so.
    #[arg(long, value_name = "WHICH", requires = "limit")]
    break_trace: Option<BreakTraceArg>,
    /// Write that trace to this file [default: that of --out with .trace, else in /run/quietcore]
    #[arg(long, value_name = "FILE", requires = "limit")]
    trace_out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BreakTraceArg {
    /// Our own: interrupts, softirqs, IPIs, switches, timers and work items of all CPUs
    Own,
    /// The one that you started in the top directory of tracefs; it stays stopped
    Top,
    /// No trace
    None,
}

impl BreakArgs {
    /// The trace to freeze; `None` where there is none. `out` is the result file.
    pub fn trace(&self, out: Option<&Path>) -> Option<BreakTrace> {
        let beside = || out.map(|out| out.with_extension("trace"));
        let need = match self.break_trace.is_some() || self.trace_out.is_some() {
            true => TraceRequirement::Required,
            false => TraceRequirement::Optional,
        };
        match self.break_trace.unwrap_or(BreakTraceArg::Own) {
            BreakTraceArg::None => None,
            BreakTraceArg::Own => Some(BreakTrace {
                which: BreakTraceChoice::Own,
                need,
                file: self.trace_out.clone().or_else(beside),
            }),
            BreakTraceArg::Top => Some(BreakTrace {
                which: BreakTraceChoice::Top,
                need,
                file: self.trace_out.clone(),
            }),
        }
    }
}
