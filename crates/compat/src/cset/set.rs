//! Implements `cset set`: lists, creates, changes, renames and removes cpusets.

mod change;

use super::options::{Flag, Given};
use super::place::{self, Moved};
use super::tables::{self, Notation};
use super::talk::Talk;
use super::tree::{Set, Tree, clean, parent};
use super::{Command, Refused, spec};
use change::Wanted;
use machine::{CpuSet, Version};
use plan::by_hand;
use root::Status;
use session::Session;

pub(super) const COMMAND: Command = Command {
    name: "set",
    operands: "[cpuset name]",
    flags: FLAGS,
    run,
};

const FLAGS: &[Flag] = &[
    Flag::plain('l', "list", "list the cpusets; all below them too with -r"),
    Flag::word('c', "cpu", "the CPUs of the cpuset: makes it, or changes it"),
    Flag::word('m', "mem", "its memory nodes"),
    Flag::word('n', "newname", "another name for the cpuset"),
    Flag::plain('d', "destroy", "remove the cpuset"),
    Flag::word('s', "set", "the cpuset"),
    Flag::plain('r', "recurse", "all below it too, with --list and --destroy"),
    Flag::plain(
        ' ',
        "force",
        "remove also what has tasks or sets below it; the tasks go to the parent",
    ),
    Flag::plain('x', "usehex", "list CPUs and memory nodes as hexadecimal masks"),
    Flag::plain('v', "verbose", "rows in full width"),
    Flag::plain(' ', "cpu_exclusive", "its CPUs are its own"),
    Flag::plain(' ', "mem_exclusive", "its memory nodes are its own"),
];

fn run(session: &Session, given: &Given, talk: &mut Talk) -> Result<Status, Refused> {
    let tree = Tree::read(session)?;
    let makes = ["cpu", "mem", "cpu_exclusive", "mem_exclusive"];
    if given.has("newname") {
        rename(session, &tree, given, talk)?;
    } else if given.has("destroy") {
        destroy(session, given, talk)?;
    } else if makes
        .iter()
        .any(|option| given.has(option) && given.value(option) != Some(""))
        && !given.has("list")
    {
        make(session, &tree, given, talk)?;
    } else {
        return list(&tree, given, talk);
    }
    Ok(Status::Done)
}

fn named(given: &Given) -> Option<String> {
    given.value("set").map(str::to_owned).or_else(|| given.operand(0))
}

fn make(session: &Session, tree: &Tree, given: &Given, talk: &mut Talk) -> Result<(), Refused> {
    let name = named(given).ok_or_else(|| Refused::said("cpuset not specified"))?;
    let last = super::tree::last_cpu(session);
    let mut wanted = Wanted {
        cpus: given
            .value("cpu")
            .map(|list| spec::cpus(list, last))
            .transpose()?,
        mems: given.value("mem").map(spec::mems).transpose()?,
        flags: Vec::new(),
    };
    let flags = ["cpu_exclusive", "mem_exclusive"];
    wanted.flags.extend(flags.iter().filter(|flag| given.has(flag)));
    let lists = wanted.cpus.is_some() || wanted.mems.is_some();
    match tree.find(&name) {
        Ok(_) if !lists => talk.say("Modification of cpu_exclusive and mem_exclusive not implemented."),
        Ok(set) => {
            change::make(session, change::modify(session, tree, set, &wanted)?)?;
            talk.say(&format!("--> modified cpuset \"{name}\""));
        }
        Err(_) if !lists => return Err(Refused::said("cpuset not specified")),
        Err(_) => {
            let made = change::make(session, change::create(session, tree, &name, &wanted)?)?;
            talk.say(&format!("--> created cpuset \"{name}\""));
            let findings = made.iter().flat_map(|made| &made.findings);
            findings.for_each(|finding| talk.say(&format!("--> {}", finding.message)));
            let lowest = wanted.cpus.is_some_and(|cpus| change::has_lowest(tree, &cpus));
            if lowest && wanted.flags.contains(&"cpu_exclusive") && tree.hierarchy.version == Version::V2 {
                talk.say("--> not exclusive: the lowest CPU is never taken from everything else");
            }
        }
    }
    Ok(())
}

fn rename(session: &Session, tree: &Tree, given: &Given, talk: &mut Talk) -> Result<(), Refused> {
    let old = named(given).ok_or_else(|| Refused::said("desired cpuset not specified"))?;
    let set = tree.find(&old)?;
    let new = given.value("newname").unwrap_or_default();
    let path = clean(&format!(
        "{}/{}",
        parent(&set.path),
        new.rsplit('/').next().unwrap_or(new)
    ));
    if new.contains('/') && clean(new) != path {
        return Err(Refused::said("desired name cannot have different path"));
    }
    if tree.sets.iter().any(|other| other.path == path) {
        return Err(Refused::said(format!("cpuset \"{path}\" already exists")));
    }
    own(session, tree, set)?;
    talk.say(&format!(
        "--> renaming \"{}\" to \"{new}\"",
        tree.hierarchy.dir(&set.place)
    ));
    change::make(
        session,
        change::rename(session, tree, set, path.rsplit('/').next().unwrap_or_default())?,
    )?;
    Ok(())
}

