//! Chooses the words that isolate CPUs, for the kernel of the machine.

use boot::isolated_by;
use machine::cmdline::words;
use machine::{CpuSet, Machine};
use plan::lint::Facts;
use plan::{BootWish, Level, Profile, boot_line};
use root::Failure;

/// What the boot line should isolate.
pub struct OnLine {
    /// These CPUs.
    pub cpus: CpuSet,
    /// As much as this profile isolates.
    pub profile: Profile,
}

/// Whether CPUs that other tools put on the line stay isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// They do.
    United,
    /// They do not.
    Alone,
}

/// The words, and notes about them.
#[derive(Default)]
pub struct ChosenWords {
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
    wanted: &OnLine,
    beside: Beside,
    machine: &Machine,
    facts: &Facts,
    former: &str,
) -> Result<ChosenWords, Failure> {
    let mut notes = Vec::new();
    let mut isolated = wanted.cpus.clone();
    if beside == Beside::United {
        let others = isolated_by(former).unwrap_or_default().minus(&isolated);
        if !others.is_empty() {
            notes.push(format!(
                "CPU {others} is isolated by the line already and stays so (--only leaves it out)"
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
            "the lowest CPU starts the machine, and much of the kernel expects it to serve everybody",
            format!("choose among CPU {}", all.minus(&lowest)),
        ));
    }
    let wish = BootWish {
        isolated: &isolated,
        housekeeping: &housekeeping,
        profile: wanted.profile,
    };
    let line = boot_line(&wish, facts);
    let said = line.findings.iter().filter(|one| one.level > Level::Info);
    notes.extend(said.map(|one| format!("{}: {}", one.subject, one.message)));
    let words = words(line.line.as_deref().unwrap_or_default())
        .map(str::to_owned)
        .collect();
    Ok(ChosenWords { words, notes })
}
