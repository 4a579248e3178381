//! `apply`: isolate now, journalled, read back, and taken back when a step fails.

use crate::changing::{self, Changing, EntryJson};
use crate::intent::{Wanted, plan_on};
use crate::screen::Form;
use crate::{CommandError, Screen, Status, resize};
use apply::guard::{Guard, Watch};
use apply::{Applied, Request};
use machine::Machine;
use plan::{Finding, Intent, Level, Plan};
use report::Length;
use root::Root;
use serde::Serialize;
use std::time::Duration;

/// Arguments of `apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Take it back after this time unless `quietcore confirm` comes (60s, 5min)
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse_duration)]
    confirm_within: Option<Duration>,
    /// Give the partition of this name, which is in force, these CPUs and this profile. Its programs leave it for a
    /// moment and come back
    #[arg(long, conflicts_with_all = ["confirm_within", "dry_run"])]
    resize: bool,
}

/// JSON of `apply`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    partition: &'a str,
    isolated: &'a machine::CpuSet,
    housekeeping: &'a machine::CpuSet,
    in_force: bool,
    entries: Vec<EntryJson>,
    findings: &'a [Finding],
}

/// Runs it.
///
/// # Errors
/// An intent that cannot be met; the machine is as before then.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = Root::live();
    let machine = Machine::read(&root).with_tasks_and_interrupts(&root);
    let (_, plan) = args.wanted.plan(&machine, &root)?;
    if args.dry_run {
        match screen.form {
            Form::Json => screen.stream(|out| report::plan_json(&plan, out)),
            Form::Text => screen.text(&report::plan_text(&plan, Length::Whole, screen.style())),
        }
        return Ok(Status::Done);
    }
    let stop = changing::stop_flag();
    let changing = Changing::begin()?;
    // Planned again under the lock: another quietcore may have changed the machine since it was read.
    let machine = Machine::read(&root).with_tasks_and_interrupts(&root);
    let (intent, mut plan) = args.wanted.plan(&machine, &root)?;
    let mut machine = machine;
    let former = match args.resize {
        true => resize::make_room(&changing, &intent, &machine)?,
        false => None,
    };
    if let Some(former) = &former {
        machine = Machine::read(&root).with_tasks_and_interrupts(&root);
        // The intent stays as it was chosen before; only its plan is another without the former partition.
        plan = plan_on(&machine, &root, &intent).map_err(|error| former.failed(error.into(), &changing, &root))?;
    }
    let guard = match args.confirm_within {
        Some(time) => Some(Guard::arm("/proc/self/exe", &plan.housekeeping, Watch::Deadline(time))?),
        None => None,
    };
    let request = Request {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        reason: "apply",
        tool: env!("CARGO_PKG_VERSION"),
        guard: guard.as_ref().map(Guard::token),
        stop,
    };
    let mut applied = match apply::apply(&changing.host, &changing.state, &request) {
        Ok(applied) => applied,
        Err(error) => {
            guard.into_iter().for_each(Guard::disarm);
            let error = CommandError::from(error);
            return Err(match &former {
                Some(former) => former.failed(error, &changing, &root),
                None => error,
            });
        }
    };
    if let Some(former) = &former {
        former.come_back(&changing, &machine, &mut applied, &intent)?;
    }
    if applied.in_force {
        guard.into_iter().for_each(Guard::disarm);
    }
    show(&applied, &intent, &plan, args.confirm_within, screen);
    let drifted = applied.in_force && !applied.findings.is_empty();
    let wrong = applied.findings.iter().any(|finding| finding.level == Level::Error);
    Ok(match (drifted, wrong) {
        (true, _) => Status::Conflict,
        (_, true) => Status::Failed,
        _ => Status::Done,
    })
}

fn show(applied: &Applied, intent: &Intent, plan: &Plan, limit: Option<Duration>, screen: &mut Screen) {
    screen.json(&Report {
        schema: "quietcore.apply/1",
        partition: intent.name.as_str(),
        isolated: &plan.isolated,
        housekeeping: &plan.housekeeping,
        in_force: applied.in_force,
        entries: applied.entries.iter().map(EntryJson::from).collect(),
        findings: &applied.findings,
    });
    let mut text = changing::entries_text(&applied.entries);
    text.push_str(&report::findings_text(&applied.findings, screen.style()));
    if applied.in_force {
        text.push_str(&format!("Partition {} is in force already; nothing was written.\n", intent.name));
    } else {
        text.push_str(&format!(
            "CPU {} is isolated as partition {}; everything else runs on CPU {}.\n",
            plan.isolated, intent.name, plan.housekeeping
        ));
        match limit {
            Some(limit) => text.push_str(&format!(
                "It is taken back in {} s unless `quietcore confirm` comes.\n",
                limit.as_secs()
            )),
            None => text.push_str("Run a program there with `quietcore run -- PROGRAM`; take it back with `quietcore undo`.\n"),
        }
    }
    screen.text(&text);
}
