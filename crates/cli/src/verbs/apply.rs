//! `apply`: isolates CPUs now. Every write is journalled and read back, and all are undone when a step fails.

mod boot;
mod install;
mod many;
mod planned_declaration;

use crate::intent::IntentArgs;
use crate::plans;
use apply::guard::{Guard, GuardTrigger};
use apply::{ApplyOutcome, ApplyRequest, ChangeEntry};
use machine::CpuSet;
use plan::declared::{BootPart, CpuSpec, Declaration};
use plan::{Finding, Intent, Level, Plan};
use planned_declaration::PlannedDeclaration;
use root::{Failure, Status};
use serde::Serialize;
use session::declaration_draft::DeclarationDraft;
use session::declared;
use session::isolation::plan_on;
use session::resize;
use session::{ChangeLock, Session};
use std::path::PathBuf;
use std::time::Duration;
use terminal::Screen;
use verify::boot_verdict::{boot_findings, boot_status};

/// Arguments of `apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: IntentArgs,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Undo it after this time unless `quietcore confirm` comes (60s, 5min)
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration)]
    confirm_within: Option<Duration>,
    /// Give the partition of this name, which is in force, these CPUs and this profile. Its programs leave it for a
    /// moment and come back
    #[arg(long, conflicts_with_all = ["confirm_within", "dry_run"])]
    resize: bool,
    /// The file of declared partitions, instead of /etc/quietcore.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Add the partition to the file of declared partitions too
    #[arg(long)]
    save: bool,
    /// With --save: `boot = true`, the boot line is to isolate its CPUs too (`boot set` writes it). A partition whose CPUs
    /// our boot line isolates already is saved so without being asked
    #[arg(long, requires = "save", requires = "cpus")]
    boot: bool,
    /// As at boot: only what is declared to come back, unless the boot line says quietcore=off or the last boot with
    /// it was not good
    #[arg(long, conflicts_with_all = ["save", "dry_run", "confirm_within", "resize", "install_unit"])]
    at_boot: bool,
    /// With --at-boot: the boot was good when the machine stayed up for this time afterwards
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration, default_value = "5min", requires = "at_boot")]
    good_after: Duration,
    /// Install what brings the declared partitions back at boot: a unit of systemd, or an init script with its links
    #[arg(long, value_name = "INIT", num_args = 0..=1, conflicts_with_all = ["save", "dry_run", "confirm_within", "resize"])]
    install_unit: Option<Option<install::InitSystem>>,
}

/// JSON of `apply`.
#[derive(Serialize)]
struct ApplyJson<'a> {
    schema: &'static str,
    partition: &'a str,
    isolated: &'a CpuSet,
    housekeeping: &'a CpuSet,
    in_force: bool,
    saved: Option<&'a str>,
    entries: &'a [ChangeEntry],
    findings: &'a [&'a Finding],
}

/// Runs the command.
///
/// # Errors
/// The intent cannot be met; the machine is then unchanged.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let nothing_else = || match args.wanted.is_nothing() {
        true => Ok(()),
        false => Err(Failure::usage(
            "it takes no CPUs and no names",
            "what is applied at boot is in the file of declared partitions",
            "declare it there, for example with `quietcore apply --cpus LIST --save`",
        )),
    };
    if let Some(init) = args.install_unit {
        nothing_else()?;
        return install::run(session, init, screen);
    }
    if args.at_boot {
        nothing_else()?;
        return boot::run(args, session, screen);
    }
    let alone = args.save || args.resize;
    if !alone && let Some(file) = args.wanted.declared(session, args.config.as_deref())? {
        return many::run(session, &file, args, screen);
    }
    one(session, args, screen)
}

fn dry_run(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let machine = session.machine().for_plan(session.root());
    let (_, plan) = args.wanted.plan(session, &machine)?;
    plans::show_one(&plan, screen);
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
    let brought = apply_declaration(&changing, planned, &reason(args))?;
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
    let findings: Vec<&Finding> = brought.applied.findings.iter().chain(&boot_part).collect();
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
    let mut text = brought.text(args.confirm_within, screen);
    if let Some(saved) = saved {
        text.push_str(&saved.text());
    }
    text.push_str(&attention(&boot_part, screen));
    screen.text(&text);
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
    let (session, root) = (changing.session, changing.session.root());
    let stop = session::stop_flag();
    let (mut machine, intent, mut plan) = (planned.machine, planned.intent, planned.plan);
    let former = match because.room {
        NameConflict::OfItsOwn => resize::make_room(changing, &intent, &machine)?,
        NameConflict::Beside => None,
    };
    if let Some(former) = &former {
        session.refresh();
        machine = session.machine().for_plan(root);
        // The intent stays as it was chosen before; only its plan changes without the former partition.
        plan = plan_on(session, &machine, &intent).map_err(|error| former.failed(error.into(), changing))?;
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
        stop,
    };
    let made = match &former {
        Some(_) => apply::apply_resized(&changing.host, changing.state(), &request),
        None => apply::apply(&changing.host, changing.state(), &request),
    };
    let mut applied = match made {
        Ok(applied) => applied,
        Err(error) => {
            guard.into_iter().for_each(Guard::disarm);
            let error = Failure::from(error);
            return Err(match &former {
                Some(former) => former.failed(error, changing),
                None => error,
            });
        }
    };
    if let Some(former) = &former {
        former.move_back(changing, &machine, &mut applied, &intent)?;
    }
    session.refresh();
    if applied.in_force {
        guard.into_iter().for_each(Guard::disarm);
    }
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

    fn text(&self, limit: Option<Duration>, screen: &Screen) -> String {
        let AppliedPartition { intent, plan, applied } = self;
        let mut text = plans::entries(&applied.entries, screen);
        text.push_str(&attention(&applied.findings, screen));
        if applied.in_force {
            text.push_str(&format!(
                "Partition {} is in force already; nothing was written.\n",
                intent.name
            ));
            return text;
        }
        text.push_str(&match report::shared_owners(plan) {
            None => format!(
                "CPU {} is isolated as partition {}; everything else runs on CPU {}.\n",
                plan.isolated, intent.name, plan.housekeeping
            ),
            Some(why) => format!(
                "CPU {} is partition {}, but NOT for you alone: {why}.\n",
                plan.isolated, intent.name
            ),
        });
        match limit {
            Some(limit) => text.push_str(&format!(
                "It is undone in {} s unless `quietcore confirm` is run.\n",
                limit.as_secs()
            )),
            None => {
                text.push_str("Run a program there with `quietcore run -- PROGRAM`; undo it with `quietcore undo`.\n")
            }
        }
        text
    }
}
