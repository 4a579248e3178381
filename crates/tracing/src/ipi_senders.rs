//! Finds out which thread interrupts another CPU: with the kernel's own events, or, on kernels before 6.4, with kprobes on the
//! functions that send the interrupts. The kprobes exist only while a trace needs them.

use crate::instance::{found, own_key};
use apply::System;
use apply::kprobes::{InstalledKprobes, Kprobe, ProbeGroup};
use machine::{Machine, TaskKey};
use root::{Failure, Tracefs};
use serde::Serialize;
use session::Session;
use std::cell::{Cell, RefCell};

/// Whether kprobes may be created if the kernel has no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kprobes {
    /// They may be created.
    Allowed,
    /// They may not be created.
    Forbidden,
}

/// The source of the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SenderSource {
    /// The kernel's own events.
    Events,
    /// Our own kprobes.
    Kprobes,
    /// No source.
    Nobody,
}

/// What is known about the senders.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendersReport {
    /// Their source.
    pub by: SenderSource,
    /// Our own kprobes: they are removed by the time this is read.
    pub probes: Vec<SenderKprobe>,
    /// Refused kprobes, with the error.
    pub refused: Vec<String>,
    /// Why there is no source.
    pub why: Option<String>,
}

/// A kprobe that was created.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SenderKprobe {
    /// Its event.
    pub event: String,
    /// The function at whose entry it was placed.
    pub function: String,
    /// How often it was hit without recording an event, because the CPU was in another probe; `None` while it exists, or
    /// if the kernel does not report it.
    pub missed: Option<u64>,
}

/// The kprobes, until they are removed.
pub struct IpiSenders<'s> {
    session: &'s Session,
    tracefs: Tracefs,
    /// The process that has to remove them; `None` if there are none.
    holder: Cell<Option<TaskKey>>,
    report: RefCell<SendersReport>,
}

impl<'s> IpiSenders<'s> {
    /// Determines the source of the senders, and creates the kprobes if the kernel has no events. The ledger records them, so that
    /// they are removed even if this process is killed.
    ///
    /// # Errors
    /// There is no tracing, or another quietcore is running. Refusals of the kernel are in the report instead.
    pub fn start(session: &'s Session, kprobes: Kprobes, machine: &Machine) -> Result<IpiSenders<'s>, Failure> {
        let tracefs = found(session)?;
        let unknown = |why: &str| SendersReport::without_probes(SenderSource::Nobody, Some(why.to_owned()));
        let host = apply::Host::new(session.writable()?.clone());
        let has_events = !trace::events_of(host.root(), &tracefs.file("."), "ipi/ipi_send_cpu")
            .map_err(|error| crate::refusal::untraceable(session, error))?
            .is_empty();
        let (holder, report) = match apply::kprobes::exist(&host, &tracefs) {
            _ if has_events => (None, SendersReport::without_probes(SenderSource::Events, None)),
            _ if kprobes == Kprobes::Forbidden => (
                None,
                unknown("this kernel has no events for them, and --no-kprobes forbids kprobes"),
            ),
            Ok(true) => make(session, &tracefs, machine)?,
            Ok(false) => (
                None,
                unknown("this kernel has no events for them (6.4 does), and no kprobes (CONFIG_KPROBE_EVENTS)"),
            ),
            Err(error) => (None, unknown(&error.to_string())),
        };
        Ok(IpiSenders {
            session,
            tracefs,
            holder: Cell::new(holder),
            report: RefCell::new(report),
        })
    }

    /// The name of their event system, if there are any.
    pub fn group(&self) -> Option<String> {
        self.holder.get().map(group)
    }

    /// The report about the senders. `idle` are events that could not be enabled.
    pub fn report(&self, idle: &[String]) -> SendersReport {
        let mut report = self.report.borrow().clone();
        report.probes.retain(|probe| !idle.contains(&probe.event));
        report
            .refused
            .extend(idle.iter().map(|event| format!("{event}: it cannot be enabled")));
        if report.by == SenderSource::Kprobes && report.probes.is_empty() {
            report.by = SenderSource::Nobody;
            report.why = Some(report.refused.join("; "));
        }
        report
    }

    /// Removes the kprobes and reads their missed counts. Every trace that enabled them must be gone.
    ///
    /// # Errors
    /// Another process uses them; a list that cannot be read.
    pub fn remove(&self) -> Result<(), Failure> {
        let Some(holder) = self.holder.take() else {
            return Ok(());
        };
        let changing = self.session.lock_for_trace()?;
        let missed = apply::kprobes::missed(&*changing.host, &self.tracefs, &group(holder));
        let left = apply::kprobes::release_own(&*changing.host, changing.state(), &self.tracefs, holder)?;
        self.report.borrow_mut().missed(&missed?.unwrap_or_default());
        crate::instance::conflict(&left)
    }
}

/// If the removal fails while another error is handled, the next call does it.
impl Drop for IpiSenders<'_> {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

fn group(holder: TaskKey) -> String {
    format!("{}_{}", blame::GROUP, holder.tid)
}

/// Creates the kprobes.
fn make(session: &Session, tracefs: &Tracefs, machine: &Machine) -> Result<(Option<TaskKey>, SendersReport), Failure> {
    let probes: Vec<Kprobe> = blame::senders(machine.topology.width() - 1)
        .into_iter()
        .map(|sender| Kprobe {
            event: sender.event.to_owned(),
            functions: sender.functions.iter().map(|&name| name.to_owned()).collect(),
            fetches: sender.fetches,
        })
        .collect();
    let changing = session.lock_for_trace()?;
    let holder = own_key(session)?;
    let stem = blame::GROUP;
    let group = ProbeGroup { holder, stem };
    let held = apply::kprobes::hold(&*changing.host, changing.state(), tracefs, group, &probes);
    Ok(match held {
        Ok(placed) => report_of(holder, placed),
        Err(error) => {
            let why = error.to_string().replace('\n', ": ");
            (None, SendersReport::without_probes(SenderSource::Nobody, Some(why)))
        }
    })
}

fn report_of(holder: TaskKey, placed: InstalledKprobes) -> (Option<TaskKey>, SendersReport) {
    let probe = |(event, function): (String, String)| SenderKprobe {
        event,
        function,
        missed: None,
    };
    let refused: Vec<String> = placed
        .refused
        .iter()
        .map(|(event, error)| format!("{event}: {error}"))
        .collect();
    let (holder, by, why) = match placed.probes.is_empty() {
        true => (None, SenderSource::Nobody, Some(refused.join("; "))),
        false => (Some(holder), SenderSource::Kprobes, None),
    };
    let probes = placed.probes.into_iter().map(probe).collect();
    let report = SendersReport {
        by,
        probes,
        refused,
        why,
    };
    (holder, report)
}

impl SendersReport {
    fn without_probes(by: SenderSource, why: Option<String>) -> SendersReport {
        SendersReport {
            by,
            probes: Vec::new(),
            refused: Vec::new(),
            why,
        }
    }

