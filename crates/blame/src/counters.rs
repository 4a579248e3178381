//! Adds kernel counters to the answer: they report how often a CPU was interrupted and by what, never for how long. Without
//! a trace they are the only source.

use crate::answer::{Confidence, CpuAnswer, Interruption, InterruptionSubject};
use observe::{Class, CpuActivity};

/// Counter values for the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterDeltas {
    /// Time stolen by the hypervisor, in nanoseconds (`/proc/stat`).
    pub steal_ns: Option<u64>,
    /// System management interrupts (MSR 0x34).
    pub smi: Option<u64>,
}

impl CpuAnswer {
    /// Attributes time without events to counters. The rest stays unexplained.
    pub fn confirm(&mut self, counted: CounterDeltas) {
        let stolen = counted.steal_ns.unwrap_or(0).min(self.unexplained_ns);
        self.unexplained_ns -= stolen;
        self.explained_ns += stolen;
        let rows = [
            (Class::Steal, "the hypervisor", 0, stolen),
            (Class::Firmware, "SMI", counted.smi.unwrap_or(0), 0),
        ];
        for (class, name, count, total_ns) in rows.into_iter().filter(|(_, _, count, ns)| count + ns > 0) {
            self.interruptions.push(Interruption {
                total_ns,
                ..counted_row(class, name.to_owned(), count)
            });
        }
        self.sort();
    }

    /// Adds the counters of the same time as rows with a count and no time.
    pub fn count(&mut self, activity: &CpuActivity) {
        // Without a trace it is unknown whether kernel code ran in a gap.
        self.outside = 0;
        for counted in activity.interrupts.iter().chain(&activity.softirqs) {
            let is_number = counted.name.bytes().all(|byte| byte.is_ascii_digit());
            let name = match (is_number, counted.what.split_whitespace().next_back()) {
                (true, Some(action)) => format!("irq {} {action}", counted.name),
                (false, Some(_)) => counted.what.clone(),
                (_, None) => counted.name.clone(),
            };
            self.interruptions.push(counted_row(counted.class, name, counted.count));
        }
        self.interruptions
            .sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    }
}

/// A row of a counter: a count, and no time.
fn counted_row(class: Class, name: String, count: u64) -> Interruption {
    Interruption {
        class,
        name,
        count,
        total_ns: 0,
        max_ns: 0,
        transition_ns: 0,
        culprit: None,
        confidence: Confidence::Counted,
        fix: String::new(),
        why: String::new(),
        subject: InterruptionSubject::None,
    }
}
