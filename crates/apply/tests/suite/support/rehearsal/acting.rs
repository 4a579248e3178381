//! The actions of every level 3 test: applies an intent as the command line does, and catches a kill of the tool.

use super::{SimDisk, SimKernel};
use apply::{
    ApplyError, ApplyOutcome, ApplyRequest, Force, Journal, Storage, System, UndoOutcome, UndoRequest, UndoTarget,
    apply,
};
use machine::Machine;
use plan::Intent;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::AtomicBool;

/// Plans beside the active partitions of the journal, and applies. `meanwhile` runs between the plan and its first
/// write.
pub fn isolate_as(
    kernel: &SimKernel,
    disk: &SimDisk,
    intent: &Intent,
    meanwhile: impl FnOnce(),
) -> Result<ApplyOutcome, ApplyError> {
    isolate_by(kernel, disk, intent, meanwhile, apply)
}

/// Like [`isolate_as`], with `apply` or another entry point of the engine.
pub fn isolate_by(
    kernel: &SimKernel,
    disk: &SimDisk,
    intent: &Intent,
    meanwhile: impl FnOnce(),
    act: fn(&dyn System, &dyn Storage, &ApplyRequest) -> Result<ApplyOutcome, ApplyError>,
) -> Result<ApplyOutcome, ApplyError> {
    let machine = Machine::read(kernel.root())
        .with_tasks(kernel.root())
        .with_interrupts(kernel.root());
    let settings = machine::settings::for_cpus(kernel.root(), &intent.cpus, plan::knobs::planned());
    let in_force: Vec<Intent> = Journal::open(disk)?
        .map(|journal| {
            let layers = journal.layers();
            let live = layers.iter().filter(|layer| layer.is_live());
            live.map(|layer| layer.intent.clone()).collect()
        })
        .unwrap_or_default();
    let plan = plan::plan_beside(&machine, &settings, intent, &in_force).unwrap();
    meanwhile();
    let request = ApplyRequest {
        machine: &machine,
        intent,
        plan: &plan,
        reason: "test",
        tool: env!("CARGO_PKG_VERSION"),
        guard: None,
        stop: &AtomicBool::new(false),
    };
    act(kernel, disk, &request)
}

/// The panic of a simulated kill.
pub const KILLED: &str = "killed";

/// Installed once: the hook belongs to the process, and a test on another thread may fail at the same time.
static HOOK: Once = Once::new();

/// Returns whether the tool was killed, which the simulation does with a panic. That panic prints nothing; any other one
/// fails the test.
pub fn dies(act: impl FnOnce()) -> bool {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&KILLED) {
                usual(panic);
            }
        }));
    });
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(()) => false,
        Err(panic) if panic.downcast_ref::<&str>() == Some(&KILLED) => true,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Checks that two states are equal. A failure shows only the differences.
pub fn same(kernel: &SimKernel, wanted: &BTreeMap<String, String>, what: &str) {
    let now = kernel.dump();
    let paths: BTreeSet<&String> = now.keys().chain(wanted.keys()).collect();
    let differ: Vec<String> = paths
        .into_iter()
        .filter(|path| now.get(*path) != wanted.get(*path))
        .map(|path| format!("{path}: {:?} instead of {:?}", now.get(path), wanted.get(path)))
        .collect();
    assert!(differ.is_empty(), "{what}: {differ:#?}");
}

/// The boot id of the simulated machines.
const BOOT: Option<&str> = Some("11111111-2222-3333-4444-555555555555");

/// Undoes during that boot.
pub fn undo(kernel: &SimKernel, disk: &SimDisk, which: UndoTarget, force: Force) -> Result<UndoOutcome, ApplyError> {
    apply::undo(kernel, disk, BOOT, request(which, force))
}

pub fn request(which: UndoTarget<'_>, force: Force) -> UndoRequest<'_> {
    let why = "test";
    UndoRequest { which, force, why }
}
