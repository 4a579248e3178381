//! Writes the notes of a run of `blame`: missing features of the trace with their replacements, and how the program ended.

use crate::blame_report::{BlameReport, WatchedProgram};
use crate::child::ExitReason;
use crate::trace_clock::TraceClock;
use crate::watch_loop::EndReason;
use tracing::ipi_senders::SendersReport;

impl BlameReport {
    /// Missing features of the trace, and their replacements. `requested` is the clock that the user chose.
    #[must_use]
    pub fn trace_notes(&self, requested: Option<TraceClock>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(error) = &self.no_trace {
            let besides = match self.program {
                Some(_) => {
                    "gaps come from scheduler statistics: one for each wait of the program for a CPU; with more than one \
                 CPU, it is uncertain on which it waited\n"
                }
                None => "",
            };
            notes.push(format!(
            "tracing is not available, so only counters are used: they show how often, not how long\n{besides}  why: \
             {}: {}\n next: {}\n",
            error.what, error.why, error.next
        ));
        }
        if self.trace_full {
            notes.push(
                "the limit of --memory was reached, and the kernel lost events: some causes have no names. Use larger \
             values for --memory and --buffer\n"
                    .to_owned(),
            );
        }
        if requested.is_none() && self.clock != TraceClock::MonoRaw {
            notes.push(format!(
                "this kernel's trace does not support {}: gaps and events were joined on {}\n",
                TraceClock::MonoRaw.posix_name(),
                self.clock.posix_name()
            ));
        }
        let senders = self.senders.as_ref().map(SendersReport::text);
        notes.extend(senders.filter(|text| !text.is_empty()));
        if let Some(functions) = &self.functions {
            notes.push(format!("{}\n", report::functions_note(functions)));
        }
        if !self.absent_events.is_empty() {
            let absent = self.absent_events.join(", ");
            notes.push(format!("this kernel does not have: {absent}\n"));
        }
        if !self.has_function_names {
            let hidden = "/proc/kallsyms hides its addresses (kernel.kptr_restrict): functions have no names\n";
            notes.push(hidden.to_owned());
        }
        notes
    }
}

impl WatchedProgram {
    /// The program, and how and why its watch ended.
    #[must_use]
    pub fn text(&self) -> String {
        let name = report::safe(&self.name);
        let how = match self.ended {
            Some(ExitReason::Exited(code)) => format!("ended with status {code}"),
            Some(ExitReason::Killed(signal)) => format!("was ended by signal {signal}"),
            None if self.until == EndReason::Ended => "has ended".to_owned(),
            None => "continues".to_owned(),
        };
        let why = match self.until {
            EndReason::Ended => "",
            EndReason::Found => " (a gap reached the limit of --break)",
            EndReason::Time => " (the time of --for has ended)",
            EndReason::Signal => " (interrupted: the answer covers only the time until then)",
        };
        format!("{name}[{}] {how}{why}\n", self.pid)
    }
}
