//! Installs a systemd unit that starts the daemon at boot (`watch --daemon --install-unit`); `--remove-unit` removes it.
//!
//! It only writes files and a link, and records their former content; it runs no other program.

use ::terminal::Screen;
use apply::installed::{InstalledPath, install, remove_some};
use apply::{DurableStorage, Force};
use root::{Failure, PathKind, PathState, Status};
use serde::Serialize;
use session::Session;
use session::boot_service::{program, reload_systemd, with_program};

const TEXT: &str = include_str!("../../../../../packaging/systemd/quietcore-watch.service");
const UNIT: &str = "/etc/systemd/system/quietcore-watch.service";
const LINK: &str = "/etc/systemd/system/multi-user.target.wants/quietcore-watch.service";

/// The schema of [`WatchUnitJson`].
const WATCH_UNIT_SCHEMA: &str = "quietcore.watch-unit/1";

/// JSON of `watch --daemon --install-unit` and `--remove-unit`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WatchUnitJson<'a> {
    /// The installed files and links; absent with `--remove-unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<&'a [InstalledPath]>,
    /// What was not removed, with the reason.
    left: &'a [String],
    /// The removed files and links; only with `--remove-unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<&'a [InstalledPath]>,
    schema: &'static str,
}

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
            "systemd is not running",
            "let your init system start `quietcore watch --daemon`",
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
    let document = WatchUnitJson {
        installed: Some(&placed),
        left: &[],
        removed: None,
        schema: WATCH_UNIT_SCHEMA,
    };
    show(&document, screen);
    screen
        .note("`systemctl start quietcore-watch` starts it now; --remove-unit or `quietcore undo --all` removes it\n");
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
    let document = WatchUnitJson {
        installed: None,
        left: &left,
        removed: Some(&removed.placed),
        schema: WATCH_UNIT_SCHEMA,
    };
    show(&document, screen);
    if removed.placed.is_empty() && left.is_empty() {
        screen.note("no unit of `watch` is installed\n");
    }
    match left.is_empty() {
        true => {
            screen.note("`systemctl stop quietcore-watch` stops what is still running\n");
            Ok(Status::Done)
        }
        false => Ok(Status::Conflict),
    }
}

fn show(document: &WatchUnitJson, screen: &mut Screen) {
    screen.json(document);
    let placed = document.installed.iter().chain(&document.removed).copied().flatten();
    let lines = placed.map(|one| format!("{}  {}\n", one.path, one.outcome));
    let left = document
        .left
        .iter()
        .map(|line| format!("left alone: {}\n", report::safe(line)));
    screen.text(&lines.chain(left).collect::<String>());
}
