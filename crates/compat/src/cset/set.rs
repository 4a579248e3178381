//! Implements `cset set`: lists, creates, changes, renames and removes cpusets.

mod change;

use super::options::{Flag, ParsedOptions};
use super::place::{self, MoveResult};
use super::tables::{self, Notation};
use super::talk::CsetOutput;
use super::tree::{CpusetNode, CpusetTree, clean, parent};
use super::{CsetCommand, CsetError, spec};
use change::SetProperties;
pub(super) use change::undo;
use machine::{CpuSet, Version};
use plan::by_hand;
use root::Status;
use session::Session;

pub(super) const COMMAND: CsetCommand = CsetCommand {
    name: "set",
    operands: "[cpuset name]",
    flags: FLAGS,
    run,
};

const FLAGS: &[Flag] = &[
    Flag::plain('l', "list", "list the cpusets; with -r also all below them"),
    Flag::word('c', "cpu", "the CPUs of the cpuset: creates it, or changes it"),
    Flag::word('m', "mem", "its memory nodes"),
    Flag::word('n', "newname", "another name for the cpuset"),
    Flag::plain('d', "destroy", "remove the cpuset"),
    Flag::word('s', "set", "the cpuset"),
    Flag::plain('r', "recurse", "also all below it, with --list and --destroy"),
    Flag::plain(
        ' ',
        "force",
        "also remove a set with tasks or child sets; the tasks move to the parent",
    ),
    Flag::plain('x', "usehex", "list CPUs and memory nodes as hexadecimal masks"),
    Flag::plain('v', "verbose", "rows in full width"),
    Flag::plain(' ', "cpu_exclusive", "its CPUs are exclusive"),
    Flag::plain(' ', "mem_exclusive", "its memory nodes are exclusive"),
];

fn run(session: &Session, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let tree = CpusetTree::read(session)?;
    let makes = ["cpu", "mem", "cpu_exclusive", "mem_exclusive"];
    if given.has("newname") {
        rename(&tree, given, talk)?;
    } else if given.has("destroy") {
        destroy(session, given, talk)?;
    } else if makes
        .iter()
        .any(|option| given.has(option) && given.value(option) != Some(""))
        && !given.has("list")
    {
        make(&tree, given, talk)?;
    } else {
        return list(&tree, given, talk);
    }
    Ok(Status::Done)
}

fn named(given: &ParsedOptions) -> Option<String> {
    given.value("set").map(str::to_owned).or_else(|| given.operand(0))
}

