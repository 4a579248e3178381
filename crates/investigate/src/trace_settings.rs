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
use apply::tracing::{Setting, Wanted};
use machine::CpuSet;

/// On which CPUs an event is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The watched CPUs.
    Asked,
    /// The watched CPUs, and there only the watched thread, if it has one name.
    Own,
    /// All.
    All,
    /// As [`From::Own`], and on all CPUs for code that may interrupt others.
    OwnOrInterrupting,
    /// As [`From::Asked`], and on all CPUs for softirqs that do requested work.
    AskedOrServing,
    /// All, if this field names a watched CPU.
    Naming(&'static str),
}

/// The traced events, and their CPUs.
const EVENTS: &[(&str, From)] = &[
    ("sched/sched_switch", From::Asked),
    ("sched/sched_waking", From::Naming("target_cpu")),
    ("task/task_newtask", From::All),
    ("task/task_rename", From::All),
    ("irq/irq_handler_entry", From::All),
    ("irq/irq_handler_exit", From::All),
    ("irq/softirq_raise", From::AskedOrServing),
    ("irq/softirq_entry", From::All),
    ("irq/softirq_exit", From::All),
    ("irq_vectors", From::Asked),
    // Most wake-ups and sends happen in the context of this one; other interrupts are reported as "an interrupt".
    ("irq_vectors/local_timer_entry", From::All),
    ("irq_vectors/local_timer_exit", From::All),
    ("nmi/nmi_handler", From::Asked),
    ("exceptions/page_fault_user", From::Own),
    ("exceptions/page_fault_kernel", From::Own),
    ("raw_syscalls/sys_enter", From::OwnOrInterrupting),
    ("raw_syscalls/sys_exit", From::OwnOrInterrupting),
    ("timer/timer_start", From::Asked),
    ("timer/timer_expire_entry", From::Asked),
    ("timer/timer_expire_exit", From::Asked),
    ("timer/hrtimer_start", From::Asked),
    ("timer/hrtimer_expire_entry", From::Asked),
    ("timer/hrtimer_expire_exit", From::Asked),
    ("timer/tick_stop", From::Asked),
    ("workqueue/workqueue_queue_work", From::All),
    ("workqueue/workqueue_execute_start", From::Asked),
    ("workqueue/workqueue_execute_end", From::Asked),
    ("ipi/ipi_send_cpu", From::Naming("cpu")),
    ("ipi/ipi_send_cpumask", From::All),
    ("ipi/ipi_entry", From::Asked),
    ("ipi/ipi_exit", From::Asked),
    ("csd/csd_queue_cpu", From::Naming("cpu")),
    ("csd/csd_function_entry", From::Asked),
    ("csd/csd_function_exit", From::Asked),
    ("tlb/tlb_flush", From::All),
    ("block/block_io_start", From::All),
    ("block/block_rq_insert", From::All),
    ("block/block_rq_issue", From::All),
    ("block/block_rq_complete", From::Asked),
];

/// Further events for a watched program, whose threads start and end.
const OF_PROGRAMS: &[(&str, From)] = &[
    ("sched/sched_wakeup_new", From::Naming("target_cpu")),
    ("sched/sched_migrate_task", From::All),
    // They exist only on CPUs whose context the kernel tracks (`nohz_full`). A probe measures its gaps better.
    ("context_tracking/user_exit", From::Asked),
    ("context_tracking/user_enter", From::Asked),
];

/// The threads of the probe. Filtering by their name excludes other threads on the CPU, which then cost nothing.
const PROBE: &str = "COMM ~ \"sampler/*\"";

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A probe, a thread that spins on each CPU.
    Probe,
    /// A program.
    Program,
}

/// The names of the events.
pub fn events(watched: Watched) -> Vec<&'static str> {
    let besides = match watched {
        Watched::Probe => [].as_slice(),
        Watched::Program => OF_PROGRAMS,
    };
    EVENTS.iter().chain(besides).map(|(event, _)| *event).collect()
}

/// The settings of the instance. `found` are the events that this kernel has.
pub fn wanted(
    found: &[String],
    asked: &CpuSet,
    buffer_kib: u64,
    clock: Option<TraceClock>,
    watched: Watched,
) -> Wanted {
    let own_filter = match watched {
        Watched::Probe => format!("(({}) && {PROBE})", filter("CPU", asked)),
        Watched::Program => filter("CPU", asked),
    };
    let mut own = vec![Setting::must("tracing_on", "0")];
    own.extend(trace_clock::settings(clock));
    own.push(Setting::may("buffer_size_kb", buffer_kib.to_string()));
    for (event, from) in EVENTS.iter().chain(OF_PROGRAMS) {
        let filter = match from {
            From::All => continue,
            From::Asked => filter("CPU", asked),
            From::Own => own_filter.clone(),
            From::OwnOrInterrupting => format!("{own_filter} || {}", blame::interrupting_calls()),
            From::AskedOrServing => format!("{} || {}", filter("CPU", asked), blame::serving_softirqs()),
            From::Naming(field) => filter(field, asked),
        };
        for event in found
            .iter()
            .filter(|found| is(found, event) && (found == event || !stands_alone(found)))
        {
            // Without its filter an event arrives from more CPUs than needed, and the answer is the same.
            own.push(Setting::may(&format!("events/{event}/filter"), filter.clone()));
        }
    }
    for (event, field) in found.iter().filter_map(|event| Some((event, naming(event)?))) {
        own.push(Setting::may(
            &format!("events/{event}/filter"),
            filter(field, asked),
        ));
    }
    for event in found {
        own.push(Setting::may(&format!("events/{event}/enable"), "1"));
    }
    own.push(Setting::must("tracing_on", "1"));
    Wanted {
        own,
        ..Wanted::default()
    }
}

