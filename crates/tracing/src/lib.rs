//! Sets up kernel traces for the commands that need them: instances of tracefs, tracers, kprobes. A ledger records what to
//! remove, so that it is removed even if the process is killed.

pub mod break_trace;
pub mod instance;
pub mod ipi_senders;
pub mod refusal;
pub mod tracer;
