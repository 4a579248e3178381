//! Checks which boots of a study are impossible on this machine, before anything runs.

use super::entry;
use crate::forecast::Forecast;
use machine::kernel::{parse_config, parse_version};
use machine::{Kernel, Preemption};
use root::Failure;
use session::Session;
use session::boot_files::once;
use session::boot_service::{program, runs_systemd};
use study::is_image;

/// Rejects a study that this machine cannot boot for, or a machine that is not ready to start.
///
/// # Errors
/// The impossible parts.
pub fn refuse_impossible(session: &Session, forecast: &Forecast) -> Result<(), Failure> {
    let mut why = impossible(session, forecast);
    why.extend(own_line(session, forecast));
    if !why.is_empty() {
        return Err(Failure::usage(
            "the boots of this study are impossible on this machine",
            why.join("\n       "),
            "remove these levels from [axes], or remove what is named above from the boot line; nothing has run",
        ));
    }
    if runs_systemd(session.root()) {
        // The unit needs the program after the reboot.
        program(session)?;
    }
    for boot in forecast.study.boots.iter().filter(|boot| !boot.is_plain()) {
        once::check_once(session, &entry(boot, &forecast.cpus))?;
    }
    Ok(())
}

/// Words that are already on this machine's line, although boots of the study must not have them.
fn own_line(session: &Session, forecast: &Forecast) -> Vec<String> {
    let (study, line) = (&forecast.study, running_line(session));
    let plain = study.boots.iter().position(study::Boot::is_plain);
    let why = plain.and_then(|boot| study.wrong_line(boot, &forecast.cpus, &line));
    why.into_iter().collect()
}

/// The command line of this boot; empty if it cannot be read.
pub fn running_line(session: &Session) -> String {
    session.root().readable_value("/proc/cmdline").unwrap_or_default()
}

/// Descriptions of the boots that are impossible on this machine.
pub fn impossible(session: &Session, forecast: &Forecast) -> Vec<String> {
    let (study, kernel) = (&forecast.study, &forecast.machine.kernel);
    let mut why = Vec::new();
    let mut add = |reason: String| {
        if !why.contains(&reason) {
            why.push(reason);
        }
    };
    for boot in &study.boots {
        let named = boot.kernel.as_deref();
        if let Some(image) = named.filter(|named| is_image(named)) {
            add(format!(
                "kernel {}: no modules are installed for an image: use its release, or boot it with --in vm",
                report::safe(image)
            ));
            continue;
        }
        let build = match named.filter(|named| kernel.release.as_deref() != Some(*named)) {
            Some(release) => Build::of_installed(session, release),
            None => Build::of_running(kernel),
        };
        for model in boot.words.iter().filter_map(|word| word.strip_prefix("preempt=")) {
            if let Some(because) = build.not_dynamic(model) {
                let of = named.map_or_else(String::new, |named| format!(" with kernel {}", report::safe(named)));
                add(format!("preempt={model}{of}: {because}"));
            }
        }
    }
    why
}

/// Descriptions of the named kernels that this machine's loader cannot boot, as far as known.
pub fn kernels_not_started(session: &Session, forecast: &Forecast) -> Vec<String> {
    let boots = forecast.study.boots.iter();
    let mut why: Vec<String> = Vec::new();
    for boot in boots.filter(|boot| boot.kernel.as_deref().is_some_and(|kernel| !is_image(kernel))) {
        if let Err(error) = once::check_once(session, &entry(boot, &forecast.cpus)) {
            let kernel = report::safe(boot.kernel.as_deref().unwrap_or_default());
            let reason = format!("kernel {kernel}: {}", error.reason());
            if !why.contains(&reason) {
                why.push(reason);
            }
        }
    }
    why
}

/// The build options of a kernel, as far as known.
struct Build {
    version: Option<(u32, u32)>,
    is_rt: Option<bool>,
    is_dynamic: Option<bool>,
}

impl Build {
    fn of_running(kernel: &Kernel) -> Build {
        let config = kernel.config.as_ref();
        Build {
            version: kernel.release.as_deref().and_then(parse_version),
            is_rt: kernel.preemption.map(|model| model == Preemption::Rt),
            is_dynamic: config.map(|config| config.contains_key("CONFIG_PREEMPT_DYNAMIC")),
        }
    }

    /// The build of an installed kernel that is not running: its version, and the files that the distribution installs with
    /// its image.
    fn of_installed(session: &Session, release: &str) -> Build {
        let text = session.root().readable_text(&format!("/boot/config-{release}"));
        Build::of_text(release, text.as_deref())
    }

    fn of_text(release: &str, config: Option<&str>) -> Build {
        let config = config.map(parse_config);
        let has = |option: &str| config.as_ref().map(|config| config.contains_key(option));
        Build {
            version: parse_version(release),
            is_rt: has("CONFIG_PREEMPT_RT"),
            is_dynamic: has("CONFIG_PREEMPT_DYNAMIC"),
        }
    }

    /// Why `preempt=` has no effect with this kernel (`kernel/sched/core.c`, `sched_dynamic_mode`); `None` if it has one, or
    /// if that is unknown.
    fn not_dynamic(&self, model: &str) -> Option<&'static str> {
        match (self.is_rt, self.is_dynamic) {
            (Some(true), _) => Some("this kernel is PREEMPT_RT, which has one model"),
            (_, Some(false)) => Some("this kernel was built without CONFIG_PREEMPT_DYNAMIC"),
            _ if self.version.is_some_and(|version| version < (5, 12)) => Some("kernels before 5.12 do not support it"),
            _ if model == "lazy" && self.version.is_some_and(|version| version < (6, 13)) => {
                Some("kernels before 6.13 do not support it")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_kernel_that_is_not_running_come_from_its_config() {
        let dynamic = Some("CONFIG_PREEMPT_DYNAMIC=y\n");
        for (release, config, model, why) in [
            ("6.1.0-56-amd64", dynamic, "full", None),
            ("6.1.0-56-amd64", dynamic, "lazy", Some("before 6.13")),
            (
                "6.12.0-1-amd64",
                Some("CONFIG_PREEMPT_NONE=y\n"),
                "full",
                Some("without CONFIG_PREEMPT_DYNAMIC"),
            ),
            (
                "6.1.0-56-rt-amd64",
                Some("CONFIG_PREEMPT_RT=y\n"),
                "none",
                Some("PREEMPT_RT"),
            ),
            ("5.10.0-30-amd64", None, "none", Some("before 5.12")),
            // Without the config file only known facts are reported.
            ("6.1.0-56-rt-amd64", None, "none", None),
        ] {
            let found = Build::of_text(release, config).not_dynamic(model);
            assert_eq!(found.is_some(), why.is_some(), "{release} {model}: {found:?}");
            assert!(found.unwrap_or_default().contains(why.unwrap_or_default()), "{found:?}");
        }
    }
}