/// Whether a kernel event matches a wanted event or system.
fn is(found: &str, wanted: &str) -> bool {
    found == wanted
        || (!wanted.contains('/') && found.split_once('/').is_some_and(|(system, _)| system == wanted))
}

/// Whether an event has its own line, besides the line of its system.
fn stands_alone(found: &str) -> bool {
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
    fn filters_name_single_cpus_and_ranges() {
        let cpus = CpuSet::parse_list("2,4-7").unwrap();
        assert_eq!(filter("CPU", &cpus), "CPU == 2 || (CPU >= 4 && CPU <= 7)");
    }

    #[test]
    fn of_other_cpus_only_softirqs_that_serve_somebody_are_traced() {
        let found = ["irq/softirq_raise".to_owned()];
        let wanted = wanted(
            &found,
            &CpuSet::parse_list("1-2").unwrap(),
            64,
            None,
            Watched::Probe,
        );
        let filter = wanted
            .own
            .iter()
            .find(|setting| setting.file.ends_with("/filter"))
            .unwrap();
        assert_eq!(filter.value, "(CPU >= 1 && CPU <= 2) || (vec >= 2 && vec <= 4)");
    }

    #[test]
    fn of_kprobes_only_those_that_interrupt_an_asked_cpu_are_traced() {
        let found = [
            "quietcore_7/calls_one",
            "quietcore_7/calls_many",
            "kprobes/calls_one",
        ]
        .map(str::to_owned);
        let wanted = wanted(
            &found,
            &CpuSet::parse_list("3").unwrap(),
            64,
            None,
            Watched::Probe,
        );
        let filters: Vec<(&str, &str)> = wanted
            .own
            .iter()
            .filter(|setting| setting.file.ends_with("/filter"))
            .map(|setting| (setting.file.as_str(), setting.value.as_str()))
            .collect();
        assert_eq!(filters, [("events/quietcore_7/calls_one/filter", "cpu == 3")]);
    }

    #[test]
    fn of_a_probe_only_its_own_faults_and_calls_are_traced() {
        let found = [
            "exceptions/page_fault_user".to_owned(),
            "raw_syscalls/sys_enter".to_owned(),
        ];
        let cpus = CpuSet::parse_list("1").unwrap();
        let filters = |watched| -> Vec<String> {
            let wanted = wanted(&found, &cpus, 64, None, watched);
            let filters = wanted
                .own
                .into_iter()
                .filter(|setting| setting.file.ends_with("/filter"));
            filters.map(|setting| setting.value).collect()
        };
        let probe = filters(Watched::Probe);
        assert_eq!(probe.first().unwrap(), "((CPU == 1) && COMM ~ \"sampler/*\")");
        assert!(
            probe
                .get(1)
                .unwrap()
                .starts_with("((CPU == 1) && COMM ~ \"sampler/*\") || "),
            "{probe:?}"
        );
        assert_eq!(filters(Watched::Program).first().unwrap(), "CPU == 1");
    }

    #[test]
    fn filters_stand_before_what_they_filter_and_tracing_begins_last() {
        let found = [
            "irq_vectors/reschedule_entry".to_owned(),
            "irq/softirq_entry".to_owned(),
        ];
        let wanted = wanted(
            &found,
            &CpuSet::parse_list("1").unwrap(),
            64,
            Some(TraceClock::Mono),
            Watched::Probe,
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
    fn of_the_vectors_of_other_cpus_only_their_timers_are_traced() {
        let found = ["local_timer_entry", "local_timer_exit", "reschedule_entry"]
            .map(|name| format!("irq_vectors/{name}"));
        let wanted = wanted(
            &found,
            &CpuSet::parse_list("1").unwrap(),
            64,
            None,
            Watched::Probe,
        );
        let filters: Vec<&str> = wanted
            .own
            .iter()
            .filter_map(|setting| setting.file.strip_suffix("/filter"))
            .collect();
        assert_eq!(filters, ["events/irq_vectors/reschedule_entry"]);
    }

    #[test]
    fn everything_that_is_traced_is_understood() {
        let all = include_str!("../../../fixtures/traces/6.18-x86_64/formats");
        let mut formats = events::Formats::new(events::Endian::Little);
        for one in all.split("system: ").filter(|one| !one.is_empty()) {
            let (system, text) = one.split_once('\n').unwrap();
            formats.add(events::Format::parse(system, text).unwrap()).unwrap();
        }
        let reader = blame::Reader::new(formats);
        // Events of arm, and of kernels with nohz_full, do not exist in this kernel.
        let is_elsewhere = |event: &&str| {
            event.starts_with("context_tracking/") || matches!(*event, "ipi/ipi_entry" | "ipi/ipi_exit")
        };
        for event in events(Watched::Program)
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
