//! Implements `cset shield`: CPUs for selected programs. The shield is a partition of ours, and its two sets have cset's
//! names, so that `--reset` restores the true former state.
//!
//! As in cset, programs inside share its CPUs: it is a `root` partition on v2, and balanced on v1. Without
//! `--kthread=on` kernel threads are left alone.

mod make;

use super::moving::{self, KernelThreads, Siblings};
use super::options::{Flag, Given, Takes};
use super::place::{self, Start};
use super::proc::{self, NamedSet};
use super::talk::Talk;
use super::tree::{Set, Tree};
use super::{Command, Refused, set, spec};
use machine::Version;
use make::Kthread;
use plan::{Intent, partition_path};
use root::Status;
use session::Session;

pub(super) const COMMAND: Command = Command {
    name: "shield",
    operands: "[path/program]",
    flags: FLAGS,
    run,
};

const FLAGS: &[Flag] = &[
    Flag::word('c', "cpu", "the CPUs of the shield: makes it, or changes it"),
    Flag::plain('r', "reset", "takes the shield away"),
    Flag::plain('e', "exec", "start the operands as a program in the shield"),
    Flag::word(' ', "user", "with --exec: as this user (name or number)"),
    Flag::word(' ', "group", "with --exec: with this group (name or number)"),
    Flag::plain(
        's',
        "shield",
        "move tasks into the shield; without any, tell who is in it",
    ),
    Flag::plain(
        'u',
        "unshield",
        "move tasks out of the shield; without any, tell who is out",
    ),
    Flag::word('p', "pid", "the tasks"),
    Flag::plain(' ', "threads", "the other threads of their processes too"),
    Flag::with(
        'k',
        "kthread",
        Takes::OneOf(&["on", "off"]),
        "keep unbound kernel threads out too",
    ),
    Flag::plain('f', "force", "move tasks wherever they are"),
    Flag::plain('v', "verbose", "list the tasks; twice: in full width"),
    Flag::word(' ', "sysset", "another name for the set \"system\""),
    Flag::word(' ', "userset", "another name for the set \"user\""),
];

/// Names of the two sets.
struct Names {
    user: String,
    system: String,
}

/// What every subcommand works with.
#[derive(Clone, Copy)]
struct ShieldContext<'t> {
    session: &'t Session,
    tree: &'t Tree,
    names: &'t Names,
}

/// An existing shield.
struct Shield<'t> {
    user: &'t Set,
    system: &'t Set,
    /// Its entry in our journal; `None` for a manually created one.
    intent: Option<Intent>,
}

