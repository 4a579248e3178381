//! `apply` without arguments: applies every declared partition and reports each separately.

use super::planned_declaration::PlannedDeclaration;
use super::{AppliedPartition, ApplyReason, Args, DeclaredCount, NameConflict, apply_declaration};
use crate::plans;
use apply::ChangeEntry;
use machine::CpuSet;
use plan::Finding;
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use session::declared::DeclaredFile;
use std::time::Duration;
use terminal::{Screen, StepLine};
use verify::boot_verdict::{boot_findings, boot_status};

/// JSON of `apply` for a declaration file.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct DeclaredApplyJson<'a> {
    schema: &'static str,
    /// The file of declarations.
    config: &'a str,
    /// The declared partitions, in the order of the file.
    partitions: Vec<DeclaredPartitionJson<'a>>,
    /// The changes made for all partitions, in order.
    entries: Vec<&'a ChangeEntry>,
    /// The boot line of the declared partitions.
    findings: &'a [Finding],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DeclaredPartitionJson<'a> {
    /// Its name.
    partition: &'a str,
    /// Line of its declaration in the file, from 1.
    line: usize,
    /// `applied`, `in_force`, `left_alone`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["applied", "in_force", "left_alone"])))]
    state: &'static str,
    /// CPUs that it isolates; `None` if it was left alone.
    isolated: Option<&'a CpuSet>,
    /// What the user should know about it.
    findings: &'a [Finding],
    /// Why it was left alone.
    error: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// An invalid declaration on this machine: nothing is written.
pub fn run(session: &Session, file: &DeclaredFile, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let root = session.root();
    if args.dry_run {
        let machine = session.machine().for_plan(root);
        let plans = file.plan_all(session, &machine)?;
        plans::show(session, &plans, &session.in_force(), screen)?;
        return Ok(Status::Done);
    }
    apply_all(session, file, "apply", args.confirm_within, screen)
}

/// Applies every partition of a file. A partition that cannot be applied is reported and does not block the others.
///
/// # Errors
/// An invalid declaration on this machine: nothing is written.
pub fn apply_all(
    session: &Session,
    file: &DeclaredFile,
    reason: &'static str,
    limit: Option<Duration>,
    screen: &mut Screen,
) -> Result<Status, Failure> {
    let root = session.root();
    let machine = session.machine().for_plan(root);
    // Errors of the file itself are found before the first write.
    let reserved = file.named_cpus(&machine)?;
    if let Err(error) = file.plan_all(session, &machine)
        && error.status == Status::Usage
    {
        return Err(error);
    }
    if file.declarations.is_empty() {
        screen.verdict(&format!("{} declares no partition; nothing was done.\n", file.path));
    }
    let changing = session.lock()?;
    let because = ApplyReason {
        reason,
        limit,
        room: NameConflict::Beside,
    };
    let mut all: Vec<Result<AppliedPartition, Failure>> = Vec::new();
    let together = match file.declarations.len() {
        0 | 1 => DeclaredCount::One,
        _ => DeclaredCount::Several,
    };
    for declaration in &file.declarations {
        let planned = PlannedDeclaration::read(session, declaration, &reserved);
        let step = StepLine::start(&format!("partition {}", declaration.name()), screen);
        let brought = planned.and_then(|planned| apply_declaration(&changing, planned, &because));
        drop(step);
        match &brought {
            Ok(brought) => {
                let gap = if all.is_empty() { "" } else { "\n" };
                let body = brought.text(&brought.next(limit, together), &brought.applied.findings, screen);
                let text = format!("{gap}{}:\n{body}", declaration.name());
                screen.report(&brought.verdict(), &text);
            }
            Err(_) => screen.verdict(&format!("{}: left alone\n", declaration.name())),
        }
        all.push(brought.map_err(|error| file.at(declaration.line, error)));
    }
    // After the run-time part, so that one call reports everything that is declared.
    let boot_part = boot_findings(session, file)?;
    screen.text(&super::attention(&boot_part, screen));
    let mut statuses: Vec<Status> = all.iter().map(|one| status(one, screen)).collect();
    statuses.push(boot_status(&boot_part));
    report(file, &all, &boot_part, screen);
    let failed = statuses.into_iter().find(|status| *status != Status::Done);
    Ok(failed.unwrap_or(Status::Done))
}

/// The status of one partition. An error is printed.
fn status(applied: &Result<AppliedPartition, Failure>, screen: &mut Screen) -> Status {
    match applied {
        Ok(applied) => applied.status(),
        Err(error) => screen.error(error),
    }
}

fn report(file: &DeclaredFile, all: &[Result<AppliedPartition, Failure>], boot_part: &[Finding], screen: &mut Screen) {
    let partitions = file.declarations.iter().zip(all).map(|(declaration, brought)| {
        let (state, isolated, findings, error) = match brought {
            Ok(brought) => {
                let state = if brought.applied.in_force {
                    "in_force"
                } else {
                    "applied"
                };
                (
                    state,
                    Some(&brought.plan.isolated),
                    brought.applied.findings.as_slice(),
                    None,
                )
            }
            Err(error) => (
                "left_alone",
                None,
                &[][..],
                Some(format!("{}; {}", error.what, error.why)),
            ),
        };
        DeclaredPartitionJson {
            partition: declaration.name().as_str(),
            line: declaration.line,
            state,
            isolated,
            findings,
            error,
        }
    });
    let entries = all.iter().flatten().flat_map(|brought| &brought.applied.entries);
    screen.json(&DeclaredApplyJson {
        schema: "quietcore.apply/1",
        config: &file.path,
        partitions: partitions.collect(),
        entries: entries.collect(),
        findings: boot_part,
    });
}
