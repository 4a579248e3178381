//! Creates the changes for `cset set`: lists of writes, journalled like every other change, so that they can be undone.

use crate::cset::CsetError;
use crate::cset::tree::{CpusetNode, CpusetTree, clean, parent};
use apply::{
    ApplyLayer, ApplyOutcome, ApplyRequest, Force, Journal, JournalState, UndoOutcome, UndoRequest, UndoTarget,
};
use machine::{CpuId, CpuSet, Version};
use plan::{Action, Change, IntentKind, PartitionName, ReadbackComparison, UndoMethod, by_hand};
use root::Root;
use session::ChangeLock;

/// The intended properties of a set.
#[derive(Clone, Debug, Default)]
pub struct SetProperties {
    /// Its CPUs.
    pub cpus: Option<CpuSet>,
    /// Its memory nodes.
    pub mems: Option<CpuSet>,
    /// Files to set to 1: `cpu_exclusive`, `mem_exclusive`.
    pub flags: Vec<&'static str>,
}

/// The changes that create a set with this name.
///
/// # Errors
/// No such parent.
pub fn create(tree: &CpusetTree, name: &str, request: &SetProperties) -> Result<Vec<Change>, CsetError> {
    let path = clean(name);
    let above = match parent(&path) {
        "" => tree.find("root")?,
        above => tree.find(above)?,
    };
    let place = tree.place_for(name);
    let dir = tree.hierarchy.dir(&place);
    let file = |name: &str| tree.hierarchy.file(&place, name);
    let inside = |path: String, value: &str, compare| by_hand::write(&path, None, value, compare, UndoMethod::WithSet);
    let cpus = request.cpus.clone().unwrap_or_else(|| above.cpus.clone());
    let mut changes = Vec::new();
    if tree.hierarchy.version == Version::V2 {
        let path = format!("{}/cgroup.subtree_control", tree.hierarchy.dir(&above.place));
        let before = tree.session.root().value(&path)?;
        if !ReadbackComparison::Word.same(before.as_deref().unwrap_or_default(), "+cpuset") {
            changes.push(by_hand::write(
                &path,
                before,
                "+cpuset",
                ReadbackComparison::Word,
                UndoMethod::Restore,
            ));
        }
    }
    changes.push(by_hand::make_set(&dir));
    changes.push(inside(file("cpus"), &cpus.to_string(), ReadbackComparison::List));
    let mems = request.mems.clone().or_else(|| near(tree, &cpus, above));
    if let Some(mems) = mems {
        changes.push(inside(file("mems"), &mems.to_string(), ReadbackComparison::List));
    }
    match tree.hierarchy.version {
        Version::V1 => {
            changes.extend(
                request
                    .flags
                    .iter()
                    .map(|flag| inside(file(flag), "1", ReadbackComparison::Text)),
            );
        }
        // The lowest CPU is never reserved exclusively: such a set stays an ordinary one.
        Version::V2 if request.flags.contains(&"cpu_exclusive") && !has_lowest(tree, &cpus) => {
            changes.push(by_hand::make_partition(&file("cpus.partition")));
        }
        Version::V2 => {}
    }
    Ok(changes)
}

/// Whether the lowest online CPU is among these.
pub fn has_lowest(tree: &CpusetTree, cpus: &CpuSet) -> bool {
    let lowest: Option<CpuId> = tree.machine.topology.online.first();
    lowest.is_some_and(|lowest| cpus.contains(lowest))
}

/// The parent's memory nodes that belong to these CPUs; all of the parent's if there are none. On v2 an
/// unwritten list means the parent's.
fn near(tree: &CpusetTree, cpus: &CpuSet, above: &CpusetNode) -> Option<CpuSet> {
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

/// The changes that set other CPUs or nodes.
///
/// # Errors
/// Files that cannot be read.
pub fn modify(tree: &CpusetTree, set: &CpusetNode, request: &SetProperties) -> Result<Vec<Change>, CsetError> {
    let lists = [("cpus", &request.cpus), ("mems", &request.mems)];
    let mut changes = Vec::new();
    for (name, list) in lists {
        if let Some(list) = list {
            let path = tree.hierarchy.file(&set.place, name);
            let before = tree.session.root().value(&path)?;
            changes.push(by_hand::write(
                &path,
                before,
                &list.to_string(),
                ReadbackComparison::List,
                UndoMethod::Restore,
            ));
        }
    }
    Ok(changes)
}

/// The set that receives the tasks of a removed one: its parent. On v2 a set with child sets cannot contain tasks, except
/// the root.
///
/// # Errors
/// No such parent.
pub fn receiving_set<'t>(tree: &'t CpusetTree, set: &CpusetNode) -> Result<&'t CpusetNode, CsetError> {
    match (parent(&set.path), tree.hierarchy.version) {
        ("", _) | (_, Version::V2) => tree.find("root"),
        (above, Version::V1) => tree.find(above),
    }
}

