//! What starts services at boot: systemd, and where it finds this program.

use crate::Session;
use root::{Failure, Kind, Root, changeable_by_others};

/// The program's path in units and scripts.
pub const PROGRAM: &str = "/usr/local/bin/quietcore";

/// Lets systemd read its files again, as `systemctl daemon-reload` does: its documented signal for that is SIGHUP.
/// Where it does not run, or we may not, the next boot does.
pub fn reload_systemd(root: &Root) {
    if runs_systemd(root) {
        let _ = rustix::process::kill_process(rustix::process::Pid::INIT, rustix::process::Signal::HUP);
    }
}

/// Whether the first process is systemd.
#[must_use]
pub fn runs_systemd(root: &Root) -> bool {
    matches!(root.kind("/run/systemd/system"), Ok(Some(Kind::Dir)))
        && matches!(root.value("/proc/1/comm"), Ok(Some(comm)) if comm == "systemd")
}

/// Where this program is, as the boot will find it.
///
/// # Errors
/// A path that will not be there then, that a unit cannot name, or where users other than root can put another program.
pub fn program(session: &Session) -> Result<String, Failure> {
    let path = session.root().link("/proc/self/exe")?.unwrap_or_default();
    let plain = path.starts_with('/')
        && !path.ends_with(" (deleted)")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte));
    if !plain
        || ["/tmp/", "/run/", "/dev/"]
            .iter()
            .any(|dir| path.starts_with(dir))
    {
        return Err(not_at_boot(
            &path,
            "the program has to stay where it is, under a plain path",
        ));
    }
    match changeable_by_others(path.as_ref())? {
        None => Ok(path),
        Some((place, ownership)) => Err(not_at_boot(
            &path,
            &format!(
                "root would run at each boot what others put there: {} is {ownership} (owner and group, mode)",
                report::safe(&place.display().to_string())
            ),
        )),
    }
}

fn not_at_boot(path: &str, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be started at boot", report::safe(path)),
        why,
        format!("put it at {PROGRAM}, owned by root and writable for root alone, and call that"),
    )
}

/// The text of a unit or a script, with this program in it.
#[must_use]
pub fn with_program(text: &str, program: &str) -> String {
    text.replace(PROGRAM, program)
}
