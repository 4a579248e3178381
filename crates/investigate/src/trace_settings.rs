//! Defines the trace that `blame` reads: which events, on which CPUs, in its own instance.
//!
//! Other CPUs are traced only for possible causes of an interruption on the watched ones: an interrupt that is sent there, a
//! thread that is woken there. The kernel filters before it writes, so the cost on a busy machine is low.
//!
//! The osnoise events (`irq_noise`, `softirq_noise`, `thread_noise`, `nmi_noise`) are not used. They exist only while that
//! tracer runs. Its thread would spin where the probe spins, so each would be noise for the other. Without its thread
//! (`NO_OSNOISE_WORKLOAD`) they report the lengths of what is traced here with start, end and cause. A gap that osnoise
//! counts as hardware, because nothing interfered, is `outside` here.

use crate::trace_clock::{self, TraceClock};
use apply::tracing::{TracingSetting, TracingSettings};
use machine::CpuSet;

/// On which CPUs an event is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventCpus {
    /// The watched CPUs.
    Watched,
    /// The watched CPUs, and there only the watched thread, if it has one name.
    Own,
    /// All.
    All,
    /// As [`EventCpus::Own`], and on all CPUs for code that may interrupt others.
    OwnOrInterrupting,
    /// As [`EventCpus::Watched`], and on all CPUs for softirqs that do requested work.
    WatchedOrServing,
    /// All, if this field names a watched CPU.
    Naming(&'static str),
}

/// The traced events, and their CPUs.
const EVENTS: &[(&str, EventCpus)] = &[
    ("sched/sched_switch", EventCpus::Watched),
    ("sched/sched_waking", EventCpus::Naming("target_cpu")),
    ("task/task_newtask", EventCpus::All),
    ("task/task_rename", EventCpus::All),
    ("irq/irq_handler_entry", EventCpus::All),
    ("irq/irq_handler_exit", EventCpus::All),
    ("irq/softirq_raise", EventCpus::WatchedOrServing),
    ("irq/softirq_entry", EventCpus::All),
    ("irq/softirq_exit", EventCpus::All),
    ("irq_vectors", EventCpus::Watched),
    // Most wake-ups and sends happen in the context of this one; other interrupts are reported as "an interrupt".
    ("irq_vectors/local_timer_entry", EventCpus::All),
    ("irq_vectors/local_timer_exit", EventCpus::All),
    ("nmi/nmi_handler", EventCpus::Watched),
    ("exceptions/page_fault_user", EventCpus::Own),
    ("exceptions/page_fault_kernel", EventCpus::Own),
    ("raw_syscalls/sys_enter", EventCpus::OwnOrInterrupting),
    ("raw_syscalls/sys_exit", EventCpus::OwnOrInterrupting),
    ("timer/timer_start", EventCpus::Watched),
    ("timer/timer_expire_entry", EventCpus::Watched),
    ("timer/timer_expire_exit", EventCpus::Watched),
    ("timer/hrtimer_start", EventCpus::Watched),
    ("timer/hrtimer_expire_entry", EventCpus::Watched),
    ("timer/hrtimer_expire_exit", EventCpus::Watched),
    ("timer/tick_stop", EventCpus::Watched),
    ("workqueue/workqueue_queue_work", EventCpus::All),
    ("workqueue/workqueue_execute_start", EventCpus::Watched),
    ("workqueue/workqueue_execute_end", EventCpus::Watched),
    ("ipi/ipi_send_cpu", EventCpus::Naming("cpu")),
    ("ipi/ipi_send_cpumask", EventCpus::All),
    ("ipi/ipi_entry", EventCpus::Watched),
    ("ipi/ipi_exit", EventCpus::Watched),
    ("csd/csd_queue_cpu", EventCpus::Naming("cpu")),
    ("csd/csd_function_entry", EventCpus::Watched),
    ("csd/csd_function_exit", EventCpus::Watched),
    ("tlb/tlb_flush", EventCpus::All),
    ("block/block_io_start", EventCpus::All),
    ("block/block_rq_insert", EventCpus::All),
    ("block/block_rq_issue", EventCpus::All),
    ("block/block_rq_complete", EventCpus::Watched),
];

/// Further events for a watched program, whose threads start and end.
const OF_PROGRAMS: &[(&str, EventCpus)] = &[
    ("sched/sched_wakeup_new", EventCpus::Naming("target_cpu")),
    ("sched/sched_migrate_task", EventCpus::All),
    // They exist only on CPUs whose context the kernel tracks (`nohz_full`). A probe measures its gaps better.
    ("context_tracking/user_exit", EventCpus::Watched),
    ("context_tracking/user_enter", EventCpus::Watched),
];