impl<'t> Shield<'t> {
    fn named_user(&self, names: &'t Names) -> NamedSet<'t> {
        NamedSet {
            set: self.user,
            name: &names.user,
        }
    }

    fn named_system(&self, names: &'t Names) -> NamedSet<'t> {
        NamedSet {
            set: self.system,
            name: &names.system,
        }
    }
}

fn run(session: &Session, given: &Given, talk: &mut Talk) -> Result<Status, Refused> {
    let name = |option: &str, usual: &str| given.value(option).unwrap_or(usual).to_owned();
    let names = Names {
        user: name("userset", "user"),
        system: name("sysset", "system"),
    };
    let tree = Tree::read(session)?;
    let context = ShieldContext {
        session,
        tree: &tree,
        names: &names,
    };
    if let Some(cpus) = given.value("cpu") {
        return cpu(&context, cpus, given.value("kthread"), talk);
    }
    if given.has("reset") {
        talk.say("--> deactivating/reseting shielding");
        make::reset(session, &tree, &active(&context)?, talk)?;
        return Ok(Status::Done);
    }
    let shield = active(&context)?;
    if let Some(word) = given.value("kthread") {
        make::kernel_threads(session, &tree, &shield, Kthread::of(Some(word)), talk)?;
        return Ok(Status::Done);
    }
    // A first operand in PIDSPEC syntax is a PIDSPEC; anything else is a program.
    let pidspec = given.value("pid").map(str::to_owned).or_else(|| {
        let first = given.operand(0).filter(|first| spec::is_pids(first));
        first.filter(|_| !given.has("exec"))
    });
    match pidspec {
        Some(pidspec) => bring(&context, &shield, &pidspec, given, talk),
        None if given.has("exec") || !given.operands.is_empty() => {
            let start = Start {
                set: shield.user,
                command: &given.operands,
                user: given.value("user"),
                group: given.value("group"),
            };
            Err(place::become_program(session, &tree, &start, || {
                proc::last_message(shield.user, talk)
            }))
        }
        None => {
            tell(&context, &shield, given, talk);
            Ok(Status::Done)
        }
    }
}

/// Finds the shield: the one in our journal, or two sets with these names.
fn active<'t>(context: &ShieldContext<'t>) -> Result<Shield<'t>, Refused> {
    let ShieldContext { session, tree, names } = *context;
    let inactive = || Refused::said("shielding not active on system");
    let intent = session
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

fn cpu(
    context: &ShieldContext,
    cpus: &str,
    kthread: Option<&str>,
    talk: &mut Talk,
) -> Result<Status, Refused> {
    let &ShieldContext { session, tree, names } = context;
    let cpus = spec::cpus(cpus, super::tree::last_cpu(session))?;
    match active(context) {
        Err(_) => {
            talk.say("--> activating shielding:");
            make::activate(context, &cpus, Kthread::of(kthread), talk)?;
        }
        Ok(shield) => {
            let kthread = kthread.map(|word| Kthread::of(Some(word)));
            make::change(session, tree, &shield, Some(&cpus), kthread)?;
            talk.say("--> shielding modified with:");
            if kthread == Some(Kthread::On) {
                make::say_kernel_threads(make::unbound(tree, tree.find("root")?), talk);
            }
        }
    }
    let now = Tree::read(session)?;
    let shield = active(&ShieldContext {
        tree: &now,
        ..*context
    })?;
    talk.say(&shield.named_system(names).headline());
    talk.say(&shield.named_user(names).headline());
    Ok(Status::Done)
}

/// `-s` and `-u` with a PIDSPEC.
fn bring(
    &ShieldContext { session, tree, names }: &ShieldContext,
    shield: &Shield,
    pidspec: &str,
    given: &Given,
    talk: &mut Talk,
) -> Result<Status, Refused> {
    let (doing, from, name, to) = match given.has("unshield") {
        true => ("unshielding", shield.user, &names.user, shield.system),
        false => ("shielding", shield.system, &names.system, shield.user),
    };
    let (siblings, threads) = match given.has("threads") {
        true => (Siblings::Come, "(with threads)"),
        false => (Siblings::Stay, ""),
    };
    let pids = moving::pids(tree, pidspec, siblings)?;
    talk.say(&format!("--> {doing} following pidspec: {pidspec} {threads}"));
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
        talk.say(&proc::skipped(elsewhere, name));
        talk.say("--> hint: perhaps use --force if sure of command");
    }
    if chosen.len() == 0 {
        return Err(Refused::said("tasks do not match all criteria, none moved"));
    }
    let moved = set::move_tasks(session, tree, &chosen.all(), to)?;
    talk.bar(chosen.len());
    if moved.refused > 0 {
        talk.say(&format!(
            "**> {} tasks are not movable, impossible to move",
            moved.refused
        ));
    }
    talk.say("done");
    Ok(Status::Done)
}

/// The tasks inside and outside the shield.
fn tell(context: &ShieldContext, shield: &Shield, given: &Given, talk: &mut Talk) {
    let one = |named: NamedSet, talk: &mut Talk| match given.count("verbose") {
        0 => talk.say(&named.headline()),
        count => {
            // Here the first `-v` requests the list, the second its full width.
            talk.verbose_again(count - 1);
            proc::show(context.session, context.tree, named, talk, 2);
        }
    };
    let user = shield.named_user(context.names);
    let system = shield.named_system(context.names);
    let (shielded, unshielded) = (given.has("shield"), given.has("unshield"));
    if !shielded && !unshielded {
        talk.say("--> shielding system active with");
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
    talk.say("done");
}
