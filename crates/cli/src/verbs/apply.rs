//! `apply`: isolates CPUs now. Every write is journalled and read back, and all are undone when a step fails.

pub(crate) mod boot;
pub(crate) mod install;
pub(crate) mod many;
mod planned_declaration;
mod remote_session;

use crate::intent::IntentArgs;
use crate::plans;
use apply::guard::{Guard, GuardTrigger};
use apply::{ApplyOutcome, ApplyRequest, ChangeEntry};
use machine::CpuSet;
use plan::declared::{BootPart, CpuSpec, Declaration};
use plan::{Finding, Intent, Level, PartitionName, Plan};
use planned_declaration::PlannedDeclaration;
use root::{Failure, Status};
use serde::Serialize;
use session::declaration_draft::{DeclarationDraft, SavedDeclaration};
use session::declared;
use session::resize;
use session::{ChangeLock, Session};
use std::path::PathBuf;
use std::time::Duration;
use terminal::{Screen, StepLine};
use verify::boot_verdict::{boot_findings, boot_status};

/// Headings of these options in the help.
const HOW: &str = "How";
const DECLARED: &str = "Declared partitions and boot";

/// Arguments of `apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: IntentArgs,
    /// Print what would be done; change nothing
    #[arg(long, help_heading = HOW)]
    dry_run: bool,
    /// Undo after this time unless `confirm` is run
    #[arg(long, value_name = "TIME", help_heading = HOW, value_parser = machine::parse_duration)]
    confirm_within: Option<Duration>,
    /// Change CPUs and profile of an active partition
    ///
    /// Its programs leave it during the change.
    #[arg(long, help_heading = HOW, conflicts_with_all = ["confirm_within", "dry_run"])]
    resize: bool,
    /// Read partitions from this file [default: /etc/quietcore.toml]
    #[arg(long, value_name = "FILE", help_heading = DECLARED)]
    config: Option<PathBuf>,
    /// Also declare the partition in that file
    #[arg(long, help_heading = DECLARED, conflicts_with = "in_place")]
    save: bool,
    /// With --save: declare `boot = true` for `boot set`
    ///
    /// --save alone declares it where our boot line already isolates the CPUs.
    #[arg(long, help_heading = DECLARED, requires = "save", requires = "cpus")]
    boot: bool,
    /// Apply what is declared for boot, as the unit does
    ///
    /// Not with quietcore=off on the boot line, nor if the last boot with it was not good.
    #[arg(long, help_heading = DECLARED, conflicts_with_all = ["save", "dry_run", "confirm_within", "resize", "install_unit"])]
    at_boot: bool,
    /// With --at-boot: a boot is good once up this long
    #[arg(
        long,
        value_name = "TIME",
        help_heading = DECLARED,
        value_parser = machine::parse_duration,
        default_value = "5min",
        requires = "at_boot"
    )]
    good_after: Duration,
    /// Install a service for --at-boot
    #[arg(long, value_name = "INIT", help_heading = DECLARED, num_args = 0..=1, conflicts_with_all = ["save", "confirm_within", "resize"])]
    install_unit: Option<Option<install::InitWord>>,
}

/// JSON of `apply`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ApplyJson<'a> {
    schema: &'static str,
    /// Name of the partition.
    partition: &'a str,
    /// CPUs that the partition isolates.
    isolated: &'a CpuSet,
    /// CPUs for everything else.
    housekeeping: &'a CpuSet,
    /// Whether it was active already, so that nothing was written.
    in_force: bool,
    /// The file that now declares the partition; `None` without `--save`.
    saved: Option<&'a str>,
    /// The changes made, in order.
    entries: &'a [ChangeEntry],
    /// What the user should know.
    findings: &'a [Finding],
}

