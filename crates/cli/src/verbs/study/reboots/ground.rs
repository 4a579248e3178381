//! What of the boots of a study is impossible on this machine, said before anything runs.

use super::super::foresee::Foreseen;
use crate::CommandError;
use crate::verbs::apply::{program, runs_systemd};
use crate::verbs::boot;
use machine::{Kernel, Preemption};
use root::Root;

/// Refuses a study that this machine cannot be booted for, or that is not in a state to begin.
///
/// # Errors
/// What of it is impossible here.
pub fn refuse_impossible(foreseen: &Foreseen) -> Result<(), CommandError> {
    let mut why = impossible(foreseen);
    why.extend(own_line(foreseen));
    if !why.is_empty() {
        return Err(CommandError::usage(
            "the boots of this study are impossible on this machine",
            why.join("\n       "),
            "take these levels out of [axes], or what is said off the boot line; nothing has run",
        ));
    }
    if foreseen.study.budget.is_some() {
        return Err(CommandError::usage(
            "a study that restarts the machine has no budget",
            "a budget is the time of one call, and each restart begins a new one",
            "take `budget` out of the file, or ask for fewer repetitions",
        ));
    }
    if runs_systemd(&Root::live()) {
        // The unit has to find it after the restart.
        program()?;
    }
    for boot in foreseen.study.boots.iter().filter(|boot| !boot.is_plain()) {
        boot::foresee_once(&boot.words_for(&foreseen.cpus))?;
    }
    Ok(())
}

/// What the machine has on its line already, although boots of the study must be without it.
fn own_line(foreseen: &Foreseen) -> Vec<String> {
    let (study, line) = (&foreseen.study, running_line());
    let plain = study.boots.iter().position(study::Boot::is_plain);
    let why = plain.and_then(|boot| study.wrong_line(boot, &foreseen.cpus, &line));
    why.into_iter().collect()
}

/// The line of this boot; nothing where it cannot be read.
pub fn running_line() -> String {
    Root::live()
        .value("/proc/cmdline")
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// What of its boots is impossible on this machine, in words.
pub fn impossible(foreseen: &Foreseen) -> Vec<String> {
    let (study, kernel) = (&foreseen.study, &foreseen.machine.kernel);
    let mut why = Vec::new();
    if study.names_kernels() {
        why.push("kernel: this machine is only started with the kernel that it has".to_owned());
    }
    for model in study.boots.iter().flat_map(|boot| &boot.words) {
        let Some(model) = model.strip_prefix("preempt=") else {
            continue;
        };
        let reason = not_dynamic(kernel, model).map(|because| format!("preempt={model}: {because}"));
        why.extend(reason.filter(|reason| !why.contains(reason)));
    }
    why
}

/// Why `preempt=` changes nothing under a kernel (`kernel/sched/core.c`, `sched_dynamic_mode`); `None` where it does, or where
/// that is not known.
fn not_dynamic(kernel: &Kernel, model: &str) -> Option<&'static str> {
    let config = kernel.config.as_ref();
    let is_dynamic = config.map(|config| config.contains_key("CONFIG_PREEMPT_DYNAMIC"));
    let version = kernel.release.as_deref().and_then(machine::kernel::parse_version);
    match (kernel.preemption, is_dynamic) {
        (Some(Preemption::Rt), _) => Some("this kernel is PREEMPT_RT, which has one model"),
        (_, Some(false)) => Some("this kernel was built without CONFIG_PREEMPT_DYNAMIC"),
        _ if version.is_some_and(|version| version < (5, 12)) => Some("kernels before 5.12 do not know it"),
        _ if model == "lazy" && version.is_some_and(|version| version < (6, 13)) => {
            Some("kernels before 6.13 do not know it")
        }
        _ => None,
    }
}
