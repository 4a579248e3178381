//! The changes behind `cset set`: lists of writes, journalled as every other change, so that undo takes them back.

use crate::cset::Refused;
use crate::cset::tree::{Set, Tree, clean, parent};
use apply::{Applied, Force, Journal, JournalState, Layer, Request, Which};
use machine::{CpuId, CpuSet, Version};
use plan::{Action, Change, Compare, IntentKind, PartitionName, Undo, by_hand};
use session::Session;

/// What a set shall be.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Its CPUs.
    pub cpus: Option<CpuSet>,
    /// Its memory nodes.
    pub mems: Option<CpuSet>,
    /// Files that hold 1: `cpu_exclusive`, `mem_exclusive`.
    pub flags: Vec<&'static str>,
}

/// The changes that make a set of this name.
///
/// # Errors
/// No such parent.
pub fn create(session: &Session, tree: &Tree, name: &str, wanted: &Wanted) -> Result<Vec<Change>, Refused> {
    let path = clean(name);
    let above = match parent(&path) {
        "" => tree.find("root")?,
        above => tree.find(above)?,
    };
    let place = tree.place_for(name);
    let dir = tree.hierarchy.dir(&place);
    let file = |name: &str| tree.hierarchy.file(&place, name);
    let inside =
        |path: String, value: &str, compare| by_hand::write(&path, None, value, compare, Undo::WithSet);
    let cpus = wanted.cpus.clone().unwrap_or_else(|| above.cpus.clone());
    let mut changes = Vec::new();
    if tree.hierarchy.version == Version::V2 {
        let path = format!("{}/cgroup.subtree_control", tree.hierarchy.dir(&above.place));
        let before = session.root().value(&path)?;
        if !Compare::Word.same(before.as_deref().unwrap_or_default(), "+cpuset") {
            changes.push(by_hand::write(
                &path,
                before,
                "+cpuset",
                Compare::Word,
                Undo::Restore,
            ));
        }
    }
    changes.push(by_hand::make_set(&dir));
    changes.push(inside(file("cpus"), &cpus.to_string(), Compare::List));
    let mems = wanted.mems.clone().or_else(|| near(tree, &cpus, above));
    if let Some(mems) = mems {
        changes.push(inside(file("mems"), &mems.to_string(), Compare::List));
    }
    match tree.hierarchy.version {
        Version::V1 => {
            changes.extend(
                wanted
                    .flags
                    .iter()
                    .map(|flag| inside(file(flag), "1", Compare::Text)),
            );
        }
        // The lowest CPU is never taken from everybody else: such a set stays an ordinary one.
        Version::V2 if wanted.flags.contains(&"cpu_exclusive") && !has_lowest(tree, &cpus) => {
            changes.push(by_hand::make_partition(&file("cpus.partition")));
        }
        Version::V2 => {}
    }
    Ok(changes)
}

/// Whether the lowest online CPU is among these.
pub fn has_lowest(tree: &Tree, cpus: &CpuSet) -> bool {
    let lowest: Option<CpuId> = tree.machine.topology.online.first();
    lowest.is_some_and(|lowest| cpus.contains(lowest))
}

/// The memory nodes of these CPUs, of those that the parent has; all of the parent's where they have none. On v2 an
/// unwritten list is the parent's.
fn near(tree: &Tree, cpus: &CpuSet, above: &Set) -> Option<CpuSet> {
    let nodes = tree.machine.topology.nodes.iter();
    let local: CpuSet = nodes
        .filter(|node| node.has_memory == Some(true) && node.cpus.intersects(cpus))
        .map(|node| CpuId(node.id))
        .collect();
    let local = local.and(&above.mems);
    match (local.is_empty(), tree.hierarchy.version) {
        (false, _) if local != above.mems => Some(local),
        (_, Version::V1) => Some(above.mems.clone()),
        (_, Version::V2) => None,
    }
}