/// Runs the command.
///
/// # Errors
/// The intent cannot be met; the machine is then unchanged.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let nothing_else = || match args.wanted.is_nothing() {
        true => Ok(()),
        false => Err(Failure::usage(
            "it accepts no CPUs and no names",
            "the file of declared partitions contains what is applied at boot",
            "declare it there, for example with `quietcore apply --cpus CPUS --save`",
        )),
    };
    if let Some(init) = args.install_unit {
        nothing_else()?;
        return match args.dry_run {
            true => install::preview(session, init, screen),
            false => install::run(session, init, screen),
        };
    }
    if args.at_boot {
        nothing_else()?;
        return boot::run(args, session, screen);
    }
    if args.confirm_within.is_none() && !args.dry_run && remote_session::is_interactive_ssh(session.root()) {
        screen.note(remote_session::SUGGESTION);
    }
    let alone = args.save || args.resize;
    if !alone && let Some(file) = args.wanted.declared(session, args.config.as_deref())? {
        return many::run(session, &file, args, screen);
    }
    one(session, args, screen)
}

fn dry_run(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let machine = session.machine().for_plan(session.root());
    let planned = args.wanted.plan(session, &machine)?;
    // A resize makes the partition again, also one that has these CPUs already.
    let active = if args.resize { Vec::new() } else { session.in_force() };
    plans::show(session, &[planned], &active, screen)?;
    Ok(Status::Done)
}

fn one(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let declaration = args.wanted.declaration()?;
    if args.dry_run {
        return dry_run(session, args, screen);
    }
    // Errors in the request are reported before anything else.
    let none = CpuSet::new();
    let planned = PlannedDeclaration::read(session, &declaration, &none)?;
    let changing = session.lock()?;
    // Reports first what cannot be saved.
    let draft = match args.save {
        true => Some(DeclarationDraft::with(
            session,
            &on_line(session, declaration.clone(), args, &planned),
            args.config.as_deref(),
        )?),
        false => None,
    };
    let planned = planned.or_again(session, &declaration, &none)?;
    let step = StepLine::start(&format!("isolating CPU {}", planned.intent.cpus), screen);
    let brought = apply_declaration(&changing, planned, &reason(args))?;
    drop(step);
    let saved = draft.map(|draft| draft.write(session)).transpose()?;
    let saved = saved.as_ref();
    let declared = match saved {
        Some(_) => {
            declared::read(session, args.config.as_deref())?.and_then(|file| file.only(brought.intent.name.as_str()))
        }
        None => None,
    };
    let boot_part = declared
        .map(|file| boot_findings(session, &file))
        .transpose()?
        .unwrap_or_default();
    let findings = [brought.applied.findings.as_slice(), &boot_part].concat();
    screen.json(&ApplyJson {
        schema: "quietcore.apply/1",
        partition: brought.intent.name.as_str(),
        isolated: &brought.plan.isolated,
        housekeeping: &brought.plan.housekeeping,
        in_force: brought.applied.in_force,
        saved: saved.map(|saved| saved.path.as_str()),
        entries: &brought.applied.entries,
        findings: &findings,
    });
    let next =
        brought.next(args.confirm_within, DeclaredCount::One) + &saved.map(SavedDeclaration::text).unwrap_or_default();
    screen.report(&brought.verdict(), &brought.text(&next, &findings, screen));
    Ok(match (brought.status(), boot_status(&boot_part)) {
        (Status::Done, status) | (status, _) => status,
    })
}

/// Findings for the screen.
fn attention(findings: &[Finding], screen: &Screen) -> String {
    report::findings_text(findings, screen.detail(), screen.style())
}

fn reason(args: &Args) -> ApplyReason {
    ApplyReason {
        reason: "apply",
        limit: args.confirm_within,
        room: match args.resize {
            true => NameConflict::OfItsOwn,
            false => NameConflict::Beside,
        },
    }
}

/// Saves a partition with `boot = true` where the boot line already isolates its CPUs.
fn on_line(session: &Session, declaration: Declaration, args: &Args, planned: &PlannedDeclaration) -> Declaration {
    let is_named = matches!(declaration.cpus, CpuSpec::Named(_));
    match args.boot || (is_named && session::boot_files::declaration::line_covers(session, &planned.intent.cpus)) {
        true => Declaration {
            boot: BootPart::OnLine,
            ..declaration
        },
        false => declaration,
    }
}

/// How a declaration is applied.
struct ApplyReason {
    /// The cause in the history: `apply`, `boot`.
    reason: &'static str,
    /// A time limit.
    limit: Option<Duration>,
    /// What to do with a partition of the same name.
    room: NameConflict,
}

