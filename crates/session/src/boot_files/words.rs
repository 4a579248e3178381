//! Chooses the words that isolate CPUs, for the kernel of the machine.

use boot::isolated_by;
use machine::cmdline::words;
use machine::{CpuSet, Machine};
use plan::lint::KernelFacts;
use plan::{BootPurpose, Level, Profile, boot_line};
use root::Failure;

/// What the boot line should isolate.
pub struct BootIsolation {
    /// These CPUs.
    pub cpus: CpuSet,
    /// As much as this profile isolates.
    pub profile: Profile,
}

/// Whether CPUs that other tools put on the line stay isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationMerge {
    /// They do.
    United,
    /// They do not.
    Alone,
}

/// The words, and notes about them.
#[derive(Default)]
pub struct BootWordSelection {
    /// In boot line order.
    pub words: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The words that isolate CPUs on this kernel.
///
/// # Errors
/// CPUs that cannot be isolated.
pub fn for_cpus(
    on_line: &BootIsolation,
    beside: IsolationMerge,
    machine: &Machine,
    facts: &KernelFacts,
    former: &str,
) -> Result<BootWordSelection, Failure> {
    let mut notes = Vec::new();
    let mut isolated = on_line.cpus.clone();
    if beside == IsolationMerge::United {
        let others = isolated_by(former).unwrap_or_default().minus(&isolated);
        if !others.is_empty() {
            notes.push(format!(
                "CPU {others} is already isolated by the boot line and stays so (--only leaves it out)"
            ));
            isolated = isolated.or(&others);
        }
    }
    let all = machine.topology.present_cpus().or(&machine.topology.online);
    let housekeeping = all.minus(&isolated);
    let lowest: CpuSet = all.first().into_iter().collect();
    if isolated.intersects(&lowest) {
        return Err(Failure::usage(
            format!("CPU {lowest} cannot be isolated"),
            "the kernel starts on the lowest CPU, and much of it expects that CPU to be available to every task",
            format!("choose from CPU {}", all.minus(&lowest)),
        ));
    }
    let request = BootPurpose {
        isolated: &isolated,
        housekeeping: &housekeeping,
        profile: on_line.profile,
    };
    let line = boot_line(&request, facts);
    let findings = line.findings.iter().filter(|one| one.level > Level::Info);
    notes.extend(findings.map(|one| format!("{}: {}", one.subject, one.message)));
    let words = words(line.line.as_deref().unwrap_or_default())
        .map(str::to_owned)
        .collect();
    Ok(BootWordSelection { words, notes })
}