/// The changes that give a set other CPUs or nodes.
///
/// # Errors
/// Files that cannot be read.
pub fn modify(session: &Session, tree: &Tree, set: &Set, wanted: &Wanted) -> Result<Vec<Change>, Refused> {
    let lists = [("cpus", &wanted.cpus), ("mems", &wanted.mems)];
    let mut changes = Vec::new();
    for (name, list) in lists {
        if let Some(list) = list {
            let path = tree.hierarchy.file(&set.place, name);
            let before = session.root().value(&path)?;
            changes.push(by_hand::write(
                &path,
                before,
                &list.to_string(),
                Compare::List,
                Undo::Restore,
            ));
        }
    }
    Ok(changes)
}

/// The set that takes the tasks of one that goes: its parent. On v2 a set with sets below it takes none, but for the
/// root.
///
/// # Errors
/// No such parent.
pub fn heir<'t>(tree: &'t Tree, set: &Set) -> Result<&'t Set, Refused> {
    match (parent(&set.path), tree.hierarchy.version) {
        ("", _) | (_, Version::V2) => tree.find("root"),
        (above, Version::V1) => tree.find(above),
    }
}

/// The changes that empty a set into its parent and remove it.
///
/// # Errors
/// No such parent.
pub fn destroy(tree: &Tree, set: &Set) -> Result<Vec<Change>, Refused> {
    let above = heir(tree, set)?;
    let tids: Vec<u32> = tree.members(set).map(|task| task.key.tid).collect();
    let mut changes = Vec::new();
    if !tids.is_empty() {
        changes.push(by_hand::move_tasks(
            tids,
            &tree.hierarchy.dir(&above.place),
            &above.cpus,
        ));
    }
    changes.push(by_hand::remove_set(&tree.hierarchy.dir(&set.place)));
    Ok(changes)
}

/// The changes that give a set and all below it another name: v2 cannot rename, so they are made anew, tasks and all.
///
/// # Errors
/// Files that cannot be read.
pub fn rename(session: &Session, tree: &Tree, set: &Set, name: &str) -> Result<Vec<Change>, Refused> {
    let root = session.root();
    let path = format!("{}/{name}", parent(&set.path));
    let start = tree.place_for(&path);
    let all = tree.below(set);
    let mut changes = Vec::new();
    // What a set has for itself alone it has to let go before the new one can have it, the innermost first.
    for old in all.iter().rev() {
        for (file, free) in exclusive_files(tree.hierarchy.version) {
            let path = tree.hierarchy.file(&old.place, file);
            let before = root.value(&path)?;
            if before.as_deref().is_some_and(|before| before != *free) {
                changes.push(by_hand::write(&path, before, free, Compare::Text, Undo::Restore));
            }
        }
    }
    for old in &all {
        let place = format!(
            "{start}{}",
            old.place.strip_prefix(&set.place).unwrap_or_default()
        );
        let dir = tree.hierarchy.dir(&place);
        changes.push(by_hand::make_set(&dir));
        for (file, compare) in copied_files(tree.hierarchy.version) {
            let value = root.value(&tree.hierarchy.file(&old.place, file))?;
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let path = tree.hierarchy.file(&place, file);
                changes.push(by_hand::write(&path, None, &value, *compare, Undo::WithSet));
            }
        }
        let control = |dir: &str| format!("{dir}/cgroup.subtree_control");
        let handed = root
            .value(&control(&tree.hierarchy.dir(&old.place)))?
            .unwrap_or_default();
        if Compare::Word.same(&handed, "+cpuset") {
            changes.push(by_hand::write(
                &control(&dir),
                None,
                "+cpuset",
                Compare::Word,
                Undo::WithSet,
            ));
        }
    }
    for old in &all {
        let place = format!(
            "{start}{}",
            old.place.strip_prefix(&set.place).unwrap_or_default()
        );
        for (file, free) in exclusive_files(tree.hierarchy.version) {
            let value = root.value(&tree.hierarchy.file(&old.place, file))?;
            if let Some(value) = value.filter(|value| value != free) {
                let path = tree.hierarchy.file(&place, file);
                changes.push(by_hand::write(&path, None, &value, Compare::Text, Undo::WithSet));
            }
        }
        let tids: Vec<u32> = tree.members(old).map(|task| task.key.tid).collect();
        if !tids.is_empty() {
            changes.push(by_hand::move_tasks(tids, &tree.hierarchy.dir(&place), &old.cpus));
        }
    }
    changes.extend(
        all.iter()
            .rev()
            .map(|old| by_hand::remove_set(&tree.hierarchy.dir(&old.place))),
    );
    Ok(changes)
}

