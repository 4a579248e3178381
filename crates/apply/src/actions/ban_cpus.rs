//! Adds CPUs to irqbalance's list of CPUs to keep free of interrupts.
//!
//! irqbalance applies the list at its next scan. From the moment that it has read the list, it gives the CPUs no
//! interrupt. An answer to a later question proves that it has read it, because it serves one client after the other.

use super::{ActionContext, StepResult};
use crate::record::ChangeOutcome;
use crate::{ApplyError, bans};
use machine::{CpuSet, TaskKey, irqbalance};
use plan::Change;

pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    daemon: TaskKey,
    cpus: &CpuSet,
) -> Result<StepResult, ApplyError> {
    if !irqbalance::is_running(stage.system.root(), daemon) {
        unable(stage, daemon, cpus, "; it restarted or ended during planning");
        return Ok(step(0, None, None, ChangeOutcome::Gone));
    }
    let setup = match bans::setup(stage.system, daemon) {
        Ok(setup) => setup,
        Err(error) => return Ok(refused(stage, daemon, cpus, 0, &error)),
    };
    let former = bans::in_force(stage.journal.records(), daemon, &setup);
    let before = Some(former.to_string());
    if cpus.is_subset(&former) {
        return Ok(step(0, before.clone(), before, ChangeOutcome::Already));
    }
    let banned = former.or(cpus);
    let seq = stage.record_value_intent(change, before.clone())?;
    let answer = bans::ban(stage.system, daemon, Some(&banned)).and_then(|()| bans::setup(stage.system, daemon));
    let setup = match answer {
        Ok(setup) => setup,
        Err(error) => {
            let step = refused(stage, daemon, cpus, seq, &error);
            // irqbalance may have received it anyway. So the outcome is not a refusal, which undo would skip.
            stage.record_value_outcome(seq, ChangeOutcome::Otherwise(error.to_string()), None)?;
            return Ok(step);
        }
    };
    let is_known = setup.banned == banned || setup.banned == former;
    let outcome = match is_known {
        true => ChangeOutcome::Done,
        false => ChangeOutcome::Otherwise(setup.banned.to_string()),
    };
    let after = Some(banned.to_string());
    stage.record_value_outcome(seq, outcome.clone(), after.clone())?;
    Ok(step(seq, before, after, outcome))
}

fn refused(stage: &mut ActionContext, daemon: TaskKey, cpus: &CpuSet, seq: u64, error: &root::RootError) -> StepResult {
    unable(stage, daemon, cpus, &format!("; it could not be notified: {error}"));
    let outcome = ChangeOutcome::Refused(error.errno().unwrap_or(libc::EPROTO));
    step(seq, None, None, outcome)
}

fn unable(stage: &mut ActionContext, daemon: TaskKey, cpus: &CpuSet, why: &str) {
    let machine = machine::Machine::read(stage.system.root());
    let advice = plan::knobs::irqbalance_advice(&machine, cpus, daemon.tid, why);
    stage.findings.push(advice);
}

fn step(seq: u64, before: Option<String>, after: Option<String>, outcome: ChangeOutcome) -> StepResult {
    StepResult {
        seq,
        before,
        after,
        outcome,
    }
}
