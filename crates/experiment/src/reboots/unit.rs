//! Manages what a rebooting study keeps on disk: the note, the unit that continues it, the one-boot entry. All of it is
//! removed at the end, whichever way the study ends.

use apply::installed::{install, remove_some};
use apply::restarts::{self, Restart, RunningStudy};
use apply::{DurableStorage, Force};
use root::{Failure, PathState};
use session::Session;
use session::boot_files::once;
use session::boot_service::{program, reload_systemd, runs_systemd, with_program};

const TEXT: &str = include_str!("../../../../packaging/systemd/quietcore-study.service");
const UNIT: &str = "/etc/systemd/system/quietcore-study.service";
const LINK: &str = "/etc/systemd/system/multi-user.target.wants/quietcore-study.service";

/// What continues the study after a reboot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeMethod {
    /// A systemd unit, which also reboots the machine.
    Unit,
    /// The user, who reboots the machine and then runs `quietcore study resume`.
    User,
}

/// What continues studies on this machine.
pub fn resumes(session: &Session) -> ResumeMethod {
    match runs_systemd(session.root()) {
        true => ResumeMethod::Unit,
        false => ResumeMethod::User,
    }
}

/// The study that is under way on this machine.
///
/// # Errors
/// A note that cannot be read.
pub fn under_way(session: &Session) -> Result<Option<RunningStudy>, Failure> {
    match session.lasting_state()? {
        Some(state) => Ok(restarts::under_way(&DurableStorage(&state))?),
        None => Ok(None),
    }
}

/// Records the start of a study, and installs the unit that continues it after a reboot.
///
/// # Errors
/// A program that will not exist at boot, and write errors.
pub fn record_and_install(session: &Session, out: &str) -> Result<(), Failure> {
    let unit = match resumes(session) {
        ResumeMethod::Unit => Some(with_program(TEXT, &program(session)?)),
        ResumeMethod::User => None,
    };
    let _changing = session.lock()?;
    let state = session.made_lasting_state()?;
    let lasting = DurableStorage(&state);
    restarts::begin(&lasting, out)?;
    if let Some(text) = unit {
        let files = [
            (UNIT.to_owned(), PathState::text(text, 0o644)),
            (
                LINK.to_owned(),
                PathState::Link("../quietcore-study.service".to_owned()),
            ),
        ];
        install(session.writable()?, &lasting, &files)?;
        reload_systemd(session.root());
    }
    Ok(())
}

/// Records a step of the study before it is made.
///
/// # Errors
/// The write error.
pub fn note(session: &Session, step: &Restart) -> Result<(), Failure> {
    let _changing = session.lock()?;
    let state = session.made_lasting_state()?;
    Ok(restarts::note(&DurableStorage(&state), step)?)
}

/// Removes everything that a study left here: the one-boot entry, the unit, and the note last, so that a power cut in between
/// leaves the note as evidence. Returns what was left alone.
///
/// # Errors
/// What could not be removed; the note then stays.
pub fn remove_everything(session: &Session) -> Result<Vec<String>, Failure> {
    let changing = session.lock()?;
    let mut left = once::remove_once(session, &changing)?;
    let Some(state) = session.lasting_state()? else {
        return Ok(left);
    };
    let lasting = DurableStorage(&state);
    let is_ours = |path: &str| path == UNIT || path == LINK;
    let removed = remove_some(session.writable()?, &lasting, Force::No, &[], &is_ours)?;
    left.extend(removed.drift);
    left.extend(removed.failed);
    if !removed.placed.is_empty() {
        reload_systemd(session.root());
    }
    restarts::over(&lasting)?;
    if state.names("")?.is_empty() {
        state.discard()?;
    }
    left.iter()
        .for_each(|line| session.note(&format!("left alone: {line}\n")));
    Ok(left)
}

/// Reboots the machine through systemd if it runs, else asks the user to do it.
///
/// # Errors
/// The refusal of systemd.
pub fn restart(session: &Session, why: &str) -> Result<(), Failure> {
    if resumes(session) == ResumeMethod::User {
        session.note(&format!(
            "{why}: restart this machine now, and run `quietcore study resume` when it is up\n"
        ));
        return Ok(());
    }
    session.note(&format!("{why}: this machine is restarted now\n"));
    restarts::restart_machine(session.writable()?).map_err(|error| {
        Failure::unable(
            "systemd does not restart this machine",
            error,
            "the study has ended, and its results are kept: start it again when `systemctl reboot` works here",
        )
    })
}
