//! Restores lost settings through the journal of what was applied. Stops after repeated attempts, and reports each refusal once.

use crate::observation::{Observation, is_reported, to_open_finding};
use check::CheckFinding;
use plan::declared::WatchSettings;
use session::{Session, seconds_now};
use verify::repair::{RepairRefusal, repair_found};
use watch::drift::{LineEvent, LogLine, RepairDecision, Repairs};

/// What was repaired, and when.
#[derive(Default)]
pub struct RepairState {
    repairs: Repairs,
    /// Why no repair was possible.
    last_error: String,
}

impl RepairState {
    /// Repairs what the configuration requests. Returns a line for each repair or failure.
    pub fn repair(&mut self, session: &Session, looked: &Observation, watching: &WatchSettings) -> Vec<LogLine> {
        let now_s = seconds_now();
        let is_repairable = |one: &&CheckFinding| {
            let is_meant = one.knob().is_some_and(|knob| watching.repair.has(knob));
            is_meant && is_reported(one, watching) && looked.is_in_force(&one.partition)
        };
        let (mut lines, mut to_repair) = (Vec::new(), Vec::new());
        for one in looked.found.iter().filter(is_repairable) {
            match self.repairs.may(&to_open_finding(one), now_s) {
                RepairDecision::Now => to_repair.push(one),
                RepairDecision::Left => {}
                RepairDecision::NoMore => {
                    let line = LogLine::about(now_s, LineEvent::NotRepaired, &to_open_finding(one));
                    lines.push(LogLine {
                        message: "it was repaired five times within ten minutes: another program changes it again, so \
                             it is left alone"
                            .to_owned(),
                        ..line
                    });
                }
            }
        }
        if to_repair.is_empty() {
            return lines;
        }
        session.refresh();
        let repaired = match repair_found(session, &to_repair) {
            Ok(repaired) => repaired,
            // Another quietcore at work, or a full disk: nothing was tried, so the next check tries again.
            Err(error) => {
                let text = error.reason();
                if self.last_error != text {
                    lines.push(LogLine::new(now_s, LineEvent::NotRepaired, text.clone()));
                }
                self.last_error = text;
                return lines;
            }
        };
        self.last_error.clear();
        let done = repaired.repaired.into_iter();
        lines.extend(done.map(|text| LogLine::new(now_s, LineEvent::Repaired, text)));
        lines.extend(self.refusal_lines(to_repair, repaired.refused, now_s));
        lines
    }

    /// Records the outcome of each repair. Returns a line for each refusal that is new.
    fn refusal_lines(
        &mut self,
        to_repair: Vec<&CheckFinding>,
        mut refused: Vec<RepairRefusal>,
        now_s: u64,
    ) -> Vec<LogLine> {
        let mut lines = Vec::new();
        for one in to_repair {
            let change = one.mend.as_ref();
            let (id, target) = change.map_or(("", ""), |change| (&change.id, &change.target));
            // A refusal may have two texts for one change. The second one comes later and says more.
            let mut why = String::new();
            refused.retain_mut(|refusal| {
                let is_of_it = [one.finding.subject.as_str(), id, target].contains(&refusal.about.as_str());
                if is_of_it {
                    why = std::mem::take(&mut refusal.text);
                }
                !is_of_it
            });
            let open_finding = to_open_finding(one);
            if self.repairs.outcome(&open_finding, &why, now_s) && !why.is_empty() {
                lines.push(LogLine {
                    message: why,
                    ..LogLine::about(now_s, LineEvent::NotRepaired, &open_finding)
                });
            }
        }
        let others = refused.into_iter();
        lines.extend(others.map(|refusal| LogLine::new(now_s, LineEvent::NotRepaired, refusal.text)));
        lines
    }
}
