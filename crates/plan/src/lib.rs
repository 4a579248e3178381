//! Plans changes: a machine and an intent give a list of changes, as data, with reasons and undo.
//!
//! Nothing here touches the machine. A kernel mechanism is one file in [`knobs`]; `plan`, `apply`, `explain` and the
//! manual all read that one declaration.

pub mod boot_check;
mod boot_line;
pub mod by_hand;
mod change;
mod choose;
pub mod declared;
pub mod diff;
mod finding;
mod intent;
pub mod joint;
mod knob_usage;
pub mod knobs;
pub mod lint;
mod neighbours;
pub mod parameters;
mod refusal;
mod scene;
mod scene_findings;
pub mod settings;
mod sharing;
pub mod words;

pub use boot_line::{BootLine, BootPurpose, boot_line};
pub use change::{Action, Change, ChangeKind, ReadbackComparison, RefusalPolicy, TaskSelector, UndoMethod};
pub use choose::{Choice, CpuRequest, NearbyCpus, PlacementShape, Reason, RunnerUp, choose, choose_one_core};
pub use finding::{Finding, FindingId, FindingRow, Level};
pub use intent::{Intent, IntentKind, PartitionName, Profile, housekeeping_set_path, partition_path};
pub use knob_usage::{KnobState, PlannedKnob};
pub use knobs::{KNOBS, Knob, KnobReason, KnobUse, KnobValueKind, Presence, takes};
pub use refusal::{CpuRefusal, KnobRefusal, PlanRefusal};
pub use scene::{PlanContext, unsupported_kernel};

use machine::{CpuSet, Machine, Settings};
use serde::Serialize;

/// Everything that an intent needs on one machine, in the order of execution.
#[derive(Clone, Debug, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Name of the partition.
    pub partition: String,
    /// How the CPUs were chosen; `None` if the user named them.
    pub choice: Option<Choice>,
    /// CPUs to isolate.
    pub isolated: CpuSet,
    /// Online CPUs that keep everything else.
    pub housekeeping: CpuSet,
    /// Cpusets of other owners, by their paths below the mount, whose tasks may still run on the isolated CPUs after
    /// the changes.
    pub shared_with: Vec<String>,
    /// The profile of the intent.
    pub profile: Profile,
    /// The knobs used, why, and the result of each.
    pub knobs: Vec<PlannedKnob>,
    /// Knobs of the profile that the intent leaves out.
    pub without: Vec<String>,
    /// Boot parameters for the part that needs a reboot; `None` if there are none to add.
    pub boot_line: Option<String>,
    /// The changes, first to last.
    pub changes: Vec<Change>,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// The settings that the plan is based on. For settings that are right already, they are the values from before the
    /// partition.
    #[serde(skip)]
    pub found: Settings,
}

/// Plans an intent. Read the machine with tasks and interrupts first; without them, their changes are planned as rules
/// with an unknown preview. `settings` must include those of [`knobs::planned`].
///
/// # Errors
/// A [`PlanRefusal`] if the intent cannot be met safely; there are no partial plans.
pub fn plan(machine: &Machine, settings: &Settings, intent: &Intent) -> Result<Plan, PlanRefusal> {
    plan_beside(machine, settings, intent, &[])
}

/// As [`plan`], on a machine with active partitions of ours, which keep their CPUs.
///
/// # Errors
/// As [`plan`], and [`CpuRefusal::KnobUse`].
pub fn plan_beside(
    machine: &Machine,
    settings: &Settings,
    intent: &Intent,
    in_force: &[Intent],
) -> Result<Plan, PlanRefusal> {
    let scene = PlanContext::set(machine, settings, intent, in_force)?;
    knobs::refuse_unmatched(&scene)?;
    let boot = boot_line::suggest(&scene);
    let mut plan = Plan {
        partition: intent.name.to_string(),
        choice: None,
        isolated: intent.cpus.clone(),
        housekeeping: scene.housekeeping.clone(),
        shared_with: Vec::new(),
        profile: intent.profile,
        knobs: Vec::new(),
        without: intent.without.iter().cloned().collect(),
        boot_line: boot.line,
        changes: Vec::new(),
        findings: scene_findings::findings(&scene),
        found: settings.clone(),
    };
    knob_usage::plan_knobs(&scene, &mut plan);
    plan.shared_with = sharing::shared_with(&scene, &plan.changes);
    plan.findings.extend(boot.findings);
    refuse_unsafe(&plan)?;
    Ok(plan)
}

/// Every finding except those about boot lines.
pub fn findings() -> impl Iterator<Item = FindingRow> {
    finding::finding_rows().chain(choose::rule_findings())
}

/// Section 6 of the design: after planning, every write is checked against the safety rules again, so that a faulty
/// knob cannot make the machine unusable.
fn refuse_unsafe(plan: &Plan) -> Result<(), PlanRefusal> {
    for change in &plan.changes {
        if let Action::Write {
            value,
            compare: ReadbackComparison::List | ReadbackComparison::Mask,
            ..
        } = &change.action
        {
            let set = match &change.action {
                Action::Write {
                    compare: ReadbackComparison::Mask,
                    ..
                } => CpuSet::parse_mask(value),
                _ => CpuSet::parse_list(value),
            };
            let empty = set.as_ref().map_or(true, CpuSet::is_empty);
            let memory_nodes = change.target.ends_with("mems");
            if empty && !memory_nodes {
                return Err(PlanRefusal::Unsafe {
                    change: change.id.clone(),
                    why: "no CPU would be left".to_owned(),
                });
            }
        }
    }
    Ok(())
}
