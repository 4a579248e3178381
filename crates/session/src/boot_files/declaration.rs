//! Combines the boot line and `/etc/quietcore.toml`: which CPUs the file wants on the line, which words that takes, and which
//! of its partitions a line covers.

use super::BootScene;
use super::words::{BootIsolation, IsolationMerge, for_cpus};
use crate::Session;
use crate::declared::{self, DeclaredFile};
use crate::isolation::existing_cpus;
use boot::{MachineTree, former_line, isolated_by};
use machine::{CpuSet, Machine};
use plan::boot_check::{DeclaredPartition, PartitionDrift, UnknownCpus};
use plan::declared::{BootPart, CpuSpec, Declaration, PATH};
use plan::lint::KernelFacts;
use plan::words::did_you_mean;
use root::Failure;

impl BootIsolation {
    /// What a machine declares: its partitions with `boot = true`, and the named one.
    ///
    /// # Errors
    /// No such partition, and errors in the file.
    pub fn declared(session: &Session, machine: &Machine, named: Option<&str>) -> Result<BootIsolation, Failure> {
        let file = declared::read(session, None)?;
        let all = file
            .as_ref()
            .map(|file| file.declarations.as_slice())
            .unwrap_or_default();
        if let Some(name) = named
            && all.iter().all(|one| one.name().as_str() != name)
        {
            return Err(Failure::usage(
                format!("{PATH} declares no partition {}", report::safe(name)),
                "no table [[partition]] there has this name",
                did_you_mean(name, all.iter().map(|one| one.name().as_str())).unwrap_or_else(|| {
                    "select CPUs with --cpus 2-3, or declare it with `quietcore apply --partition NAME --cpus CPUS --save`"
                        .to_owned()
                }),
            ));
        }
        let is_selected = |one: &&Declaration| one.boot == BootPart::OnLine || Some(one.name().as_str()) == named;
        match (
            file.as_ref(),
            BootIsolation::of(all.iter().filter(is_selected), machine),
        ) {
            (Some(file), Err((line, error))) => Err(file.at(line, error)),
            (_, Ok(Some(on_line))) => Ok(on_line),
            _ => Err(Failure::usage(
                "there are no parameters for the boot line",
                format!("neither --cpus nor --params was given, and {PATH} declares no partition with `boot = true`"),
                "select CPUs with --cpus 2-3, parameters with --params, or a declared partition with --partition",
            )),
        }
    }

    /// The union of the CPUs, with the strictest profile; `None` for no declarations. An error carries its line.
    fn of<'a>(
        selected: impl Iterator<Item = &'a Declaration>,
        machine: &Machine,
    ) -> Result<Option<BootIsolation>, (usize, Failure)> {
        let mut all: Option<BootIsolation> = None;
        for one in selected {
            let cpus = named_cpus(one, machine).map_err(|error| (one.line, error))?;
            let profile = one.template.profile;
            all = Some(match all {
                None => BootIsolation { cpus, profile },
                Some(so_far) => BootIsolation {
                    cpus: so_far.cpus.or(&cpus),
                    profile: so_far.profile.max(profile),
                },
            });
        }
        Ok(all)
    }
}

fn named_cpus(one: &Declaration, machine: &Machine) -> Result<CpuSet, Failure> {
    match &one.cpus {
        CpuSpec::Named(expression) => existing_cpus(expression, machine),
        CpuSpec::Chosen { .. } => Err(Failure::usage(
            format!("the CPUs of partition {} are chosen when it is applied", one.name()),
            "a boot line needs fixed CPUs",
            "add them to the file as `cpus`",
        )),
    }
}

/// What a file declares, for the verdict.
pub fn for_verdict(file: &DeclaredFile, machine: &Machine) -> Vec<DeclaredPartition> {
    let cpus = |one: &Declaration| match &one.cpus {
        CpuSpec::Named(expression) => existing_cpus(expression, machine).map_err(UnknownCpus::Wrong),
        CpuSpec::Chosen { .. } => Err(UnknownCpus::ChosenLater),
    };
    let all = file.declarations.iter().chain(&file.others);
    all.map(|one| DeclaredPartition {
        name: one.name().to_string(),
        cpus: cpus(one),
        boot: one.boot,
        restored_at_boot: one.restored_at_boot,
    })
    .collect()
}

/// The words that the declared partitions need on the line. For CPUs of other tools, keeps the treatment that the line already has.
pub fn required_words(
    file: &DeclaredFile,
    scene: &BootScene,
    machine: &Machine,
    facts: &KernelFacts,
) -> Option<Vec<String>> {
    let on_line = file
        .declarations
        .iter()
        .chain(&file.others)
        .filter(|one| one.boot == BootPart::OnLine);
    let request = BootIsolation::of(on_line, machine).ok().flatten()?;
    let loader = scene.loader(None).ok()?.loader;
    let ours = scene.own_words.line.as_ref();
    let former = former_line(&MachineTree::of(scene.root), loader, ours).ok()?;
    let words = |beside| Some(for_cpus(&request, beside, machine, facts, &former).ok()?.words);
    let has_all = |words: &Vec<String>| ours.is_some_and(|ours| words.iter().all(|word| ours.words.contains(word)));
    words(IsolationMerge::Alone)
        .filter(has_all)
        .or_else(|| words(IsolationMerge::United))
}

/// The active partitions and their deviations; `None` if the journal cannot be read.
pub fn in_force(session: &Session, machine: &Machine) -> Option<Vec<PartitionDrift>> {
    let standing = session.active_partitions(machine)?;
    let all = standing.iter().map(|one| PartitionDrift {
        name: one.intent.name.to_string(),
        cpus: one.intent.cpus.clone(),
        drift: one.drift.iter().map(|finding| finding.message.clone()).collect(),
    });
    Some(all.collect())
}

/// The declared partitions whose CPUs the words isolate, except those with `boot = false`.
pub fn covered(file: &DeclaredFile, words: &[String], machine: &Machine) -> Vec<Declaration> {
    let isolated = isolated_by(&words.join(" ")).unwrap_or_default();
    let all = file.declarations.iter().filter(|one| {
        let cpus = named_cpus(one, machine);
        one.boot != BootPart::RunTimeOnly && cpus.is_ok_and(|cpus| cpus.is_subset(&isolated))
    });
    all.cloned().collect()
}

/// A note for every partition that is declared with the boot line.
pub fn still_declared(session: &Session) -> Vec<String> {
    // An error in the file is no reason to keep the line.
    let file = declared::read(session, None).ok().flatten();
    let all = file.map(|file| file.declarations).unwrap_or_default();
    let on_line = all.iter().filter(|one| one.boot == BootPart::OnLine);
    on_line
        .map(|one| {
            format!(
                "{PATH}:{} still declares partition {} with `boot = true`",
                one.line,
                one.name()
            )
        })
        .collect()
}

/// Whether the boot line that we wrote isolates any of these CPUs.
pub fn line_covers(session: &Session, cpus: &CpuSet) -> bool {
    let Ok(scene) = BootScene::read(session) else {
        return false;
    };
    let isolated = scene.own_words.line.and_then(|ours| isolated_by(&ours.words.join(" ")));
    isolated.is_some_and(|isolated| cpus.is_subset(&isolated))
}
