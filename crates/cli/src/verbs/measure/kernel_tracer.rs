//! The option `--tracer`: kernel tracers that can measure instead of our own samplers.

use crate::flags::value_words;
use measure::KernelTracer;

value_words! {
    /// What can wake threads instead of us.
    pub enum LatencyTracer for KernelTracer {
        /// The kernel's timerlat tracer: a timer and a thread of the kernel on each CPU (SCHED_FIFO 95)
        Timerlat,
    }
}

value_words! {
    /// What can look for gaps instead of us.
    pub enum NoiseTracer for KernelTracer {
        /// The kernel's osnoise tracer: a thread of the kernel on each CPU that never sleeps
        Osnoise,
    }
}