/// The threads of the probe. Filtering by their name excludes other threads on the CPU, which then cost nothing.
const PROBE: &str = "COMM ~ \"sampler/*\"";

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchSubject {
    /// A probe, a thread that spins on each CPU.
    Probe,
    /// A program.
    Program,
}

/// The names of the events.
pub fn events(watched: WatchSubject) -> Vec<&'static str> {
    let besides = match watched {
        WatchSubject::Probe => [].as_slice(),
        WatchSubject::Program => OF_PROGRAMS,
    };
    EVENTS.iter().chain(besides).map(|(event, _)| *event).collect()
}

/// The settings of the instance. `found` are the events that this kernel has.
pub fn instance_settings(
    found: &[String],
    requested_cpus: &CpuSet,
    buffer_kib: u64,
    clock: Option<TraceClock>,
    watched: WatchSubject,
) -> TracingSettings {
    let own_filter = match watched {
        WatchSubject::Probe => format!("(({}) && {PROBE})", filter("CPU", requested_cpus)),
        WatchSubject::Program => filter("CPU", requested_cpus),
    };
    let mut own = vec![TracingSetting::must("tracing_on", "0")];
    own.extend(trace_clock::settings(clock));
    own.push(TracingSetting::may("buffer_size_kb", buffer_kib.to_string()));
    for (event, from) in EVENTS.iter().chain(OF_PROGRAMS) {
        let filter = match from {
            EventCpus::All => continue,
            EventCpus::Watched => filter("CPU", requested_cpus),
            EventCpus::Own => own_filter.clone(),
            EventCpus::OwnOrInterrupting => format!("{own_filter} || {}", blame::interrupting_calls()),
            EventCpus::WatchedOrServing => {
                format!("{} || {}", filter("CPU", requested_cpus), blame::serving_softirqs())
            }
            EventCpus::Naming(field) => filter(field, requested_cpus),
        };
        for event in found
            .iter()
            .filter(|found| is(found, event) && (found == event || !has_own_line(found)))
        {
            // Without its filter an event arrives from more CPUs than needed, and the answer is the same.
            own.push(TracingSetting::may(&format!("events/{event}/filter"), filter.clone()));
        }
    }
    for (event, field) in found.iter().filter_map(|event| Some((event, naming(event)?))) {
        own.push(TracingSetting::may(
            &format!("events/{event}/filter"),
            filter(field, requested_cpus),
        ));
    }
    for event in found {
        own.push(TracingSetting::may(&format!("events/{event}/enable"), "1"));
    }
    own.push(TracingSetting::must("tracing_on", "1"));
    TracingSettings {
        own,
        ..TracingSettings::default()
    }
}

/// Whether a kernel event matches a wanted event or system.
fn is(found: &str, name: &str) -> bool {
    found == name || (!name.contains('/') && found.split_once('/').is_some_and(|(system, _)| system == name))
}

/// Whether an event has its own line, besides the line of its system.
fn has_own_line(found: &str) -> bool {
    EVENTS.iter().any(|(event, _)| *event == found)
}

/// The field in which our kprobe has the interrupted CPU.
fn naming(found: &str) -> Option<&'static str> {
    let (group, event) = found.split_once('/')?;
    let mut all = blame::senders(0).into_iter().filter(|_| blame::is_group(group));
    all.find(|sender| sender.event == event)?.naming
}

