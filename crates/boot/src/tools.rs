//! Lists the tools of loaders and distributions: the only programs that quietcore starts. Only `apply` starts them, from
//! this table and never through a shell.

use crate::BootError;
use crate::tree::FileTree;
use serde::{Deserialize, Serialize};

/// A program of the distribution that must run after an edit.
#[derive(Debug)]
pub struct DistributionTool {
    /// Its file name.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
}

/// Every tool that may be started.
pub const TOOLS: &[DistributionTool] = &[
    DistributionTool {
        name: "update-grub",
        about: "Debian's and Ubuntu's grub-mkconfig: writes /boot/grub/grub.cfg",
    },
    DistributionTool {
        name: "grub-mkconfig",
        about: "writes grub.cfg from /etc/default/grub and /etc/grub.d",
    },
    DistributionTool {
        name: "grub2-mkconfig",
        about: "the same tool under its name on Red Hat and SUSE",
    },
    DistributionTool {
        name: "grub-reboot",
        about: "selects a GRUB entry for the next boot only, in grubenv",
    },
    DistributionTool {
        name: "grub2-reboot",
        about: "the same tool under its name on Red Hat and SUSE",
    },
    DistributionTool {
        name: "u-boot-update",
        about: "Debian's u-boot-menu: writes extlinux.conf from /etc/default/u-boot",
    },
    DistributionTool {
        name: "update-extlinux",
        about: "Alpine: writes extlinux.conf from /etc/update-extlinux.conf",
    },
    DistributionTool {
        name: "rpm-ostree",
        about: "manages the kernel arguments of an image-based system, with one deployment per change",
    },
    DistributionTool {
        name: "proxmox-boot-tool",
        about: "Proxmox: writes the entries on its EFI system partitions from /etc/kernel/cmdline",
    },
    DistributionTool {
        name: "zipl",
        about: "s390: writes the boot record from the entries",
    },
];

/// Directories in which tools are searched.
pub const DIRECTORIES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Directories that tools write to: each may be a separate file system.
pub const WRITTEN: [&str; 5] = ["/boot", "/boot/efi", "/boot/firmware", "/efi", "/"];

/// One invocation of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRun {
    /// Its name in [`TOOLS`].
    pub tool: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl ToolRun {
    /// The command as a user would type it.
    #[must_use]
    pub fn text(&self) -> String {
        let words = std::iter::once(&self.tool).chain(&self.arguments);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// The first installed tool of several, with its arguments.
///
/// # Errors
/// None is installed.
pub fn first_of(tree: &dyn FileTree, choices: &[(&str, &[&str])]) -> Result<ToolRun, BootError> {
    let there = choices.iter().find(|(name, _)| place(tree, name).is_some());
    if let Some((name, arguments)) = there {
        return Ok(ToolRun {
            tool: (*name).to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        });
    }
    let name = choices.first().map_or("", |(name, _)| name);
    let about = TOOLS
        .iter()
        .find(|tool| tool.name == name)
        .map_or("", |tool| tool.about);
    Err(BootError::unable(
        format!("{name} is not installed"),
        format!("it must run after the change ({about})"),
        "install it, then try again",
    ))
}

/// The path of a tool in the table; `None` if it is not installed or not in the table.
#[must_use]
pub fn place(tree: &dyn FileTree, name: &str) -> Option<String> {
    TOOLS.iter().find(|tool| tool.name == name)?;
    let places = DIRECTORIES.iter().map(|dir| format!("{dir}/{name}"));
    places.into_iter().find(|path| tree.is_there(path))
}
