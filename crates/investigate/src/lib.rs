//! Finds out which interruptions take time from CPUs (`blame`), and records kernel events (`trace record`). Combines a probe
//! or a watched program, the kernel's trace of the same time, and the kernel's own tracers.
//!
//! The caller passes options and gets a report. Notes during the run go to the session; [`BlameStage`] reports progress.

mod blame_notes;
mod blame_options;
mod blame_report;
mod buffer_drain;
mod child;
pub mod event_lines;
mod event_stream;
mod function_tracer;
mod gap_join;
mod hotplug;
mod hwlat_tracer;
mod last_prediction;
pub mod latency_trace;
mod limit_gap;
mod other_cpus;
mod prediction_run;
mod probe;
mod probe_gaps;
mod program;
mod program_watch;
mod recording_run;
mod trace_clock;
pub mod trace_input;
mod trace_recording;
mod trace_settings;
mod untraced;
mod waits;
mod watch_loop;

pub use blame_options::{
    BlameOptions, BlameStage, CommandOptions, FunctionOptions, GapDetail, ProbeOptions, ProcessOptions, ThreadScope,
};
pub use blame_report::{BlameReport, WatchedProgram};
pub use child::{ExitReason, Launch};
pub use hotplug::note_text;
pub use last_prediction::plan_effect;
pub use limit_gap::LimitGap;
pub use prediction_run::{
    PredictionReport, PredictionWatch, forecast_partitions, predict_gaps, predict_recording, predict_watch,
};
pub use probe::blame_probe;
pub use program::{blame_command, blame_process};
pub use trace_clock::TraceClock;
pub use trace_recording::{CpuRecording, RecordOptions, TraceRecording, record};
pub use watch_loop::EndReason;