/// What to do with an active partition of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameConflict {
    /// It stays; another intent for it is a conflict.
    Beside,
    /// It is removed, and its programs move to the new one.
    OfItsOwn,
}

/// How many declarations one command applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeclaredCount {
    /// This one alone: `undo` without a name undoes it.
    One,
    /// Several: the next one may be the last.
    Several,
}

/// The result of one declaration.
struct AppliedPartition {
    intent: Intent,
    plan: Plan,
    applied: ApplyOutcome,
}

/// Applies one declaration, under the lock.
fn apply_declaration(
    changing: &ChangeLock,
    planned: PlannedDeclaration,
    because: &ApplyReason,
) -> Result<AppliedPartition, Failure> {
    let (machine, intent, plan) = (planned.machine, planned.intent, planned.plan);
    if because.room == NameConflict::OfItsOwn {
        let (plan, applied) = resize::resize(changing, (&machine, &intent, plan), because.reason)?;
        return Ok(AppliedPartition { intent, plan, applied });
    }
    let arm = |time| Guard::arm("/proc/self/exe", &plan.housekeeping, GuardTrigger::Deadline(time));
    let guard = because.limit.map(arm).transpose()?;
    let request = ApplyRequest {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        reason: because.reason,
        tool: env!("CARGO_PKG_VERSION"),
        guard: guard.as_ref().map(Guard::token),
        stop: session::stop_flag(),
    };
    let applied = apply::apply(&*changing.host, changing.state(), &request);
    changing.session.refresh();
    if !applied.as_ref().is_ok_and(|applied| !applied.in_force) {
        guard.into_iter().for_each(Guard::disarm);
    }
    let applied = applied?;
    Ok(AppliedPartition { intent, plan, applied })
}

impl AppliedPartition {
    fn status(&self) -> Status {
        let drifted = self.applied.in_force && !self.applied.findings.is_empty();
        let wrong = self
            .applied
            .findings
            .iter()
            .any(|finding| finding.level == Level::Error);
        match (drifted, wrong) {
            (true, _) => Status::Conflict,
            (_, true) => Status::Failed,
            _ => Status::Done,
        }
    }

    /// What the user can do now; nothing new for a partition that was active already.
    fn next(&self, limit: Option<Duration>, together: DeclaredCount) -> String {
        if self.applied.in_force {
            return String::new();
        }
        if let Some(limit) = limit {
            let seconds = limit.as_secs();
            return format!("It is undone in {seconds} s unless you run `quietcore confirm`.\n");
        }
        let name = &self.intent.name;
        let named = format!(" --partition {name}");
        let run = if *name == PartitionName::default() { "" } else { &named };
        let undo = if together == DeclaredCount::One { "" } else { &named };
        let use_it = match &self.intent.in_place {
            Some(cgroup) => format!("The programs of {} run there", report::safe(cgroup)),
            None => format!("Run a program there with `quietcore run{run} -- PROGRAM`"),
        };
        format!("{use_it}; undo it with `quietcore undo{undo}`.\n")
    }

    /// The verdict, what to do next, what needs attention, and the changes.
    fn text(&self, next: &str, findings: &[Finding], screen: &Screen) -> String {
        let mut text = self.verdict() + next;
        let sections = [
            attention(findings, screen),
            plans::entries(&self.applied.entries, screen),
        ];
        for section in sections.iter().filter(|section| !section.is_empty()) {
            text.push('\n');
            text.push_str(section.trim_start_matches('\n'));
        }
        text
    }

    /// What is isolated now, as one line.
    fn verdict(&self) -> String {
        let AppliedPartition { intent, plan, applied } = self;
        if applied.in_force {
            return format!("Partition {} is already active; no setting was written.\n", intent.name);
        }
        match report::shared_owners(plan) {
            None => format!(
                "CPU {} is isolated as partition {}; everything else runs on CPU {}.\n",
                plan.isolated, intent.name, plan.housekeeping
            ),
            Some(why) => format!(
                "CPU {} is partition {}, but NOT for you alone: {why}.\n",
                plan.isolated, intent.name
            ),
        }
    }
}
