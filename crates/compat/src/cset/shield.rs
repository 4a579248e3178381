//! Implements `cset shield`: CPUs for selected programs. The shield is a partition of ours, and its two sets have cset's
//! names, so that `--reset` restores the true former state.
//!
//! As in cset, programs inside share its CPUs: it is a `root` partition on v2, and balanced on v1. Without
//! `--kthread=on` kernel threads are left alone.

mod make;

use super::moving::{self, KernelThreads, Siblings};
use super::options::{Flag, OptionValueKind, ParsedOptions};
use super::place::{self, ProgramLaunch};
use super::proc::{self, NamedSet};
use super::talk::CsetOutput;
use super::tree::{CpusetNode, CpusetTree};
use super::{CsetCommand, CsetError, set, spec};
use machine::Version;
use make::Kthread;
use plan::{Intent, partition_path};
use root::Status;
use session::Session;

pub(super) const COMMAND: CsetCommand = CsetCommand {
    name: "shield",
    operands: "[path/program]",
    flags: FLAGS,
    run,
};

const FLAGS: &[Flag] = &[
    Flag::word('c', "cpu", "the CPUs of the shield: creates it, or changes it"),
    Flag::plain('r', "reset", "removes the shield"),
    Flag::plain('e', "exec", "start the operands as a program in the shield"),
    Flag::word(' ', "user", "with --exec: as this user (name or number)"),
    Flag::word(' ', "group", "with --exec: with this group (name or number)"),
    Flag::plain(
        's',
        "shield",
        "move tasks into the shield; without any, list the tasks in it",
    ),
    Flag::plain(
        'u',
        "unshield",
        "move tasks out of the shield; without any, list the tasks outside",
    ),
    Flag::word('p', "pid", "the tasks"),
    Flag::plain(' ', "threads", "also the other threads of their processes"),
    Flag::with(
        'k',
        "kthread",
        OptionValueKind::OneOf(&["on", "off"]),
        "also move unbound kernel threads out",
    ),
    Flag::plain('f', "force", "move tasks from any cpuset"),
    Flag::plain('v', "verbose", "list the tasks; twice: in full width"),
    Flag::word(' ', "sysset", "another name for the set \"system\""),
    Flag::word(' ', "userset", "another name for the set \"user\""),
];

/// Names of the two sets.
struct ShieldNames {
    user: String,
    system: String,
}

/// What every subcommand works with.
#[derive(Clone, Copy)]
struct ShieldContext<'t> {
    tree: &'t CpusetTree<'t>,
    names: &'t ShieldNames,
}

/// An existing shield.
struct Shield<'t> {
    user: &'t CpusetNode,
    system: &'t CpusetNode,
    /// Its entry in our journal; `None` for a manually created one.
    intent: Option<Intent>,
}

impl<'t> Shield<'t> {
    fn named_user(&self, names: &'t ShieldNames) -> NamedSet<'t> {
        NamedSet {
            set: self.user,
            name: &names.user,
        }
    }

    fn named_system(&self, names: &'t ShieldNames) -> NamedSet<'t> {
        NamedSet {
            set: self.system,
            name: &names.system,
        }
    }
}

fn run(session: &Session, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let name = |option: &str, usual: &str| given.value(option).unwrap_or(usual).to_owned();
    let names = ShieldNames {
        user: name("userset", "user"),
        system: name("sysset", "system"),
    };
    let tree = CpusetTree::read(session)?;
    let context = ShieldContext {
        tree: &tree,
        names: &names,
    };
    if let Some(cpus) = given.value("cpu") {
        return cpu(&context, cpus, given.value("kthread"), talk);
    }
    if given.has("reset") {
        talk.print("--> deactivating/reseting shielding");
        make::reset(&tree, &active(&context)?, talk)?;
        return Ok(Status::Done);
    }
    let shield = active(&context)?;
    if let Some(word) = given.value("kthread") {
        make::kernel_threads(&tree, &shield, Kthread::of(Some(word)), talk)?;
        return Ok(Status::Done);
    }
    // A first operand in PIDSPEC syntax is a PIDSPEC; anything else is a program.
    let pidspec = given.value("pid").map(str::to_owned).or_else(|| {
        let first = given.operand(0).filter(|first| spec::is_pids(first));
        first.filter(|_| !given.has("exec"))
    });
    match pidspec {
        Some(pidspec) => shield_tasks(&context, &shield, &pidspec, given, talk),
        None if given.has("exec") || !given.operands.is_empty() => {
            let start = ProgramLaunch {
                set: shield.user,
                command: &given.operands,
                user: given.value("user"),
                group: given.value("group"),
            };
            Err(place::become_program(&tree, &start, || {
                proc::last_message(shield.user, talk)
            }))
        }
        None => {
            report_tasks(&context, &shield, given, talk);
            Ok(Status::Done)
        }
    }
}

/// Finds the shield: the one in our journal, or two sets with these names.
fn active<'t>(context: &ShieldContext<'t>) -> Result<Shield<'t>, CsetError> {
    let ShieldContext { tree, names } = *context;
    let inactive = || CsetError::failed("shielding not active on system");
    let intent = tree
        .session
        .in_force()
        .into_iter()
        .find(|intent| intent.name.as_str() == names.user);
    let at = |dir: String| tree.sets.iter().find(|set| tree.hierarchy.dir(&set.place) == dir);
    if let Some(intent) = intent {
        let user = at(partition_path(&tree.hierarchy, &names.user));
        let system = intent.housekeeping_path(&tree.hierarchy).and_then(at);
        return Ok(Shield {
            user: user.ok_or_else(inactive)?,
            system: system.or(tree.sets.first()).ok_or_else(inactive)?,
            intent: Some(intent),
        });
    }
    let named = |name: &str| tree.sets.iter().find(|set| set.path == format!("/{name}"));
    Ok(Shield {
        user: named(&names.user).ok_or_else(inactive)?,
        system: named(&names.system).ok_or_else(inactive)?,
        intent: None,
    })
}

