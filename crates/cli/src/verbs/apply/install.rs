//! `apply --install-unit`: installs the files and links that recreate the declared partitions at boot; runs no other program.

use apply::DurableStorage;
use apply::installed::{InstalledPath, install};
use root::{Failure, PathKind, PathState, Root, Status};
use serde_json::json;
use session::Session;
use session::boot_service::{program, reload_systemd, with_program};
use terminal::Screen;

const UNIT: &str = include_str!("../../../../../packaging/systemd/quietcore.service");
const SCRIPT: &str = include_str!("../../../../../packaging/init.d/quietcore");

/// What starts services on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum InitSystem {
    /// systemd
    Systemd,
    /// Scripts in /etc/init.d with links in /etc/rcN.d
    #[value(name = "init.d")]
    Scripts,
}

/// Runs the command.
///
/// # Errors
/// A machine with neither, a program that cannot be started at boot, or a write error.
pub fn run(session: &Session, named: Option<InitSystem>, screen: &mut Screen) -> Result<Status, Failure> {
    let root = session.root();
    let init = match named {
        Some(init) => init,
        None => found(root)?,
    };
    let program = program(session)?;
    let _changing = session.lock()?;
    let state = session.made_lasting_state()?;
    let placed = install(session.writable()?, &DurableStorage(&state), &files(init, &program))?;
    if init == InitSystem::Systemd {
        reload_systemd(root);
    }
    show(&placed, screen);
    Ok(Status::Done)
}

fn found(root: &Root) -> Result<InitSystem, Failure> {
    let is_dir = |path| matches!(root.kind(path), Ok(Some(PathKind::Dir)));
    if is_dir("/run/systemd/system") {
        return Ok(InitSystem::Systemd);
    }
    if is_dir("/etc/init.d") {
        return Ok(InitSystem::Scripts);
    }
    Err(Failure::new(
        Status::Unable,
        "it is not clear what starts services here",
        "neither systemd runs nor is there a directory /etc/init.d",
        "name it with --install-unit systemd or --install-unit init.d, or call `quietcore apply --at-boot` at the end of boot",
    ))
}

fn files(init: InitSystem, program: &str) -> Vec<(String, PathState)> {
    let text = |text: &str, mode| PathState::text(with_program(text, program), mode);
    match init {
        InitSystem::Systemd => vec![
            ("/etc/systemd/system/quietcore.service".to_owned(), text(UNIT, 0o644)),
            (
                "/etc/systemd/system/multi-user.target.wants/quietcore.service".to_owned(),
                PathState::Link("../quietcore.service".to_owned()),
            ),
        ],
        InitSystem::Scripts => {
            let mut files = vec![("/etc/init.d/quietcore".to_owned(), text(SCRIPT, 0o755))];
            let starts = [2, 3, 4, 5].map(|level| (level, "S99"));
            let stops = [0, 1, 6].map(|level| (level, "K01"));
            for (level, order) in starts.into_iter().chain(stops) {
                let link = PathState::Link("../init.d/quietcore".to_owned());
                files.push((format!("/etc/rc{level}.d/{order}quietcore"), link));
            }
            files
        }
    }
}

fn show(placed: &[InstalledPath], screen: &mut Screen) {
    screen.json(&json!({ "schema": "quietcore.apply/1", "installed": placed, "entries": [] }));
    let mut text: String = placed
        .iter()
        .map(|one| format!("{}  {}\n", one.path, one.outcome))
        .collect();
    text.push_str(
        "What /etc/quietcore.toml declares comes back at boot. Ways out: quietcore=off on the boot line; `quietcore undo \
         --all` removes all of this.\n",
    );
    screen.text(&text);
}
