//! What `boot check` answers, from everything that can be known: also for `apply`, which tells of the boot part.

use super::counting::Counted;
use super::declaration;
use super::scene::Scene;
use crate::{CommandError, Status};
use boot::{After, BootState, MARK, missing_words, state_after};
use machine::{CpuSet, Machine, Settings, cmdline};
use plan::boot_check::{
    BootVerdict, Evidence, OurWords, Stage, asked_cpus, boot_check, paths, told_of_boot_part,
};
use plan::declared::BootPart;
use plan::lint::{Facts, Outcome as Said};
use plan::{Finding, Level};
use session::Session;
use session::declared::{self, DeclaredFile};

/// The verdict, and what could not be read for it.
pub struct Looked {
    /// The verdict.
    pub verdict: BootVerdict,
    /// One line for each.
    pub unread: Vec<String>,
}

/// Looks at everything. `count` counts on the CPUs that the running line isolates and that are online.
///
/// # Errors
/// A file of declarations that cannot be understood.
pub fn look(
    scene: &Scene,
    file: Option<&DeclaredFile>,
    count: impl FnOnce(&CpuSet) -> Counted,
) -> Result<Looked, CommandError> {
    let (session, root) = (scene.session, scene.root);
    let machine = session.machine();
    let asked = asked_cpus(&scene.running, &Facts::of_machine(&machine));
    let counted = count(&asked.and(&machine.topology.online));
    // After the window, so that it tells who came to the CPUs meanwhile.
    look_at(scene, file, &machine.with_tasks_and_interrupts(root), counted)
}

/// The same for whoever has read the machine, with tasks and interrupts, and has counted already.
///
/// # Errors
/// A file of declarations that cannot be understood.
pub fn look_at(
    scene: &Scene,
    file: Option<&DeclaredFile>,
    machine: &Machine,
    counted: Counted,
) -> Result<Looked, CommandError> {
    let (session, root) = (scene.session, scene.root);
    let mut facts = Facts::of_machine(machine);
    facts.outcome = Some(Said {
        messages: root.kernel_log().unwrap_or_default(),
        isolated: machine.isolation.boot_isolated.clone(),
        nohz_full: machine.isolation.nohz_full.clone(),
    });
    let Counted { window, amiss } = counted;
    let ours = ours(scene);
    let words = cmdline::words(&scene.running)
        .chain(ours.iter().flat_map(|one| one.words.iter().map(String::as_str)));
    let mut settings = Settings::default();
    for path in paths(words) {
        if let Some(value) = root.value(&path).ok().flatten() {
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
    let evidence = Evidence {
        machine,
        facts: &facts,
        settings: &settings,
        ours,
        window,
        most: scene.limit().most,
        declared: file
            .map(|file| declaration::for_verdict(file, machine))
            .unwrap_or_default(),
        asked: file.and_then(|file| declaration::asked(file, scene, machine, &facts)),
        in_force: declaration::in_force(session, root, machine),
    };
    let verdict = boot_check(&evidence);
    let mut unread: Vec<String> = machine
        .unreadable
        .iter()
        .map(|one| format!("{}: {}", one.path, one.why))
        .collect();
    unread.extend(scene.unknown.clone());
    unread.extend(amiss);
    Ok(Looked { verdict, unread })
}

/// What `apply` says of the boot part of what it brought into force; nothing where none is declared.
///
/// # Errors
/// A journal of the boot line that cannot be understood.
pub fn told(session: &Session, file: &DeclaredFile) -> Result<Vec<Finding>, CommandError> {
    if file.declarations.iter().all(|one| one.boot != BootPart::OnLine) {
        return Ok(Vec::new());
    }
    let nothing = |_: &CpuSet| Counted::nothing("`quietcore boot check` counts");
    let looked = look(&Scene::read(session)?, Some(file), nothing)?;
    Ok(told_of_boot_part(&looked.verdict))
}

/// The status of findings of [`told`].
pub fn status(told: &[Finding]) -> Status {
    match told.iter().any(|finding| finding.level == Level::Error) {
        true => Status::Failed,
        false => Status::Done,
    }
}

/// The words of ours that this boot should have. The boot of a trial has its words and not those of the default line.
pub fn ours(scene: &Scene) -> Vec<OurWords> {
    let stage = |words: &[String]| match state_after(words, &scene.running, scene.after) {
        BootState::Pending => Stage::Pending,
        BootState::Live => Stage::Live,
        BootState::Reverted => Stage::Reverted,
    };
    let of = |words: &Vec<String>| OurWords {
        words: words.clone(),
        stage: stage(words),
    };
    let (line, trial) = (scene.kept.line.as_ref(), scene.kept.trial.as_ref());
    let tried = missing_words(&[MARK.to_owned()], &scene.running).is_empty();
    match trial {
        // The default line was started since on purpose, where the trial was only written in this boot.
        Some(trial) if tried || scene.after == After::AnotherBoot => vec![of(&trial.words)],
        _ => line
            .into_iter()
            .chain(trial)
            .map(|ours| of(&ours.words))
            .collect(),
    }
}
