//! The option `--method`: kernel tracers that can measure instead of our own samplers.

use clap::ValueEnum;
use measure::KernelTracer;

/// What can wake threads instead of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LatencyTracer {
    /// The kernel's timerlat tracer: a timer and a thread of the kernel on each CPU (SCHED_FIFO 95)
    Timerlat,
}

/// What can look for gaps instead of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoiseTracer {
    /// The kernel's osnoise tracer: a thread of the kernel on each CPU that never sleeps
    Osnoise,
}

impl From<LatencyTracer> for KernelTracer {
    fn from(_: LatencyTracer) -> KernelTracer {
        KernelTracer::Timerlat
    }
}

impl From<NoiseTracer> for KernelTracer {
    fn from(_: NoiseTracer) -> KernelTracer {
        KernelTracer::Osnoise
    }
}
