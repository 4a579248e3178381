//! Moves tasks into sets. Moves into our partitions work like `run` and `move`, so that undo returns the tasks to their
//! original cgroups. Also places this process itself before it executes a program.

use super::CsetError;
use super::tree::{CpusetNode, CpusetTree};
use apply::threads::{self, ThreadMoveObstacle};
use apply::{
    ApplyLayer, ChangeOutcome, Journal, JournalState, MoveContext, MovePurpose, MoveUnit, PlannedMove, ThreadMove,
};
use machine::{CpuSet, Version};
use plan::Intent;
use root::errno_text;
use root::process;
use session::accounts;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The result of a move.
#[derive(Debug, Default)]
pub struct MoveResult {
    /// Tasks that the kernel refused to move.
    pub refused: usize,
    /// Tasks that had exited.
    pub exited: usize,
}

/// The active partitions, from the journal.
pub fn partitions(journal: &Journal, boot_id: Option<&str>) -> Vec<Intent> {
    if journal.state(boot_id) != JournalState::InForce {
        return Vec::new();
    }
    let layers = journal.layers();
    let live = layers.iter().filter(|layer| layer.is_live() && layer.is_partition());
    live.map(|layer: &ApplyLayer| layer.intent.clone()).collect()
}

/// Whether a set belongs to one of these partitions.
pub fn is_of(tree: &CpusetTree, set: &CpusetNode, partitions: &[Intent]) -> bool {
    let dir = tree.hierarchy.dir(&set.place);
    partitions.iter().any(|intent| {
        (intent.in_place.is_none() && intent.cgroup_path(&tree.hierarchy) == dir)
            || intent.housekeeping_path(&tree.hierarchy).as_ref() == Some(&dir)
    })
}

/// Moves tasks into a set of an active partition.
///
/// # Errors
/// A journal that cannot be written.
pub fn into_partition(tree: &CpusetTree, tids: &[u32], to: &CpusetNode) -> Result<MoveResult, CsetError> {
    let changing = tree.session.lock()?;
    let Some(mut journal) = Journal::open(changing.state())? else {
        return Err(CsetError::failed("shielding not active on system"));
    };
    let taken = isolated_cpus(&partitions(&journal, tree.session.boot_id().as_deref()));
    let ground = MoveContext {
        system: &*changing.host,
        hierarchy: &tree.hierarchy,
        isolated: &taken,
    };
    let parcels: Vec<PlannedMove> = tids
        .iter()
        .map(|tid| match moves_alone(tree, &ground, tids, *tid, to) {
            true => alone(MoveUnit::Thread, tree, *tid, to),
            false => parcel(tree, *tid, to),
        })
        .collect();
    let arrivals = apply::relocate(&ground, &mut journal, &parcels)?;
    let mut moved = MoveResult::default();
    for arrival in arrivals {
        match arrival.outcome {
            ChangeOutcome::Gone => moved.exited += 1,
            ChangeOutcome::Refused(_) | ChangeOutcome::Otherwise(_) => moved.refused += 1,
            _ => {}
        }
    }
    Ok(moved)
}

fn isolated_cpus(partitions: &[Intent]) -> CpuSet {
    CpuSet::union(partitions.iter().map(|intent| &intent.cpus))
}

/// Whether v2 moves this thread without its process: it was named alone, and the set accepts single threads.
fn moves_alone(tree: &CpusetTree, ground: &MoveContext, tids: &[u32], tid: u32, to: &CpusetNode) -> bool {
    let pid = tree.task(tid).map_or(tid, |task| task.pid);
    let dir = tree.hierarchy.dir(&to.place);
    tree.hierarchy.version == Version::V2
        && !tids.contains(&pid)
        && threads::threshold(ground, tid, &dir) != ThreadMoveObstacle::Populated
}

fn alone(unit: MoveUnit, tree: &CpusetTree, tid: u32, to: &CpusetNode) -> PlannedMove {
    PlannedMove {
        unit,
        tasks: vec![unpinned(tid)],
        ..parcel(tree, tid, to)
    }
}

fn unpinned(tid: u32) -> ThreadMove {
    ThreadMove {
        tid,
        pin: None,
        policy: None,
    }
}