/// The root cannot be removed, and sets of a shield are removed with it.
fn own(session: &Session, tree: &Tree, set: &Set) -> Result<(), Refused> {
    if set.path == "/" {
        return Err(Refused::said("the root cpuset stays as it is"));
    }
    match place::is_of(tree, set, &session.in_force()) {
        true => Err(Refused::said(format!(
            "cpuset \"{}\" belongs to a partition that is in force: take it away with `cset shield --reset` or `quietcore undo`",
            set.path
        ))),
        false => Ok(()),
    }
}

fn destroy(session: &Session, given: &Given, talk: &mut Talk) -> Result<(), Refused> {
    let mut names: Vec<String> = given.value("set").map(str::to_owned).into_iter().collect();
    names.extend((0..given.operands.len()).filter_map(|place| given.operand(place)));
    if names.is_empty() {
        return Err(Refused::said("cpuset not specified"));
    }
    for name in names {
        let tree = Tree::read(session)?;
        let set = tree.find(&name)?;
        if set.path == "/" {
            continue;
        }
        own(session, &tree, set)?;
        match (set.subsets, given.has("recurse"), given.has("force")) {
            (1.., false, _) => {
                return Err(Refused::said(format!(
                    "cpuset \"{}\" has subsets, delete them first, or use --recurse",
                    set.path
                )));
            }
            (1.., true, false) => {
                return Err(Refused::said(format!(
                    "cpuset \"{}\" has subsets, use --force to destroy",
                    set.path
                )));
            }
            _ => remove(session, &tree, set, talk)?,
        }
    }
    talk.say("done");
    Ok(())
}

/// Removes a set and all sets below it, the innermost first.
fn remove(session: &Session, tree: &Tree, set: &Set, talk: &mut Talk) -> Result<(), Refused> {
    for old in tree.below(set).into_iter().rev() {
        let above = &change::heir(tree, old)?.path;
        talk.say(&format!(
            "--> processing cpuset \"{}\", moving {} tasks to parent \"{above}\"...",
            old.name, old.tasks
        ));
        talk.bar(old.tasks);
        talk.say(&format!("--> deleting cpuset \"{}\"", old.path));
    }
    if change::unmake(session, tree, set)? {
        return Ok(());
    }
    destroy_all(session, tree, &tree.below(set))
}

/// Removes these sets, the last one first; their tasks move to their parents.
pub(super) fn destroy_all(session: &Session, tree: &Tree, sets: &[&Set]) -> Result<(), Refused> {
    for old in sets.iter().rev() {
        // Tasks of sets below it are in this one now.
        let now = Tree::read(session)?;
        let Some(old) = now.sets.iter().find(|set| set.place == old.place) else {
            continue;
        };
        own(session, tree, old)?;
        change::make(session, change::destroy(&now, old)?)?;
    }
    Ok(())
}

/// Moves tasks into a set, and reports how many are not there afterwards.
pub(super) fn move_tasks(session: &Session, tree: &Tree, tids: &[u32], to: &Set) -> Result<Moved, Refused> {
    if place::is_of(tree, to, &session.in_force()) {
        return place::into_partition(session, tree, tids, to);
    }
    let dir = tree.hierarchy.dir(&to.place);
    change::make(session, vec![by_hand::move_tasks(tids.to_vec(), &dir, &to.cpus)])?;
    let now = Tree::read(session)?;
    let mut moved = Moved::default();
    for tid in tids {
        match now.task(*tid) {
            None => moved.gone += 1,
            Some(task) if task.cgroup.as_deref() != Some(to.place.as_str()) => moved.refused += 1,
            Some(_) => {}
        }
    }
    Ok(moved)
}

/// Changes the CPUs of a manually created shield: one of its sets must shrink before the other can grow.
pub(super) fn resize(
    session: &Session,
    tree: &Tree,
    user: &Set,
    system: &Set,
    cpus: Option<&CpuSet>,
) -> Result<(), Refused> {
    let Some(cpus) = cpus else { return Ok(()) };
    let wanted = |cpus: CpuSet| Wanted {
        cpus: Some(cpus),
        ..Wanted::default()
    };
    let root = tree.find("root")?;
    let rest = root.cpus.minus(cpus);
    let mut changes = Vec::new();
    for (set, cpus) in [(system, &rest), (user, cpus)] {
        let both = set.cpus.and(cpus);
        if !both.is_empty() && both != set.cpus {
            changes.extend(change::modify(session, tree, set, &wanted(both))?);
        }
    }
    for (set, cpus) in [(system, &rest), (user, cpus)] {
        changes.extend(change::modify(session, tree, set, &wanted(cpus.clone()))?);
    }
    change::make(session, changes)?;
    Ok(())
}

fn list(tree: &Tree, given: &Given, talk: &mut Talk) -> Result<Status, Refused> {
    let mut names: Vec<String> = given.value("set").map(str::to_owned).into_iter().collect();
    names.extend((0..given.operands.len()).filter_map(|place| given.operand(place)));
    if names.is_empty() {
        names.push("root".to_owned());
    }
    let mut sets: Vec<&Set> = Vec::new();
    let several = names.len() > 1;
    for name in &names {
        let set = tree.find(name)?;
        match (given.has("recurse"), several) {
            (true, _) => sets.extend(tree.below(set)),
            (false, true) => sets.push(set),
            (false, false) => {
                sets.push(set);
                sets.extend(tree.children(set));
            }
        }
    }
    let notation = if given.has("usehex") {
        Notation::Hex
    } else {
        Notation::List
    };
    talk.say(tables::sets(&sets, talk.reader, notation).trim_end_matches('\n'));
    Ok(Status::Done)
}
