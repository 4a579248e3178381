//! Studies whose cells need boots of their own: what of that is impossible on this machine.

use super::foresee::Foreseen;
use crate::{CommandError, Status};
use machine::{Kernel, Preemption};
use study::Schedule;

/// What the boots of a study ask of this machine, one line each; nothing where none is needed.
pub fn text(foreseen: &Foreseen, schedule: &Schedule) -> String {
    if !foreseen.study.needs_boots() {
        return String::new();
    }
    let boots = foreseen.study.boots.iter();
    let names: String = boots
        .map(|boot| format!("  boot  {}\n", report::safe(&boot.text(&foreseen.cpus))))
        .collect();
    format!(
        "{names}{} restarts, one for each of these in every repetition, about a minute each; on this machine one more, back to its \
         own line\n",
        schedule.sittings_left()
    )
}

/// Refuses a study that this machine cannot be booted for.
///
/// # Errors
/// What of it is impossible here.
pub fn refuse_impossible(foreseen: &Foreseen) -> Result<(), CommandError> {
    let why = impossible(foreseen);
    if !why.is_empty() {
        return Err(CommandError::usage(
            "the boots of this study are impossible on this machine",
            why.join("\n       "),
            "take these levels out of [axes]; nothing has run",
        ));
    }
    match foreseen.study.needs_boots() {
        true => Err(CommandError::new(
            Status::Unable,
            "this study needs restarts",
            "study does not restart this machine yet",
            "leave out what needs the boot line; a study that runs on a machine booted so, with another --out, measures it",
        )),
        false => Ok(()),
    }
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