/// `CPU == 2 || (CPU >= 4 && CPU <= 7)`.
fn filter(field: &str, cpus: &CpuSet) -> String {
    let list = cpus.to_string();
    let ranges: Vec<String> = list
        .split(',')
        .map(|range| match range.split_once('-') {
            Some((first, last)) => format!("({field} >= {first} && {field} <= {last})"),
            None => format!("{field} == {range}"),
        })
        .collect();
    ranges.join(" || ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn filters_contain_single_cpus_and_ranges() {
        let cpus = CpuSet::parse_list("2,4-7").unwrap();
        assert_eq!(filter("CPU", &cpus), "CPU == 2 || (CPU >= 4 && CPU <= 7)");
    }

    #[test]
    fn on_other_cpus_only_softirqs_that_do_requested_work_are_traced() {
        let found = ["irq/softirq_raise".to_owned()];
        let wanted = instance_settings(
            &found,
            &CpuSet::parse_list("1-2").unwrap(),
            64,
            None,
            WatchSubject::Probe,
        );
        let filter = wanted
            .own
            .iter()
            .find(|setting| setting.file.ends_with("/filter"))
            .unwrap();
        assert_eq!(filter.value, "(CPU >= 1 && CPU <= 2) || (vec >= 2 && vec <= 4)");
    }

    #[test]
    fn only_kprobe_hits_that_interrupt_a_watched_cpu_are_traced() {
        let found = ["quietcore_7/calls_one", "quietcore_7/calls_many", "kprobes/calls_one"].map(str::to_owned);
        let wanted = instance_settings(&found, &CpuSet::parse_list("3").unwrap(), 64, None, WatchSubject::Probe);
        let filters: Vec<(&str, &str)> = wanted
            .own
            .iter()
            .filter(|setting| setting.file.ends_with("/filter"))
            .map(|setting| (setting.file.as_str(), setting.value.as_str()))
            .collect();
        assert_eq!(filters, [("events/quietcore_7/calls_one/filter", "cpu == 3")]);
    }

    #[test]
    fn only_faults_and_system_calls_of_the_probe_are_traced() {
        let found = [
            "exceptions/page_fault_user".to_owned(),
            "raw_syscalls/sys_enter".to_owned(),
        ];
        let cpus = CpuSet::parse_list("1").unwrap();
        let filters = |watched| -> Vec<String> {
            let wanted = instance_settings(&found, &cpus, 64, None, watched);
            let filters = wanted
                .own
                .into_iter()
                .filter(|setting| setting.file.ends_with("/filter"));
            filters.map(|setting| setting.value).collect()
        };
        let probe = filters(WatchSubject::Probe);
        assert_eq!(probe.first().unwrap(), "((CPU == 1) && COMM ~ \"sampler/*\")");
        assert!(
            probe
                .get(1)
                .unwrap()
                .starts_with("((CPU == 1) && COMM ~ \"sampler/*\") || "),
            "{probe:?}"
        );
        assert_eq!(filters(WatchSubject::Program).first().unwrap(), "CPU == 1");
    }

    #[test]
    fn filters_precede_their_events_and_tracing_starts_last() {
        let found = [
            "irq_vectors/reschedule_entry".to_owned(),
            "irq/softirq_entry".to_owned(),
        ];
        let wanted = instance_settings(
            &found,
            &CpuSet::parse_list("1").unwrap(),
            64,
            Some(TraceClock::Mono),
            WatchSubject::Probe,
        );
        let files: Vec<&str> = wanted.own.iter().map(|setting| setting.file.as_str()).collect();
        assert_eq!(
            files,
            [
                "tracing_on",
                "trace_clock",
                "buffer_size_kb",
                "events/irq_vectors/reschedule_entry/filter",
                "events/irq_vectors/reschedule_entry/enable",
                "events/irq/softirq_entry/enable",
                "tracing_on",
            ]
        );
    }

    #[test]
    fn on_other_cpus_only_timer_vectors_are_traced() {
        let found =
            ["local_timer_entry", "local_timer_exit", "reschedule_entry"].map(|name| format!("irq_vectors/{name}"));
        let wanted = instance_settings(&found, &CpuSet::parse_list("1").unwrap(), 64, None, WatchSubject::Probe);
        let filters: Vec<&str> = wanted
            .own
            .iter()
            .filter_map(|setting| setting.file.strip_suffix("/filter"))
            .collect();
        assert_eq!(filters, ["events/irq_vectors/reschedule_entry"]);
    }

    #[test]
    fn every_traced_event_can_be_decoded() {
        let all = include_str!("../../../fixtures/traces/6.18-x86_64/formats");
        let mut formats = events::Formats::new(events::Endian::Little);
        for one in all.split("system: ").filter(|one| !one.is_empty()) {
            let (system, text) = one.split_once('\n').unwrap();
            formats.add(events::EventFormat::parse(system, text).unwrap()).unwrap();
        }
        let reader = blame::RecordDecoder::new(formats);
        // Events of arm, and of kernels with nohz_full, do not exist in this kernel.
        let is_elsewhere =
            |event: &&str| event.starts_with("context_tracking/") || matches!(*event, "ipi/ipi_entry" | "ipi/ipi_exit");
        for event in events(WatchSubject::Program)
            .into_iter()
            .filter(|event| !is_elsewhere(event))
        {
            let mut found = reader
                .formats()
                .all()
                .iter()
                .filter(|format| is(&format!("{}/{}", format.system, format.name), event));
            assert!(
                found.any(|format| reader.understands(format.id)),
                "{event} is traced and no program reads it"
            );
        }
    }
}
