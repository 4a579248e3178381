//! `apply --install-unit`: installs or previews the files and links that recreate the declared partitions at boot; runs no other program.

use apply::DurableStorage;
use apply::installed::{InstalledPath, install};
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use session::boot_service::{InitSystem, install_preview, program, reload_systemd};
use terminal::Screen;

/// The value of `--install-unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum InitWord {
    /// A systemd unit
    Systemd,
    /// A script in /etc/init.d with links in /etc/rcN.d
    #[value(name = "init.d")]
    Scripts,
}

impl From<InitWord> for InitSystem {
    fn from(word: InitWord) -> InitSystem {
        match word {
            InitWord::Systemd => InitSystem::Systemd,
            InitWord::Scripts => InitSystem::Scripts,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A machine with neither, a program that cannot be started at boot, or a write error.
pub fn run(session: &Session, named: Option<InitWord>, screen: &mut Screen) -> Result<Status, Failure> {
    let root = session.root();
    let init = named.map_or_else(|| InitSystem::found(root), |word| Ok(word.into()))?;
    let program = program(session)?;
    let _changing = session.lock()?;
    let state = session.made_lasting_state()?;
    let placed = install(session.writable()?, &DurableStorage(&state), &init.files(&program))?;
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
pub fn preview(session: &Session, named: Option<InitWord>, screen: &mut Screen) -> Result<Status, Failure> {
    let init = named.map_or_else(|| InitSystem::found(session.root()), |word| Ok(word.into()))?;
    let live = session.writable()?;
    let mut text = String::new();
    let mut placed = Vec::new();
    for (path, wanted) in init.files(&program(session)?) {
        let actual = live.path_state(&path)?;
        text.push_str(&install_preview(&path, &wanted, &actual));
        let outcome = if actual == wanted { "already" } else { "would" };
        placed.push(InstalledPath { path, outcome });
    }
    print_json(&placed, screen);
    screen.text(&format!("{text}Nothing was changed.\n"));
    Ok(Status::Done)
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
