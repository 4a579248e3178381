//! Gives the CPUs of an active partition to the cgroup of a program, instead of moving the program.

use crate::Session;
use crate::in_place::{PartitionPlace, own_cgroup_finding, place_of};
use crate::isolation::plan_on;
use crate::partition::{self, is_partition};
use apply::UndoTarget;
use plan::{Intent, Level};
use root::Failure;

/// Makes the cgroup of a process the partition of this name, which is active elsewhere and has no programs. Only a note if
/// the kernel cannot.
///
/// # Errors
/// No such partition, one with programs or of another program, and a step that failed.
pub fn hand_over(session: &Session, name: &str, pid: u32) -> Result<(), Failure> {
    let nothing = || partition::no_partition(name, &session.in_force());
    let changing = session.lock_existing()?.ok_or_else(nothing)?;
    session.refresh();
    let machine = session.machine().for_plan(session.root());
    let active = session
        .in_force()
        .into_iter()
        .find(|intent| intent.name.as_str() == name);
    let (Some(active), Some(hierarchy)) = (active, machine.cgroups.cpuset.as_ref()) else {
        return Err(nothing());
    };
    let owner = format!("pid:{pid}");
    let cgroup = match place_of(&owner, &machine, session.root())? {
        PartitionPlace::OwnCgroup => {
            let finding = own_cgroup_finding(&owner, &active, hierarchy);
            session.note(&format!("note: {}\n", finding.message));
            return Ok(());
        }
        PartitionPlace::InPlace(cgroup) => cgroup,
    };
    if let Some(place) = &active.in_place {
        if is_partition(session.root(), &active.cgroup_path(hierarchy)) {
            return match machine::is_within(&cgroup, place) {
                true => Ok(()),
                false => Err(Failure::conflict(
                    format!("partition {name} cannot be handed over"),
                    format!("it is the cgroup {place} of another program"),
                    format!("undo it first: `quietcore undo --partition {name}`"),
                )),
            };
        }
        // The program has ended, or its manager has made its cgroup again.
        let undone = changing.undo(UndoTarget::Named(name), "in place")?;
        if !undone.equal() {
            return Err(Failure::conflict(
                format!("partition {name} of a program that has ended cannot be undone"),
                undone.remains().join("; "),
                "see `quietcore undo --force` and `undo --skip-changed`",
            ));
        }
        session.refresh();
    }
    let machine = session.machine().for_plan(session.root());
    let intent = Intent {
        in_place: Some(cgroup),
        ..active
    };
    let plan = plan_on(session, &machine, &intent)?;
    let (_, applied) = super::resize(&changing, (&machine, &intent, plan), "in place")?;
    for finding in applied.findings.iter().filter(|finding| finding.level > Level::Info) {
        session.note(&format!("note: {}: {}\n", finding.subject, finding.message));
    }
    Ok(())
}
