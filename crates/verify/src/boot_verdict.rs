//! Computes the answer of `boot check` from all available evidence; `apply` uses it for its boot part.

use crate::counting::WindowCounts;
use machine::{CpuSet, Machine, Settings, cmdline};
use plan::boot_check::{BootEvidence, BootVerdict, boot_check, boot_part_findings, paths, requested_cpus};
use plan::declared::BootPart;
use plan::lint::{KernelFacts, ObservedBoot as Said};
use plan::{Finding, Level};
use root::{Failure, Status};
use session::Session;
use session::boot_files::{BootScene, declaration, expected_words};
use session::declared::{self, DeclaredFile};

/// The verdict, and what could not be read.
pub struct BootExamination {
    /// The verdict.
    pub verdict: BootVerdict,
    /// One line for each.
    pub unread: Vec<String>,
}

/// Examines everything. `count` counts on the online CPUs that the running line isolates.
///
/// # Errors
/// A declaration file that cannot be parsed.
pub fn examine_boot(
    scene: &BootScene,
    file: Option<&DeclaredFile>,
    count: impl FnOnce(&CpuSet) -> WindowCounts,
) -> Result<BootExamination, Failure> {
    let (session, root) = (scene.session, scene.root);
    let machine = session.machine();
    let requested = requested_cpus(&scene.running, &KernelFacts::of_machine(&machine));
    let counted = count(&requested.and(&machine.topology.online));
    // Read after the window, to show what arrived on the CPUs during it.
    let machine = machine.with_tasks_on(root, &requested).with_interrupts(root);
    examine_boot_on(scene, file, &machine, counted)
}

/// As [`examine_boot`], for a caller that has read the machine with tasks and interrupts, and has counted already.
///
/// # Errors
/// A declaration file that cannot be parsed.
pub fn examine_boot_on(
    scene: &BootScene,
    file: Option<&DeclaredFile>,
    machine: &Machine,
    counted: WindowCounts,
) -> Result<BootExamination, Failure> {
    let (session, root) = (scene.session, scene.root);
    let mut facts = KernelFacts::of_machine(machine);
    facts.outcome = Some(Said {
        messages: root.kernel_log().unwrap_or_default(),
        isolated: machine.isolation.boot_isolated.clone(),
        nohz_full: machine.isolation.nohz_full.clone(),
    });
    let WindowCounts {
        window,
        unrestored: amiss,
    } = counted;
    let ours = expected_words(scene);
    let words = cmdline::words(&scene.running).chain(ours.iter().flat_map(|one| one.words.iter().map(String::as_str)));
    let mut settings = Settings::default();
    for path in paths(words) {
        if let Some(value) = root.readable_value(&path) {
            settings.values.insert(path, value);
        }
    }
    let own;
    let file = match file {
        Some(file) => Some(file),
        None => {
            own = declared::read(session, None)?;
            own.as_ref()
        }
    };
    let evidence = BootEvidence {
        machine,
        facts: &facts,
        settings: &settings,
        own_words: ours,
        window,
        most: scene.limit().most,
        declared: file
            .map(|file| declaration::for_verdict(file, machine))
            .unwrap_or_default(),
        declared_words: file.and_then(|file| declaration::required_words(file, scene, machine, &facts)),
        in_force: declaration::in_force(session, machine),
    };
    let verdict = boot_check(&evidence);
    let mut unread: Vec<String> = machine
        .unreadable
        .iter()
        .map(|one| format!("{}: {}", one.path, one.why))
        .collect();
    unread.extend(scene.unknown.clone());
    unread.extend(amiss);
    Ok(BootExamination { verdict, unread })
}

/// The findings of `apply` about the boot part of what it activated; empty if no boot part is declared.
///
/// # Errors
/// A journal of the boot line that cannot be parsed.
pub fn boot_findings(session: &Session, file: &DeclaredFile) -> Result<Vec<Finding>, Failure> {
    if file.declarations.iter().all(|one| one.boot != BootPart::OnLine) {
        return Ok(Vec::new());
    }
    let nothing = |_: &CpuSet| WindowCounts::nothing("`quietcore boot check` counts");
    let looked = examine_boot(&BootScene::read(session)?, Some(file), nothing)?;
    Ok(boot_part_findings(&looked.verdict))
}

/// The exit status for findings of [`boot_findings`].
#[must_use]
pub fn boot_status(findings: &[Finding]) -> Status {
    match findings.iter().any(|finding| finding.level == Level::Error) {
        true => Status::Failed,
        false => Status::Done,
    }
}