    /// Sets the missed count of each event.
    fn missed(&mut self, missed: &[(String, u64)]) {
        for probe in &mut self.probes {
            let of = missed.iter().find(|(event, _)| *event == probe.event);
            probe.missed = of.map(|(_, missed)| *missed);
        }
    }

    /// The text for users; empty if the kernel has events.
    pub fn text(&self) -> String {
        match self.by {
            SenderSource::Events => String::new(),
            SenderSource::Kprobes => {
                let functions: Vec<&str> = self.probes.iter().map(|probe| probe.function.as_str()).collect();
                let refused = match self.refused.as_slice() {
                    [] => String::new(),
                    refused => format!("\n  refused functions: {}", refused.join("; ")),
                };
                let missed = match self.probes.iter().filter_map(|probe| probe.missed).sum::<u64>() {
                    0 => String::new(),
                    missed => format!(
                        "\n  {missed} calls of these functions were lost, because the CPU was in another kprobe at \
                         that time: the senders of those interrupts are not reported"
                    ),
                };
                format!(
                    "this kernel has no events for the senders of interrupts: quietcore used kprobes at {} and removed \
                     them again (--no-kprobes disables this){refused}{missed}\n",
                    functions.join(", ")
                )
            }
            SenderSource::Nobody => format!(
                "the senders of interrupts are not reported: {}\n",
                self.why.as_deref().unwrap_or_default()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probes_with_missed_hits_are_reported() {
        let probe = |event: &str| SenderKprobe {
            event: event.to_owned(),
            function: format!("{event}_function"),
            missed: None,
        };
        let mut reported = SendersReport {
            by: SenderSource::Kprobes,
            probes: vec![probe("asks_one"), probe("calls_one")],
            refused: Vec::new(),
            why: None,
        };
        let missed = |of: [u64; 2]| [("calls_one".to_owned(), of[0]), ("asks_one".to_owned(), of[1])];
        assert!(
            !reported.text().contains("lost"),
            "the loss is not known: {}",
            reported.text()
        );
        reported.missed(&missed([0, 0]));
        assert!(!reported.text().contains("lost"), "{}", reported.text());
        reported.missed(&missed([40, 2]));
        assert!(reported.text().contains("\n  42 calls"), "{}", reported.text());
        let each: Vec<Option<u64>> = reported.probes.iter().map(|probe| probe.missed).collect();
        assert_eq!(each, [Some(2), Some(40)]);
    }
}