fn make(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<(), CsetError> {
    let name = named(given).ok_or_else(|| CsetError::failed("cpuset not specified"))?;
    let last = super::tree::last_cpu(tree.session);
    let mut request = SetProperties {
        cpus: given.value("cpu").map(|list| spec::cpus(list, last)).transpose()?,
        mems: given.value("mem").map(spec::mems).transpose()?,
        flags: Vec::new(),
    };
    let flags = ["cpu_exclusive", "mem_exclusive"];
    request.flags.extend(flags.iter().filter(|flag| given.has(flag)));
    let lists = request.cpus.is_some() || request.mems.is_some();
    match tree.find(&name) {
        Ok(_) if !lists => talk.print("Modification of cpu_exclusive and mem_exclusive not implemented."),
        Ok(set) => {
            change::make(tree, change::modify(tree, set, &request)?)?;
            talk.print(&format!("--> modified cpuset \"{name}\""));
        }
        Err(_) if !lists => return Err(CsetError::failed("cpuset not specified")),
        Err(_) => {
            let made = change::make(tree, change::create(tree, &name, &request)?)?;
            talk.print(&format!("--> created cpuset \"{name}\""));
            let findings = made.iter().flat_map(|made| &made.findings);
            findings.for_each(|finding| talk.print(&format!("--> {}", finding.message)));
            let lowest = request.cpus.is_some_and(|cpus| change::has_lowest(tree, &cpus));
            if lowest && request.flags.contains(&"cpu_exclusive") && tree.hierarchy.version == Version::V2 {
                talk.print("--> not exclusive: the lowest CPU always remains available to everything else");
            }
        }
    }
    Ok(())
}

fn rename(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<(), CsetError> {
    let old = named(given).ok_or_else(|| CsetError::failed("desired cpuset not specified"))?;
    let set = tree.find(&old)?;
    let new = given.value("newname").unwrap_or_default();
    let path = clean(&format!(
        "{}/{}",
        parent(&set.path),
        new.rsplit('/').next().unwrap_or(new)
    ));
    if new.contains('/') && clean(new) != path {
        return Err(CsetError::failed("desired name cannot have different path"));
    }
    if tree.sets.iter().any(|other| other.path == path) {
        return Err(CsetError::failed(format!("cpuset \"{path}\" already exists")));
    }
    own(tree, set)?;
    talk.print(&format!(
        "--> renaming \"{}\" to \"{new}\"",
        tree.hierarchy.dir(&set.place)
    ));
    change::make(
        tree,
        change::rename(tree, set, path.rsplit('/').next().unwrap_or_default())?,
    )?;
    Ok(())
}

/// The root cannot be removed, and sets of a shield are removed with it.
fn own(tree: &CpusetTree, set: &CpusetNode) -> Result<(), CsetError> {
    if set.path == "/" {
        return Err(CsetError::failed("the root cpuset cannot be changed"));
    }
    match place::is_of(tree, set, &tree.session.in_force()) {
        true => Err(CsetError::failed(format!(
            "cpuset \"{}\" belongs to an active partition: remove it with `cset shield --reset` or `quietcore undo`",
            set.path
        ))),
        false => Ok(()),
    }
}

fn destroy(session: &Session, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<(), CsetError> {
    let names = given.names(&["set"]);
    if names.is_empty() {
        return Err(CsetError::failed("cpuset not specified"));
    }
    for name in names {
        let tree = CpusetTree::read(session)?;
        let set = tree.find(&name)?;
        if set.path == "/" {
            continue;
        }
        own(&tree, set)?;
        let hint = match (set.subsets, given.has("recurse"), given.has("force")) {
            (1.., false, _) => "delete them first, or use --recurse",
            (1.., true, false) => "use --force to destroy",
            _ => {
                remove(&tree, set, talk)?;
                continue;
            }
        };
        let what = format!("cpuset \"{}\" has subsets, {hint}", set.path);
        return Err(CsetError::failed(what));
    }
    talk.print("done");
    Ok(())
}

/// Removes a set and all sets below it, the innermost first.
fn remove(tree: &CpusetTree, set: &CpusetNode, talk: &mut CsetOutput) -> Result<(), CsetError> {
    for old in tree.below(set).into_iter().rev() {
        let above = &change::receiving_set(tree, old)?.path;
        talk.print(&format!(
            "--> processing cpuset \"{}\", moving {} tasks to parent \"{above}\"...",
            old.name, old.tasks
        ));
        talk.bar(old.tasks);
        talk.print(&format!("--> deleting cpuset \"{}\"", old.path));
    }
    if change::unmake(tree, set)? {
        return Ok(());
    }
    destroy_all(tree, &tree.below(set))
}

/// Removes these sets, the last one first; their tasks move to their parents.
pub(super) fn destroy_all(tree: &CpusetTree, sets: &[&CpusetNode]) -> Result<(), CsetError> {
    for old in sets.iter().rev() {
        // Tasks of sets below it are in this one now.
        let now = CpusetTree::read(tree.session)?;
        let Some(old) = now.sets.iter().find(|set| set.place == old.place) else {
            continue;
        };
        own(tree, old)?;
        change::make(&now, change::destroy(&now, old)?)?;
    }
    Ok(())
}

/// Moves tasks into a set, and reports how many are not there afterwards.
pub(super) fn move_tasks(tree: &CpusetTree, tids: &[u32], to: &CpusetNode) -> Result<MoveResult, CsetError> {
    if place::is_of(tree, to, &tree.session.in_force()) {
        return place::into_partition(tree, tids, to);
    }
    let dir = tree.hierarchy.dir(&to.place);
    change::make(tree, vec![by_hand::move_tasks(tids.to_vec(), &dir, &to.cpus)])?;
    let now = CpusetTree::read(tree.session)?;
    let mut moved = MoveResult::default();
    for tid in tids {
        match now.task(*tid) {
            None => moved.exited += 1,
            Some(task) if task.cgroup.as_deref() != Some(to.place.as_str()) => moved.refused += 1,
            Some(_) => {}
        }
    }
    Ok(moved)
}

/// Changes the CPUs of a manually created shield: one of its sets must shrink before the other can grow.
pub(super) fn resize(
    tree: &CpusetTree,
    user: &CpusetNode,
    system: &CpusetNode,
    cpus: Option<&CpuSet>,
) -> Result<(), CsetError> {
    let Some(cpus) = cpus else { return Ok(()) };
    let request_for = |cpus: CpuSet| SetProperties {
        cpus: Some(cpus),
        ..SetProperties::default()
    };
    let root = tree.find("root")?;
    let rest = root.cpus.minus(cpus);
    let mut changes = Vec::new();
    for (set, cpus) in [(system, &rest), (user, cpus)] {
        let both = set.cpus.and(cpus);
        if !both.is_empty() && both != set.cpus {
            changes.extend(change::modify(tree, set, &request_for(both))?);
        }
    }
    for (set, cpus) in [(system, &rest), (user, cpus)] {
        changes.extend(change::modify(tree, set, &request_for(cpus.clone()))?);
    }
    change::make(tree, changes)?;
    Ok(())
}

fn list(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let mut names = given.names(&["set"]);
    if names.is_empty() {
        names.push("root".to_owned());
    }
    let mut sets: Vec<&CpusetNode> = Vec::new();
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
    talk.print(tables::sets(&sets, talk.reader, notation).trim_end_matches('\n'));
    Ok(Status::Done)
}
