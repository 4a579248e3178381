//! Finds the service manager that starts services at boot, and the path of this program for it.

mod init_system;

pub use init_system::{InitSystem, install_preview};

use crate::Session;
use root::{Failure, PathKind, Root, changeable_by_others};

/// The program's path in units and scripts.
pub const PROGRAM: &str = "/usr/local/bin/quietcore";

/// Makes systemd reload its files, like `systemctl daemon-reload`; the documented signal is SIGHUP. If systemd does not run
/// or we lack permission, the next boot reloads them.
pub fn reload_systemd(root: &Root) {
    if runs_systemd(root) {
        let _ = rustix::process::kill_process(rustix::process::Pid::INIT, rustix::process::Signal::HUP);
    }
}

/// Whether PID 1 is systemd.
#[must_use]
pub fn runs_systemd(root: &Root) -> bool {
    matches!(root.kind("/run/systemd/system"), Ok(Some(PathKind::Dir)))
        && matches!(root.value("/proc/1/comm"), Ok(Some(comm)) if comm == "systemd")
}

/// The path of this program at boot.
///
/// # Errors
/// A path that will not exist at boot, that a unit cannot express, or where users other than root can replace the program.
pub fn program(session: &Session) -> Result<String, Failure> {
    let path = session.root().link("/proc/self/exe")?.unwrap_or_default();
    let plain = path.starts_with('/')
        && !path.ends_with(" (deleted)")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte));
    if !plain || ["/tmp/", "/run/", "/dev/"].iter().any(|dir| path.starts_with(dir)) {
        return Err(not_at_boot(
            &path,
            "the program must stay where it is, and its path must be plain ASCII",
        ));
    }
    match changeable_by_others(path.as_ref())? {
        None => Ok(path),
        Some((place, ownership)) => Err(not_at_boot(
            &path,
            &format!(
                "at each boot, root would run a file that other users can replace: {} is {ownership} (owner and group, \
                 mode)",
                report::safe_path(&place)
            ),
        )),
    }
}

fn not_at_boot(path: &str, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be started at boot", report::safe(path)),
        why,
        format!("install it as {PROGRAM}, owned by root and writable only by root, and run that"),
    )
}

/// The text of a unit or script with the path of this program filled in.
#[must_use]
pub fn with_program(text: &str, program: &str) -> String {
    text.replace(PROGRAM, program)
}
