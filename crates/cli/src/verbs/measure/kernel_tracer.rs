//! The option `--method`: kernel tracers that can measure instead of our own samplers.

use clap::ValueEnum;
use measure::Method;

/// What can wake threads instead of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Waking {
    /// The kernel's timerlat tracer: a timer and a thread of the kernel on each CPU (SCHED_FIFO 95)
    Timerlat,
}

/// What can look for gaps instead of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Spinning {
    /// The kernel's osnoise tracer: a thread of the kernel on each CPU that never sleeps
    Osnoise,
}

impl From<Waking> for Method {
    fn from(_: Waking) -> Method {
        Method::Timerlat
    }
}

impl From<Spinning> for Method {
    fn from(_: Spinning) -> Method {
        Method::Osnoise
    }
}