fn cpu(context: &ShieldContext, cpus: &str, kthread: Option<&str>, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let &ShieldContext { tree, names } = context;
    let cpus = spec::cpus(cpus, super::tree::last_cpu(tree.session))?;
    match active(context) {
        Err(_) => {
            talk.print("--> activating shielding:");
            make::activate(context, &cpus, Kthread::of(kthread), talk)?;
        }
        Ok(shield) => {
            let kthread = kthread.map(|word| Kthread::of(Some(word)));
            make::change(tree, &shield, Some(&cpus), kthread)?;
            talk.print("--> shielding modified with:");
            if kthread == Some(Kthread::On) {
                make::report_kernel_threads(make::unbound(tree, tree.find("root")?), talk);
            }
        }
    }
    let now = CpusetTree::read(tree.session)?;
    let shield = active(&ShieldContext { tree: &now, ..*context })?;
    talk.print(&shield.named_system(names).headline());
    talk.print(&shield.named_user(names).headline());
    Ok(Status::Done)
}

/// `-s` and `-u` with a PIDSPEC.
fn shield_tasks(
    &ShieldContext { tree, names }: &ShieldContext,
    shield: &Shield,
    pidspec: &str,
    given: &ParsedOptions,
    talk: &mut CsetOutput,
) -> Result<Status, CsetError> {
    let (doing, from, name, to) = match given.has("unshield") {
        true => ("unshielding", shield.user, &names.user, shield.system),
        false => ("shielding", shield.system, &names.system, shield.user),
    };
    let (siblings, threads) = match given.has("threads") {
        true => (Siblings::Included, "(with threads)"),
        false => (Siblings::Stay, ""),
    };
    let pids = moving::pids(tree, pidspec, siblings)?;
    talk.print(&format!("--> {doing} following pidspec: {pidspec} {threads}"));
    // On v2 the partition alone excludes other tasks: a task outside the set `system` is outside the shield too.
    let anywhere = given.has("force") || (tree.hierarchy.version == Version::V2 && !given.has("unshield"));
    let from = (!anywhere).then_some(from);
    let kernel = match given.has("force") {
        true => KernelThreads::All,
        false => KernelThreads::Unbound,
    };
    let chosen = moving::of_pids(tree, &pids, from, to, kernel);
    // A PID without a task is in no set either.
    let elsewhere = chosen.elsewhere + chosen.missing;
    if elsewhere > 0 {
        talk.print(&proc::skipped(elsewhere, name));
        talk.print("--> hint: perhaps use --force if sure of command");
    }
    if chosen.len() == 0 {
        return Err(CsetError::failed("tasks do not match all criteria, none moved"));
    }
    let moved = set::move_tasks(tree, &chosen.all(), to)?;
    talk.bar(chosen.len());
    if moved.refused > 0 {
        talk.print(&format!(
            "**> {} tasks are not movable, impossible to move",
            moved.refused
        ));
    }
    talk.print("done");
    Ok(Status::Done)
}

/// The tasks inside and outside the shield.
fn report_tasks(context: &ShieldContext, shield: &Shield, given: &ParsedOptions, talk: &mut CsetOutput) {
    let one = |named: NamedSet, talk: &mut CsetOutput| match given.count("verbose") {
        0 => talk.print(&named.headline()),
        count => {
            // Here the first `-v` requests the list, the second its full width.
            talk.verbose_again(count - 1);
            proc::show(context.tree, named, talk, 2);
        }
    };
    let user = shield.named_user(context.names);
    let system = shield.named_system(context.names);
    let (shielded, unshielded) = (given.has("shield"), given.has("unshield"));
    if !shielded && !unshielded {
        talk.print("--> shielding system active with");
        one(system, talk);
        one(user, talk);
        return;
    }
    if shielded {
        one(user, talk);
    }
    if unshielded {
        one(system, talk);
    }
    talk.print("done");
}
