//! Traces of the kernel for the commands that need them: instances of tracefs, tracers, kprobes. A ledger records what is to be
//! removed, so that it goes also when the process is killed.

pub mod break_trace;
pub mod instance;
pub mod ipi_senders;
pub mod refusal;
pub mod tracer;
