//! Where nothing could be traced: counters say how often a CPU was interrupted and by what, never for how long.

use crate::answer::{Confidence, CpuAnswer, Interruption, Subject};
use observe::CpuActivity;

impl CpuAnswer {
    /// Adds what counters said about the same time. Their rows have a count and no time.
    pub fn count(&mut self, activity: &CpuActivity) {
        // Nobody looked whether something of the kernel ran in a gap.
        self.outside = 0;
        for counted in activity.interrupts.iter().chain(&activity.softirqs) {
            let is_number = counted.name.bytes().all(|byte| byte.is_ascii_digit());
            let name = match (is_number, counted.what.split_whitespace().next_back()) {
                (true, Some(action)) => format!("irq {} {action}", counted.name),
                (false, Some(_)) => counted.what.clone(),
                (_, None) => counted.name.clone(),
            };
            self.interruptions.push(Interruption {
                class: counted.class,
                name,
                count: counted.count,
                total_ns: 0,
                max_ns: 0,
                transition_ns: 0,
                culprit: None,
                confidence: Confidence::Counted,
                fix: String::new(),
                why: String::new(),
                subject: Subject::default(),
            });
        }
        self.interruptions
            .sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    }
}
