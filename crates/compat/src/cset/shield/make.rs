//! Creates, changes and removes the shield: `apply` and `undo` with cset's messages.

use super::{Shield, ShieldContext, ShieldNames};
use crate::cset::CsetError;
use crate::cset::moving::{self, KernelThreads};
use crate::cset::set;
use crate::cset::talk::CsetOutput;
use crate::cset::tree::{CpusetNode, CpusetTree};
use apply::UndoTarget;
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};
use session::Session;
use session::{isolation, resize};

/// Whether unbound kernel threads are excluded too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kthread {
    /// They are excluded.
    On,
    /// They stay.
    Off,
}

impl Kthread {
    /// `on`, or anything else.
    pub(super) fn of(word: Option<&str>) -> Kthread {
        match word {
            Some("on") => Kthread::On,
            _ => Kthread::Off,
        }
    }
}

const PLACEMENT_KNOB: &str = "task_placement";

/// The shield as the engine's request.
fn intent_of(session: &Session, names: &ShieldNames, cpus: &CpuSet, kthread: Kthread) -> Result<Intent, CsetError> {
    let mut intent = Intent::new(PartitionName::new(&names.user)?, cpus.clone(), Profile::Balanced);
    intent.housekeeping = Some(PartitionName::new(&names.system)?);
    intent.take("cpuset_partition=root")?;
    if kthread == Kthread::Off {
        intent.take(&format!("{PLACEMENT_KNOB}=user"))?;
    }
    let in_force = session.in_force();
    if !in_force.is_empty() {
        intent.share_housekeeping(&in_force);
    }
    Ok(intent)
}

fn kthread_of(intent: &Intent) -> Kthread {
    match intent.with.get(PLACEMENT_KNOB) {
        Some(Some(value)) if value == "user" => Kthread::Off,
        _ => Kthread::On,
    }
}

/// Creates it, and reports the moved tasks.
pub(super) fn activate(
    &ShieldContext { tree, names }: &ShieldContext,
    cpus: &CpuSet,
    kthread: Kthread,
    talk: &mut CsetOutput,
) -> Result<(), CsetError> {
    let intent = intent_of(tree.session, names, cpus, kthread)?;
    let root = tree.find("root")?;
    let user: Vec<u32> = tree
        .members(root)
        .filter(|task| !task.is_kernel())
        .map(|task| task.key.tid)
        .collect();
    let kernel = unbound(tree, root);
    start_shield(tree.session, &intent)?;
    talk.print(&format!("moving {} tasks from root into system cpuset...", user.len()));
    talk.bar(user.len());
    if kthread == Kthread::On {
        report_kernel_threads(kernel, talk);
    }
    Ok(())
}

pub(super) fn report_kernel_threads(count: usize, talk: &mut CsetOutput) {
    talk.print(&format!(
        "kthread shield activated, moving {count} tasks into system cpuset..."
    ));
    talk.bar(count);
}

/// Unbound kernel threads in the root set.
pub(super) fn unbound(tree: &CpusetTree, root: &CpusetNode) -> usize {
    let threads = tree.members(root).filter(|task| task.is_kernel() && task.is_movable());
    threads.count()
}

/// Creates the shield, or recreates an active one with its name: its tasks are moved into the new one. If that fails, the
/// former shield is restored.
fn start_shield(session: &Session, intent: &Intent) -> Result<(), CsetError> {
    let changing = session.lock()?;
    session.refresh();
    let machine = session.machine().for_plan(session.root());
    // Invalid requests are refused while the former shield still exists.
    let plan = isolation::plan_on(session, &machine, intent)?;
    resize::resize(&changing, (&machine, intent, plan), "cset shield")?;
    Ok(())
}

/// Restores the former state.
fn undo_shield(session: &Session, intent: &Intent) -> Result<apply::UndoOutcome, CsetError> {
    let Some(changing) = session.lock_existing()? else {
        return Ok(apply::UndoOutcome::default());
    };
    // No second command can confirm it, so values that other programs changed since then are left alone.
    set::undo(
        &changing,
        UndoTarget::Named(intent.name.as_str()),
        "cset shield --reset",
    )
}

/// Changes its CPUs, or its rules for kernel threads.
pub(super) fn change(
    tree: &CpusetTree,
    shield: &Shield,
    cpus: Option<&CpuSet>,
    kthread: Option<Kthread>,
) -> Result<(), CsetError> {
    let Some(former) = &shield.intent else {
        return set::resize(tree, shield.user, shield.system, cpus);
    };
    let mut intended = former.clone();
    if let Some(cpus) = cpus {
        intended.cpus = cpus.clone();
    }
    match kthread {
        Some(Kthread::On) => drop(intended.with.remove(PLACEMENT_KNOB)),
        Some(Kthread::Off) => intended.take(&format!("{PLACEMENT_KNOB}=user"))?,
        None => {}
    }
    if intended == *former {
        return Ok(());
    }
    start_shield(tree.session, &intended)
}

/// `-k on` and `-k off` for an existing shield.
pub(super) fn kernel_threads(
    tree: &CpusetTree,
    shield: &Shield,
    kthread: Kthread,
    talk: &mut CsetOutput,
) -> Result<(), CsetError> {
    let is_so = shield.intent.as_ref().map(kthread_of) == Some(kthread);
    let root = tree.find("root")?;
    let (message, from, to) = match kthread {
        Kthread::On => ("--> activating kthread shielding", root, shield.system),
        Kthread::Off => ("--> deactivating kthread shielding", shield.system, root),
    };
    talk.print(message);
    let chosen = moving::of_set(tree, from, to, KernelThreads::Unbound);
    let count = match (is_so, kthread) {
        (true, _) => 0,
        (false, Kthread::On) => unbound(tree, root),
        (false, Kthread::Off) => chosen.kernel.len(),
    };
    if shield.intent.is_some() {
        change(tree, shield, None, Some(kthread))?;
    } else if !chosen.kernel.is_empty() {
        set::move_tasks(tree, &chosen.kernel, to)?;
    }
    match kthread {
        Kthread::On => report_kernel_threads(count, talk),
        Kthread::Off => {
            talk.print(&format!("moving {count} tasks into root cpuset..."));
            talk.bar(count);
        }
    }
    talk.print("done");
    Ok(())
}

/// Removes it.
pub(super) fn reset(tree: &CpusetTree, shield: &Shield, talk: &mut CsetOutput) -> Result<(), CsetError> {
    for (set, kind) in [(shield.user, "user"), (shield.system, "system")] {
        talk.print(&format!(
            "moving {} tasks from \"{}\" {kind} set to root set...",
            set.tasks, set.path
        ));
        talk.bar(set.tasks);
    }
    talk.print(&format!(
        "deleting \"{}\" and \"{}\" sets",
        shield.user.path, shield.system.path
    ));
    match &shield.intent {
        None => set::destroy_all(tree, &[shield.user, shield.system])?,
        Some(intent) => {
            let undone = undo_shield(tree.session, intent)?;
            for line in undone.left_alone() {
                talk.print(&format!(
                    "**> another program changed this, and it is left alone: {line}"
                ));
            }
        }
    }
    talk.print("done");
    Ok(())
}
