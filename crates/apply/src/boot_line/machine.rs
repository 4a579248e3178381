//! Provides what changing boot files needs of a machine: its files, the loader's own tools, the firmware's one-shot choice.

use crate::ApplyError;
use crate::installed::InstallTarget;
use boot::{ToolRun, tools};
use root::{Live, RenameAtomicity, Root, RootError};
use std::process::{Command, Stdio};

/// Where boot files are changed. Production code uses [`Runner`]; tests use one that loses power.
pub trait BootMachine: InstallTarget {
    /// How the file system of a path renames.
    ///
    /// # Errors
    /// The error of the query.
    fn renames(&self, path: &str) -> Result<RenameAtomicity, RootError>;

    /// Runs a tool of [`tools::TOOLS`] to its end.
    ///
    /// # Errors
    /// [`ApplyError::Tool`] with the tool's message.
    fn run(&self, run: &ToolRun) -> Result<(), ApplyError>;

    /// Makes systemd-boot start this entry at the next boot only.
    ///
    /// # Errors
    /// A machine without EFI variables, or a firmware that refuses.
    fn start_once(&self, entry: &str) -> Result<(), ApplyError>;
}

/// The variable of the Boot Loader Interface that names the entry for the next boot only.
const ONE_SHOT: &str = "/sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// Number of lines of a tool's message to show.
const LINES: usize = 3;

/// The machine that we run on.
pub struct Runner {
    live: Live,
    root: Root,
}

impl Runner {
    /// Opens the running machine; a captured one is not accepted.
    #[must_use]
    pub fn new(live: Live) -> Runner {
        let root = Root::of(&live);
        Runner { live, root }
    }
}

impl InstallTarget for Runner {
    fn path_state(&self, path: &str) -> Result<root::PathState, RootError> {
        self.live.path_state(path)
    }

    fn set_path_state(&self, path: &str, state: &root::PathState) -> Result<(), RootError> {
        self.live.set_path_state(path, state)
    }
}

impl BootMachine for Runner {
    fn renames(&self, path: &str) -> Result<RenameAtomicity, RootError> {
        self.live.renames(path)
    }

    fn run(&self, run: &ToolRun) -> Result<(), ApplyError> {
        let failed = |why: String, next: &str| ApplyError::Tool {
            command: run.text(),
            why,
            next: next.to_owned(),
        };
        let place = tools::place(&boot::MachineTree::of(&self.root), &run.tool)
            .ok_or_else(|| failed("it is not installed".to_owned(), "install it, then try again"))?;
        let output = Command::new(self.live.locate(&place))
            .args(&run.arguments)
            .env("PATH", tools::DIRECTORIES.join(":"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string(), "check the program"))?;
        if output.status.success() {
            // The tools leave their output in memory, and our next record says that the change is done.
            for dir in tools::WRITTEN {
                self.live.sync_file_system(dir)?;
            }
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
        Err(failed(
            format!("{}: {last}", output.status),
            "run it by hand and read its messages",
        ))
    }

    fn start_once(&self, entry: &str) -> Result<(), ApplyError> {
        self.live
            .set_efi_text(ONE_SHOT, entry)
            .map_err(|error| ApplyError::Unable {
                why: format!("the entry cannot be selected for one boot: {error}"),
                next: "this machine has no writable EFI variables: use `boot set`, which keeps an entry with the \
                     present boot line"
                    .to_owned(),
            })
    }
}
