//! Explains error numbers that occur in isolation, and the call that returns most of them: `sched_setaffinity`, which taskset
//! and `pthread_setaffinity_np` use.
//!
//! Sources: `kernel/sched/syscalls.c`, `__sched_setaffinity`; `kernel/irq/proc.c`, `write_irq_affinity`; the refusals that
//! each knob declares.

use super::Explanation;
use plan::{KNOBS, Knob};

/// One error number.
struct ErrorRow {
    name: &'static str,
    number: i32,
    what: &'static str,
    /// Its meaning for `sched_setaffinity`; empty if that never returns it.
    pinning: &'static str,
}

const ERRORS: &[ErrorRow] = &[
    ErrorRow {
        name: "EPERM",
        number: 1,
        what: "The caller may not do this, or no caller may.",
        pinning: "the thread belongs to another user",
    },
    ErrorRow {
        name: "EIO",
        number: 5,
        what: "The kernel refuses such a write to every program: this is a property of the file, and another attempt \
             gives the same error.",
        pinning: "",
    },
    ErrorRow {
        name: "EACCES",
        number: 13,
        what: "The file may not be written, or not by this user.",
        pinning: "",
    },
    ErrorRow {
        name: "EBUSY",
        number: 16,
        what: "The current state prevents it.",
        pinning: "a deadline thread must be allowed on all CPUs of its scheduling domain",
    },
    ErrorRow {
        name: "EINVAL",
        number: 22,
        what: "The kernel does not accept this value here.",
        pinning: OUTSIDE,
    },
    ErrorRow {
        name: "ENOSPC",
        number: 28,
        what: "There is no room for it.",
        pinning: "",
    },
];

const OUTSIDE: &str = "no CPU of the mask is in the cpuset of the thread: a program outside a partition cannot be \
     pinned to a CPU of it, nor one inside to a CPU outside; or the kernel has bound the thread (PF_NO_SETAFFINITY, \
     for example ksoftirqd/N)";

/// Names of the call, the kernel's own first.
const CALLS: [&str; 4] = [
    "sched_setaffinity",
    "pthread_setaffinity_np",
    "pthread_setaffinity",
    "taskset",
];

/// Every word that is explained here.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    ERRORS.iter().map(|row| row.name).chain(CALLS)
}

/// The name of an error number, or the number if it is unknown here.
fn name(errno: i32) -> String {
    let row = ERRORS.iter().find(|row| row.number == errno);
    row.map_or_else(|| format!("error {errno}"), |row| row.name.to_owned())
}

/// The meaning of each error number for a knob; equal meanings are merged.
pub(super) fn of_knob(knob: &Knob) -> String {
    let mut meanings: Vec<(&str, Vec<String>)> = Vec::new();
    for (errno, words) in knob.refused {
        let name = name(*errno);
        match meanings.iter_mut().find(|(known, _)| known == words) {
            Some((_, names)) => names.push(name),
            None => meanings.push((*words, vec![name])),
        }
    }
    let meanings = meanings
        .iter()
        .map(|(words, names)| format!("{}: {words}", names.join(", ")));
    meanings.collect::<Vec<_>>().join("; ")
}

/// The meaning of an error number or the call.
pub(super) fn explained(word: &str) -> Option<Explanation> {
    if CALLS.contains(&word) {
        return Some(pinning());
    }
    let row = ERRORS.iter().find(|row| row.name == word)?;
    let mut entry = Explanation::new("error number", row.name, row.what).part("sched_setaffinity", row.pinning);
    for knob in KNOBS {
        entry = entry.part(knob.name, knob.refusal(row.number).unwrap_or_default());
    }
    if row.number == 22 {
        entry = entry.part("then", THEN);
    }
    Some(entry)
}

const THEN: &str = "start the program in the partition (`quietcore run`) or move it there (`quietcore move`); \
     Cpus_allowed_list of /proc/PID/status and cpuset.cpus.effective of its cgroup list the CPUs that it may use";

fn pinning() -> Explanation {
    let mut entry = Explanation::new(
        "system call",
        "sched_setaffinity",
        "Pins a thread to CPUs; taskset and pthread_setaffinity_np use it.",
    )
    .part(
        "in a cpuset",
        "the kernel uses the CPUs of the mask that are in the thread's cpuset, and ignores the others without an error",
    );
    for row in ERRORS {
        entry = entry.part(row.name, row.pinning);
    }
    entry.part("then", THEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word: &str) -> String {
        let entry = explained(word).unwrap();
        let parts = entry.parts.iter().map(|part| format!("{}: {}", part.label, part.text));
        parts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn einval_explains_a_program_outside_its_partition() {
        for word in ["EINVAL", "sched_setaffinity", "pthread_setaffinity_np", "taskset"] {
            let text = text(word);
            for part in ["outside a partition", "quietcore run", "quietcore move"] {
                assert!(text.contains(part), "{word}: {text}");
            }
        }
    }

    #[test]
    fn every_refusal_of_a_knob_has_an_explanation() {
        for knob in KNOBS {
            assert!(!of_knob(knob).contains("error "), "{}: {}", knob.name, of_knob(knob));
        }
        let irq = KNOBS.iter().find(|knob| knob.name == "irq_affinity").unwrap();
        assert!(of_knob(irq).starts_with("EIO, EPERM: the kernel manages its mask"));
    }

    #[test]
    fn refusals_of_interrupt_masks_are_explained() {
        assert!(text("EIO").contains("irq_affinity: the kernel manages its mask"));
        assert!(text("ENOSPC").contains("irq_affinity: these CPUs have no free interrupt vector"));
        assert!(!text("EIO").contains("sched_setaffinity"));
        assert!(explained("EGARBAGE").is_none() && explained("").is_none());
    }
}
