//! `apply --install-unit`: installs or previews the files and links that recreate the declared partitions at boot; runs no other program.

use apply::DurableStorage;
use apply::installed::{InstalledPath, install};
use root::{Failure, PathKind, PathState, Root, Status};
use serde::Serialize;
use session::Session;
use session::boot_service::{program, reload_systemd, with_program};
use terminal::Screen;

const UNIT: &str = include_str!("../../../../../packaging/systemd/quietcore.service");
const SCRIPT: &str = include_str!("../../../../../packaging/init.d/quietcore");

/// What starts services on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum InitSystem {
    /// A systemd unit
    Systemd,
    /// A script in /etc/init.d with links in /etc/rcN.d
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

/// Prints the files and links that [`run`] would install, and changes nothing.
///
/// # Errors
/// As [`run`], except for the write errors.
pub fn preview(session: &Session, named: Option<InitSystem>, screen: &mut Screen) -> Result<Status, Failure> {
    let init = named.map_or_else(|| found(session.root()), Ok)?;
    let live = session.writable()?;
    let mut text = String::new();
    let mut placed = Vec::new();
    for (path, wanted) in files(init, &program(session)?) {
        let actual = live.path_state(&path)?;
        text.push_str(&preview_text(&path, &wanted, &actual));
        let outcome = if actual == wanted { "already" } else { "would" };
        placed.push(InstalledPath { path, outcome });
    }
    print_json(&placed, screen);
    screen.text(&format!("{text}Nothing was changed.\n"));
    Ok(Status::Done)
}

/// What would be done at a path, with the content of a new file.
fn preview_text(path: &str, wanted: &PathState, actual: &PathState) -> String {
    match (wanted, actual) {
        (wanted, actual) if wanted == actual => format!("{path} is already installed\n"),
        (PathState::Link(target), _) => format!("would link {path} -> {target}\n"),
        (PathState::File { content, mode }, actual) => {
            let verb = match actual {
                PathState::Nothing => "write",
                _ => "replace",
            };
            let content = String::from_utf8_lossy(content.bytes());
            let lines: String = content.lines().map(|line| format!("  {line}\n")).collect();
            format!("would {verb} {path} (mode {mode:04o}):\n{lines}")
        }
        _ => format!("would create {path}\n"),
    }
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
        "it is unknown what starts services here",
        "systemd does not run, and there is no directory /etc/init.d",
        "choose one with --install-unit systemd or --install-unit init.d, or run `quietcore apply --at-boot` at the \
         end of the boot",
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

/// JSON of `apply --install-unit`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct InstalledUnitJson<'a> {
    /// No change was made to the running machine.
    entries: [(); 0],
    /// The installed files and links.
    installed: &'a [InstalledPath],
    schema: &'static str,
}

fn print_json(placed: &[InstalledPath], screen: &mut Screen) {
    screen.json(&InstalledUnitJson {
        entries: [],
        installed: placed,
        schema: "quietcore.apply/1",
    });
}

fn show(placed: &[InstalledPath], screen: &mut Screen) {
    print_json(placed, screen);
    let mut text: String = placed
        .iter()
        .map(|one| format!("{}  {}\n", one.path, one.outcome))
        .collect();
    text.push_str(
        "At each boot, the partitions that /etc/quietcore.toml declares are applied. To prevent this: quietcore=off on \
         the boot line; `quietcore undo --all` removes all of this.\n",
    );
    screen.text(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_shows_each_link_and_the_content_of_each_new_file() {
        let shown = |actual: &dyn Fn(&PathState) -> PathState| {
            let files = files(InitSystem::Systemd, "/usr/bin/quietcore");
            let lines = files
                .iter()
                .map(|(path, wanted)| preview_text(path, wanted, &actual(wanted)));
            lines.collect::<String>()
        };
        let new = shown(&|_| PathState::Nothing);
        assert!(
            new.starts_with("would write /etc/systemd/system/quietcore.service (mode 0644):\n  "),
            "{new}"
        );
        assert!(new.contains("  ExecStart=/usr/bin/quietcore apply --at-boot"), "{new}");
        assert!(
            new.ends_with("multi-user.target.wants/quietcore.service -> ../quietcore.service\n"),
            "{new}"
        );
        let other = shown(&|_| PathState::text("other", 0o644));
        assert!(other.starts_with("would replace "), "{other}");
        let installed = shown(&PathState::clone);
        assert_eq!(installed.matches("is already installed").count(), 2, "{installed}");
        assert!(!installed.contains("would"), "{installed}");
    }
}