/// v1 moves threads one by one, v2 whole processes.
fn parcel(tree: &CpusetTree, tid: u32, to: &CpusetNode) -> PlannedMove {
    let (unit, tasks) = match tree.hierarchy.version {
        Version::V1 => (MoveUnit::Thread, vec![unpinned(tid)]),
        Version::V2 => {
            let process = tree.task(tid).map(|task| task.pid);
            let threads = tree.machine.tasks.iter().flatten();
            let threads = threads.filter(|task| Some(task.pid) == process);
            (MoveUnit::Process, threads.map(|task| unpinned(task.key.tid)).collect())
        }
    };
    PlannedMove {
        tid,
        unit,
        to: tree.hierarchy.dir(&to.place),
        tasks,
        later: Vec::new(),
        stay: MovePurpose::Belongs,
    }
}

/// A hint for a set that accepts no tasks on v2.
pub fn leaves_only(tree: &CpusetTree, to: &CpusetNode) -> Vec<String> {
    let hint = "--> on cgroup v2 only the innermost sets contain tasks: a set with child sets accepts none, nor does a \
         child of a set with tasks";
    let is_nested = to.subsets > 0 || !super::tree::parent(&to.path).is_empty();
    let applies = tree.hierarchy.version == Version::V2 && to.path != "/" && is_nested;
    applies.then(|| hint.to_owned()).into_iter().collect()
}

/// Places this process into a set, before it executes a program there.
fn enter(tree: &CpusetTree, to: &CpusetNode) -> Result<(), CsetError> {
    let own = alone(MoveUnit::Process, tree, std::process::id(), to);
    let refused = |errno: i32| CsetError::Failed {
        what: format!(
            "[Errno {errno}] {}: cpuset \"{}\" does not accept this process",
            errno_text(errno),
            to.path
        ),
        more: leaves_only(tree, to),
    };
    let changing = tree.session.lock()?;
    let mut journal = Journal::open(changing.state())?;
    let boot_id = tree.session.boot_id();
    let in_force = journal.as_ref().map(|journal| partitions(journal, boot_id.as_deref()));
    let in_force = in_force.unwrap_or_default();
    let ground = MoveContext {
        system: &*changing.host,
        hierarchy: &tree.hierarchy,
        isolated: &isolated_cpus(&in_force),
    };
    let outcome = match &mut journal {
        Some(journal) if !in_force.is_empty() => {
            let arrivals = apply::relocate(&ground, journal, &[own])?;
            arrivals.into_iter().next().map(|arrival| arrival.outcome)
        }
        _ => Some(apply::enter(&ground, &own)),
    };
    match outcome {
        Some(ChangeOutcome::Refused(errno)) => Err(refused(errno)),
        _ => Ok(()),
    }
}

/// A program to start in a set.
pub struct ProgramLaunch<'a> {
    /// The set.
    pub set: &'a CpusetNode,
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// `--user`.
    pub user: Option<&'a str>,
    /// `--group`.
    pub group: Option<&'a str>,
}

/// Executes the program in its set; `before` is called when only the execution itself can still fail.
///
/// # Errors
/// Unknown users and groups, a set that accepts no tasks, a program that cannot be started.
pub fn become_program(tree: &CpusetTree, start: &ProgramLaunch, before: impl FnOnce()) -> CsetError {
    match try_to_become(tree, start, before) {
        Ok(error) => {
            let errno = error.raw_os_error().unwrap_or(0);
            CsetError::failed(format!("[Errno {errno}] {}", errno_text(errno)))
        }
        Err(refused) => refused,
    }
}

fn try_to_become(tree: &CpusetTree, start: &ProgramLaunch, before: impl FnOnce()) -> Result<std::io::Error, CsetError> {
    let Some((program, arguments)) = start.command.split_first() else {
        return Err(CsetError::failed("no program was given"));
    };
    let root = tree.session.root();
    let who = |user, group| accounts::identity(root, user, group);
    if let (Some(user), true) = (start.user, who(start.user, None).is_err()) {
        return Err(CsetError::failed(format!("unknown user: \"{user}\"")));
    }
    if let (Some(group), true) = (start.group, who(None, start.group).is_err()) {
        return Err(CsetError::failed(format!("unknown group: \"{group}\"")));
    }
    let identity = who(start.user, start.group)?;
    enter(tree, start.set)?;
    if let Some(identity) = identity {
        process::become_user(identity.uid, identity.gid, identity.groups.as_deref()).map_err(|errno| {
            CsetError::failed(format!(
                "the user cannot be changed: {}",
                std::io::Error::from_raw_os_error(errno)
            ))
        })?;
    }
    before();
    Ok(Command::new(program).args(arguments).exec())
}