/// The changes that move a set's tasks to its parent and remove the set.
///
/// # Errors
/// No such parent.
pub fn destroy(tree: &CpusetTree, set: &CpusetNode) -> Result<Vec<Change>, CsetError> {
    let above = receiving_set(tree, set)?;
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

/// The changes that rename a set and all sets below it. v2 cannot rename, so they are recreated with their tasks.
///
/// # Errors
/// Files that cannot be read.
pub fn rename(tree: &CpusetTree, set: &CpusetNode, name: &str) -> Result<Vec<Change>, CsetError> {
    let root = tree.session.root();
    let path = format!("{}/{name}", parent(&set.path));
    let start = tree.place_for(&path);
    let new_place = |old: &CpusetNode| {
        let rest = old.place.strip_prefix(&set.place).unwrap_or_default();
        format!("{start}{rest}")
    };
    let all = tree.below(set);
    let mut changes = Vec::new();
    // A set must release its exclusive resources before the new one can claim them, the innermost first.
    for old in all.iter().rev() {
        changes.extend(release_exclusive(root, tree, old)?);
    }
    for old in &all {
        changes.extend(copy_set(root, tree, old, &new_place(old))?);
    }
    for old in &all {
        let place = new_place(old);
        changes.extend(copy_exclusive(root, tree, old, &place)?);
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

fn release_exclusive(root: &Root, tree: &CpusetTree, set: &CpusetNode) -> Result<Vec<Change>, CsetError> {
    let mut changes = Vec::new();
    for (file, free) in exclusive_files(tree.hierarchy.version) {
        let path = tree.hierarchy.file(&set.place, file);
        let before = root.value(&path)?;
        if before.as_deref().is_some_and(|before| before != *free) {
            changes.push(by_hand::write(
                &path,
                before,
                free,
                ReadbackComparison::Text,
                UndoMethod::Restore,
            ));
        }
    }
    Ok(changes)
}

/// Creates a set at `place` with the properties of `old`, except the exclusive ones.
fn copy_set(root: &Root, tree: &CpusetTree, old: &CpusetNode, place: &str) -> Result<Vec<Change>, CsetError> {
    let dir = tree.hierarchy.dir(place);
    let mut changes = vec![by_hand::make_set(&dir)];
    for (file, compare) in copied_files(tree.hierarchy.version) {
        let value = root.value(&tree.hierarchy.file(&old.place, file))?;
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let path = tree.hierarchy.file(place, file);
            changes.push(by_hand::write(&path, None, &value, *compare, UndoMethod::WithSet));
        }
    }
    let control = |dir: &str| format!("{dir}/cgroup.subtree_control");
    let handed = root
        .value(&control(&tree.hierarchy.dir(&old.place)))?
        .unwrap_or_default();
    if ReadbackComparison::Word.same(&handed, "+cpuset") {
        changes.push(by_hand::write(
            &control(&dir),
            None,
            "+cpuset",
            ReadbackComparison::Word,
            UndoMethod::WithSet,
        ));
    }
    Ok(changes)
}

/// Gives the set at `place` the exclusive resources of `old`.
fn copy_exclusive(root: &Root, tree: &CpusetTree, old: &CpusetNode, place: &str) -> Result<Vec<Change>, CsetError> {
    let mut changes = Vec::new();
    for (file, free) in exclusive_files(tree.hierarchy.version) {
        let value = root.value(&tree.hierarchy.file(&old.place, file))?;
        if let Some(value) = value.filter(|value| value != free) {
            let path = tree.hierarchy.file(place, file);
            changes.push(by_hand::write(
                &path,
                None,
                &value,
                ReadbackComparison::Text,
                UndoMethod::WithSet,
            ));
        }
    }
    Ok(changes)
}

/// Files that make a resource exclusive, and their values if it is not.
fn exclusive_files(version: Version) -> &'static [(&'static str, &'static str)] {
    match version {
        Version::V1 => &[("cpu_exclusive", "0"), ("mem_exclusive", "0")],
        Version::V2 => &[("cpus.partition", "member")],
    }
}

fn copied_files(version: Version) -> &'static [(&'static str, ReadbackComparison)] {
    match version {
        Version::V1 => &[
            ("cpus", ReadbackComparison::List),
            ("mems", ReadbackComparison::List),
            ("memory_migrate", ReadbackComparison::Text),
            ("mem_hardwall", ReadbackComparison::Text),
            ("sched_load_balance", ReadbackComparison::Text),
        ],
        Version::V2 => &[("cpus", ReadbackComparison::List), ("mems", ReadbackComparison::List)],
    }
}