/// Files by which a set has something for itself, and what they hold when it has not.
fn exclusive_files(version: Version) -> &'static [(&'static str, &'static str)] {
    match version {
        Version::V1 => &[("cpu_exclusive", "0"), ("mem_exclusive", "0")],
        Version::V2 => &[("cpus.partition", "member")],
    }
}

fn copied_files(version: Version) -> &'static [(&'static str, Compare)] {
    match version {
        Version::V1 => &[
            ("cpus", Compare::List),
            ("mems", Compare::List),
            ("memory_migrate", Compare::Text),
            ("mem_hardwall", Compare::Text),
            ("sched_load_balance", Compare::Text),
        ],
        Version::V2 => &[("cpus", Compare::List), ("mems", Compare::List)],
    }
}

/// Makes these changes, or none of them.
///
/// # Errors
/// What the kernel refused; everything before it has been taken back.
pub fn make(session: &Session, changes: Vec<Change>) -> Result<Option<Applied>, Refused> {
    if changes.is_empty() {
        return Ok(None);
    }
    let changing = session.lock()?;
    session.refresh();
    let machine = session.machine();
    let last =
        Journal::open(changing.state())?.and_then(|journal| journal.records().last().map(|last| last.seq));
    let name = PartitionName::new(&format!("cset-{}", last.unwrap_or(0) + 1))?;
    let (intent, plan) = by_hand::by_hand(name, changes);
    let request = Request {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        reason: "cset",
        tool: env!("CARGO_PKG_VERSION"),
        guard: None,
        stop: session::stop_flag(),
    };
    Ok(Some(apply::apply(&changing.host, changing.state(), &request)?))
}

/// Where the last things that were done by hand were the making of this set and what was done in it since, taking them
/// back removes it: its tasks go to where they came from, and the journal ends where it began.
///
/// # Errors
/// A journal that cannot be read, what could not be taken back.
pub fn unmake(session: &Session, tree: &Tree, set: &Set) -> Result<bool, Refused> {
    let Some(changing) = session.lock_existing()? else {
        return Ok(false);
    };
    let boot_id = changing.session.boot_id();
    let Some(steps) = Journal::open(changing.state())?.and_then(|journal| {
        let is_open = journal.state(boot_id.as_deref()) == JournalState::InForce;
        is_open.then(|| making(&journal, &tree.hierarchy.dir(&set.place)))?
    }) else {
        return Ok(false);
    };
    for _ in 0..steps {
        let undone = apply::undo(
            &changing.host,
            changing.state(),
            boot_id.as_deref(),
            Which::Last,
            Force::Keep,
            "cset set --destroy",
        )?;
        if let Some(failed) = undone.failed.first() {
            return Err(Refused::said(format!("not taken back: {failed}")));
        }
    }
    Ok(true)
}

/// How many of the last layers are about this set alone, back to the one that made it.
fn making(journal: &Journal, dir: &str) -> Option<usize> {
    let layers = journal.layers();
    let live: Vec<&Layer> = layers.iter().rev().filter(|layer| layer.is_live()).collect();
    let within = |path: &str| {
        path.strip_prefix(dir)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let concerns = |change: &Change| match &change.action {
        Action::Write { path, compare, .. } => within(path) || *compare == Compare::Word,
        Action::MakeSet { path }
        | Action::MakePartition { path, .. }
        | Action::RemoveSet { path }
        | Action::GiveFile { path, .. } => within(path),
        Action::MoveTasks { to, .. } => within(to),
        Action::NarrowTasks { .. }
        | Action::BanCpus { .. }
        | Action::CycleCpus { .. }
        | Action::StartSlice { .. } => false,
    };
    let ours = |layer: &&&Layer| {
        layer.intent.kind == IntentKind::ByHand && layer.changes.iter().copied().all(concerns)
    };
    let tail: Vec<&&Layer> = live.iter().take_while(ours).collect();
    let made = |layer: &&&Layer| {
        layer
            .changes
            .iter()
            .any(|change| matches!(&change.action, Action::MakeSet { path } if path == dir))
    };
    tail.iter().position(made).map(|place| place + 1)
}
