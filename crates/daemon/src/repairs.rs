//! Restores lost settings through the journal of what was applied. Stops after repeated attempts, and reports each refusal once.

use crate::observation::{Observation, is_told, kept};
use check::CheckFinding;
use plan::declared::Watching;
use session::Session;
use session::seconds_now;
use verify::repair::{Refusal, repair_found};
use watch::drift::{Line, LineEvent, RepairDecision, Repairs};

/// What was repaired, and when.
#[derive(Default)]
pub struct Repairing {
    repairs: Repairs,
    /// Why no repair was possible.
    trouble: String,
}

impl Repairing {
    /// Repairs what the configuration requests. Returns a line for each repair or failure.
    pub fn repair(&mut self, session: &Session, looked: &Observation, watching: &Watching) -> Vec<Line> {
        let now_s = seconds_now();
        let is_wanted = |one: &&CheckFinding| {
            let is_meant = one.knob().is_some_and(|knob| watching.repair.has(knob));
            is_meant && is_told(one, watching) && looked.is_in_force(&one.partition)
        };
        let (mut lines, mut due) = (Vec::new(), Vec::new());
        for one in looked.found.iter().filter(is_wanted) {
            match self.repairs.may(&kept(one), now_s) {
                RepairDecision::Now => due.push(one),
                RepairDecision::Left => {}
                RepairDecision::NoMore => {
                    let line = Line::about(now_s, LineEvent::NotRepaired, &kept(one));
                    lines.push(Line {
                        message: "it was repaired five times within ten minutes: another program sets it again, so it is left alone"
                            .to_owned(),
                        ..line
                    });
                }
            }
        }
        if due.is_empty() {
            return lines;
        }
        session.refresh();
        let repaired = match repair_found(session, &due) {
            Ok(repaired) => repaired,
            // Another quietcore at work, or a full disk: nothing was tried, so the next check tries again.
            Err(error) => {
                let text = format!("{}: {}", error.what, error.why);
                if self.trouble != text {
                    lines.push(Line::new(now_s, LineEvent::NotRepaired, text.clone()));
                }
                self.trouble = text;
                return lines;
            }
        };
        self.trouble.clear();
        let done = repaired.done.into_iter();
        lines.extend(done.map(|text| Line::new(now_s, LineEvent::Repaired, text)));
        lines.extend(self.refusal_lines(due, repaired.refused, now_s));
        lines
    }

    /// Records the outcome of each repair. Returns a line for each refusal that is new.
    fn refusal_lines(&mut self, due: Vec<&CheckFinding>, mut refused: Vec<Refusal>, now_s: u64) -> Vec<Line> {
        let mut lines = Vec::new();
        for one in due {
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
            let kept = kept(one);
            if self.repairs.outcome(&kept, &why, now_s) && !why.is_empty() {
                lines.push(Line {
                    message: why,
                    ..Line::about(now_s, LineEvent::NotRepaired, &kept)
                });
            }
        }
        let others = refused.into_iter();
        lines.extend(others.map(|refusal| Line::new(now_s, LineEvent::NotRepaired, refusal.text)));
        lines
    }
}