/// Applies all of these changes, or none.
///
/// # Errors
/// The kernel's refusal; all earlier changes have been undone.
pub fn make(tree: &CpusetTree, changes: Vec<Change>) -> Result<Option<ApplyOutcome>, CsetError> {
    if changes.is_empty() {
        return Ok(None);
    }
    let session = tree.session;
    let changing = session.lock()?;
    session.refresh();
    let machine = session.machine();
    let last = Journal::open(changing.state())?.and_then(|journal| journal.records().last().map(|last| last.seq));
    let name = PartitionName::new(&format!("cset-{}", last.unwrap_or(0) + 1))?;
    let (intent, plan) = by_hand::by_hand(name, changes);
    let request = ApplyRequest {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        reason: "cset",
        tool: env!("CARGO_PKG_VERSION"),
        guard: None,
        stop: session::stop_flag(),
    };
    Ok(Some(apply::apply(&*changing.host, changing.state(), &request)?))
}

/// If the last manual layers are the creation of this set and later work in it, undoing them removes the set: its tasks
/// return to their original cgroups, and the journal returns to its former end.
///
/// # Errors
/// A journal that cannot be read, or a failed undo.
pub fn unmake(tree: &CpusetTree, set: &CpusetNode) -> Result<bool, CsetError> {
    let Some(changing) = tree.session.lock_existing()? else {
        return Ok(false);
    };
    let boot_id = tree.session.boot_id();
    let Some(steps) = Journal::open(changing.state())?.and_then(|journal| {
        let is_open = journal.state(boot_id.as_deref()) == JournalState::InForce;
        is_open.then(|| making(&journal, &tree.hierarchy.dir(&set.place)))?
    }) else {
        return Ok(false);
    };
    for _ in 0..steps {
        undo(&changing, UndoTarget::Last, "cset set --destroy")?;
    }
    Ok(true)
}

/// Undoes this, and keeps what other programs changed since.
pub fn undo(changing: &ChangeLock, which: UndoTarget, why: &str) -> Result<UndoOutcome, CsetError> {
    let force = Force::Keep;
    let boot_id = changing.session.boot_id();
    let request = UndoRequest { which, force, why };
    let undone = apply::undo(&*changing.host, changing.state(), boot_id.as_deref(), request)?;
    match undone.failed.first() {
        None => Ok(undone),
        Some(failed) => Err(CsetError::failed(format!("not undone: {failed}"))),
    }
}

/// The number of last layers that concern only this set, back to its creation.
fn making(journal: &Journal, dir: &str) -> Option<usize> {
    let layers = journal.layers();
    let live: Vec<&ApplyLayer> = layers.iter().rev().filter(|layer| layer.is_live()).collect();
    let within = |path: &str| machine::is_within(path, dir);
    let concerns = |change: &Change| match &change.action {
        Action::Write { path, compare, .. } => within(path) || *compare == ReadbackComparison::Word,
        Action::MakeSet { path }
        | Action::MakePartition { path, .. }
        | Action::RemoveSet { path }
        | Action::GiveFile { path, .. } => within(path),
        Action::MoveTasks { to, .. } => within(to),
        Action::NarrowTasks { .. } | Action::BanCpus { .. } | Action::CycleCpus { .. } | Action::StartSlice { .. } => {
            false
        }
    };
    let ours =
        |layer: &&&ApplyLayer| layer.intent.kind == IntentKind::ByHand && layer.changes.iter().copied().all(concerns);
    let tail: Vec<&&ApplyLayer> = live.iter().take_while(ours).collect();
    let made = |layer: &&&ApplyLayer| {
        layer
            .changes
            .iter()
            .any(|change| matches!(&change.action, Action::MakeSet { path } if path == dir))
    };
    tail.iter().position(made).map(|place| place + 1)
}
