//! Installs a systemd unit that starts the daemon at boot (`watch --daemon --install-unit`); `--remove-unit` removes it.
//!
//! It only writes files and a link, and records their former content; it runs no other program.

use ::terminal::Screen;
use apply::installed::{InstalledPath, install, remove_some};
use apply::{DurableStorage, Force};
use root::{Failure, PathKind, PathState, Status};
use serde_json::json;
use session::Session;
use session::boot_service::{program, reload_systemd, with_program};

const TEXT: &str = include_str!("../../../../../packaging/systemd/quietcore-watch.service");
const UNIT: &str = "/etc/systemd/system/quietcore-watch.service";
const LINK: &str = "/etc/systemd/system/multi-user.target.wants/quietcore-watch.service";

/// Installs the unit. It starts at the next boot, or when systemd is asked to start it.
///
/// # Errors
/// No systemd, a program that cannot be started at boot, or a write error.
pub fn place(session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let root = session.root();
    if !matches!(root.kind("/run/systemd/system"), Ok(Some(PathKind::Dir))) {
        return Err(Failure::new(
            Status::Unable,
            "the unit was not installed",
            "systemd does not run here",
            "have `quietcore watch --daemon` started by whatever starts services here",
        ));
    }
    let program = program(session)?;
    let _changing = session.lock()?;
    let files = [
        (UNIT.to_owned(), PathState::text(with_program(TEXT, &program), 0o644)),
        (
            LINK.to_owned(),
            PathState::Link("../quietcore-watch.service".to_owned()),
        ),
    ];
    let placed = install(
        session.writable()?,
        &DurableStorage(&session.made_lasting_state()?),
        &files,
    )?;
    reload_systemd(root);
    show("installed", &placed, &[], screen);
    screen
        .note("`systemctl start quietcore-watch` begins it now; --remove-unit or `quietcore undo --all` removes it\n");
    Ok(Status::Done)
}

/// Removes the unit. A running daemon ends when systemd is asked to stop it.
///
/// # Errors
/// No permission, or a write error.
pub fn remove(session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let _changing = session.lock()?;
    let state = session.made_lasting_state()?;
    let is_ours = |path: &str| path == UNIT || path == LINK;
    let removed = remove_some(session.writable()?, &DurableStorage(&state), Force::No, &[], &is_ours)?;
    reload_systemd(session.root());
    let left: Vec<String> = removed.drift.iter().chain(&removed.failed).cloned().collect();
    show("removed", &removed.placed, &left, screen);
    if removed.placed.is_empty() && left.is_empty() {
        screen.note("no unit of `watch` was installed\n");
    }
    match left.is_empty() {
        true => {
            screen.note("`systemctl stop quietcore-watch` ends what still runs\n");
            Ok(Status::Done)
        }
        false => Ok(Status::Conflict),
    }
}

fn show(what: &str, placed: &[InstalledPath], left: &[String], screen: &mut Screen) {
    screen.json(&json!({ "schema": "quietcore.watch-unit/1", what: placed, "left": left }));
    let lines = placed.iter().map(|one| format!("{}  {}\n", one.path, one.outcome));
    let left = left.iter().map(|line| format!("left alone: {}\n", report::safe(line)));
    screen.text(&lines.chain(left).collect::<String>());
}
