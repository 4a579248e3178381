//! Measures wake-up latency on a CPU, and gaps in a busy loop.
//!
//! A child process samples on the measured CPUs; the caller collects on the others. See [`run`].

mod accumulate;
mod check;
mod child;
mod choices;
mod clock;
mod collect;
mod conditions;
pub mod configuration;
mod counter;
mod counter_facts;
mod counts;
mod course;
mod environment;
mod error;
mod findings;
mod finish;
pub mod gaps;
pub mod labels;
mod lane;
pub mod load;
pub mod method;
mod os;
pub mod programs;
mod progress;
mod proof;
mod request;
mod result;
mod rights;
mod ring;
mod sampler;
mod sampler_policy;
mod seccomp;
mod shared;
mod spin;
mod stats;
mod timer;

pub use choices::{
    Break, BreakAction, BreakSample, Clock, Deadline, IdleStates, KernelTracer, MeasurementKind, Sleep, SystemCalls,
};
pub use collect::run;
pub use conditions::condition_words;
pub use environment::Environment;
pub use error::MeasureError;
pub use findings::note;
pub use lane::{Lane, LaneLifetime, PolicyFallback};
pub use progress::{MeasurementPhase, Progress, ThreadProgress};
pub use proof::{Claim, ClaimJudgement, ClaimVerdict, Proof};
pub use request::{CgroupJoin, MeasureRequest, RawGap, RawWindow, ResultSink, Watcher};
pub use result::{
    CountResult, CounterInfo, CounterOffset, CounterRate, Distribution, EarlyWakeUps, GapFileSummary, GapLabel, Jitter,
    LateWakeUp, MeasuredGap, Measurement, Note, NoteLevel, OwnDisturbances, SCHEMA, ThreadResult, TimeSeries,
};
pub use sampler_policy::{SamplerPolicy, parse_policy};

/// Maximum number of gaps, or spikes, that a result lists per CPU; the histogram counts all.
pub const MAX_GAPS: usize = 10_000;

#[cfg(test)]
pub(crate) mod captured {
    //! Files of a machine with features that the test machine may lack.

    use std::path::Path;

    /// Writes a file below `base`.
    pub(crate) fn write_file(base: &Path, path: &str, content: impl AsRef<[u8]>) {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
