//! Implements `cset shield`: CPUs for selected programs. The shield is a partition of ours, and its two sets have cset's
//! names, so that `--reset` restores the true former state.
//!
//! As in cset, programs inside share its CPUs: it is a `root` partition on v2, and balanced on v1. Without
//! `--kthread=on` kernel threads are left alone.

mod make;

use super::moving::{self, KernelThreads, Siblings};
use super::options::{Flag, Given, Takes};
use super::place::{self, Start};
use super::talk::Talk;
use super::tree::{Set, Tree};
use super::{Command, Refused, proc, set, spec};
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

/// An existing shield.
struct Shield<'t> {
    user: &'t Set,
    system: &'t Set,
    /// Its entry in our journal; `None` for a manually created one.
    intent: Option<Intent>,
}

fn run(session: &Session, given: &Given, talk: &mut Talk) -> Result<Status, Refused> {
    let name = |option: &str, usual: &str| given.value(option).unwrap_or(usual).to_owned();
    let names = Names {
        user: name("userset", "user"),
        system: name("sysset", "system"),
    };
    let tree = Tree::read(session)?;
    if let Some(cpus) = given.value("cpu") {
        return cpu(session, &tree, &names, cpus, given.value("kthread"), talk);
    }
    if given.has("reset") {
        talk.say("--> deactivating/reseting shielding");
        make::reset(session, &tree, &active(session, &tree, &names)?, talk)?;
        return Ok(Status::Done);
    }
    let shield = active(session, &tree, &names)?;
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
        Some(pidspec) => bring(session, &tree, &shield, &names, &pidspec, given, talk),
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
            tell(session, &tree, &shield, &names, given, talk);
            Ok(Status::Done)
        }
    }
}

/// Finds the shield: the one in our journal, or two sets with these names.
fn active<'t>(session: &Session, tree: &'t Tree, names: &Names) -> Result<Shield<'t>, Refused> {
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
    session: &Session,
    tree: &Tree,
    names: &Names,
    cpus: &str,
    kthread: Option<&str>,
    talk: &mut Talk,
) -> Result<Status, Refused> {
    let cpus = spec::cpus(cpus, super::tree::last_cpu(session))?;
    match active(session, tree, names) {
        Err(_) => {
            talk.say("--> activating shielding:");
            make::activate(session, tree, names, &cpus, Kthread::of(kthread), talk)?;
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
    let shield = active(session, &now, names)?;
    talk.say(&proc::headline(shield.system, &names.system));
    talk.say(&proc::headline(shield.user, &names.user));
    Ok(Status::Done)
}

/// `-s` and `-u` with a PIDSPEC.
fn bring(
    session: &Session,
    tree: &Tree,
    shield: &Shield,
    names: &Names,
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
fn tell(session: &Session, tree: &Tree, shield: &Shield, names: &Names, given: &Given, talk: &mut Talk) {
    let one = |set: &Set, name: &str, talk: &mut Talk| match given.count("verbose") {
        0 => talk.say(&proc::headline(set, name)),
        count => {
            // Here the first `-v` requests the list, the second its full width.
            talk.verbose_again(count - 1);
            proc::show(session, tree, set, name, talk, 2);
        }
    };
    let (shielded, unshielded) = (given.has("shield"), given.has("unshield"));
    if !shielded && !unshielded {
        talk.say("--> shielding system active with");
        one(shield.system, &names.system, talk);
        one(shield.user, &names.user, talk);
        return;
    }
    if shielded {
        one(shield.user, &names.user, talk);
    }
    if unshielded {
        one(shield.system, &names.system, talk);
    }
    talk.say("done");
}
