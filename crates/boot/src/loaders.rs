//! Lists the boot loaders: one file each, one line each in this list.

mod armbian;
mod beaglebone;
pub(crate) mod bls;
mod bls_grub;
mod comparison;
mod contradiction;
mod evidence;
mod extlinux;
mod extlinux_conf;
mod file_line;
mod generated;
mod grub;
mod grub_cfg;
mod grub_conf;
mod grub_debian;
mod grub_kernels;
mod kernel_cmdline;
mod limine;
mod ostree;
mod proxmox;
mod raspberry_pi;
mod refind;
mod systemd_boot;
mod u_boot_menu;
mod uki;
mod update_extlinux;
mod variable;
mod word_list;

pub use contradiction::{contradiction, other_way};

use crate::line::EntryLine;
use crate::tools::ToolRun;
use crate::tree::FileTree;
use crate::trial::Trial;
use crate::{BootError, FileEdit};
use root::{Failure, Status};

/// All supported loaders.
pub const LOADERS: &[&Loader] = &[
    &grub_debian::LOADER,
    &grub_conf::LOADER,
    &bls_grub::LOADER,
    &systemd_boot::LOADER,
    &proxmox::LOADER,
    &uki::LOADER,
    &ostree::LOADER,
    &raspberry_pi::LOADER,
    &u_boot_menu::LOADER,
    &update_extlinux::LOADER,
    &extlinux::LOADER,
    &armbian::LOADER,
    &beaglebone::LOADER,
    &limine::LOADER,
    &refind::LOADER,
];

/// Returns the commands to run after the lines were changed.
pub type Commit = fn(&dyn FileTree, &WordChange) -> Result<Vec<ToolRun>, BootError>;

/// The change of the words of the first line, for tools that take words instead of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordChange {
    /// Removed words.
    pub removed: Vec<String>,
    /// Added words.
    pub new: Vec<String>,
}

/// How a loader stores the boot line.
pub struct Loader {
    /// The name for `--loader`.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The evidence for it on a machine; `None` if there is none.
    pub find: fn(&dyn FileTree) -> Option<String>,
    /// The lines that `set` edits.
    pub lines: fn(&dyn FileTree) -> Result<Vec<EntryLine>, BootError>,
    /// The entries that it would offer at the next boot.
    pub entries: fn(&dyn FileTree) -> Vec<BootEntry>,
    /// The commands to run after a change.
    pub commit: Commit,
    /// The entry that stays without our words.
    pub fallback: fn(&dyn FileTree) -> Result<Fallback, BootError>,
    /// How an entry is tried for one boot.
    pub trial: Trial,
    /// The words that it accepts.
    pub words: WordSupport,
    /// The program that writes the line.
    pub line_writer: LineAuthor,
    /// Its name in the EFI variable `LoaderInfo`, in lower case.
    pub efi_name: Option<&'static str>,
    /// The source of its entries.
    pub source: fn(&dyn FileTree) -> EntrySource,
    /// What it adds to the lines of its entries.
    pub adds: LoaderAdditions,
    /// Remarks on its files for the user, one sentence each.
    pub remarks: fn(&dyn FileTree) -> Vec<String>,
    /// Why its files on a machine are not edited; the words are those to add by hand in the right place.
    pub refuses: fn(&dyn FileTree, &[String]) -> Option<BootError>,
}

/// The words that a loader passes on unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordSupport {
    /// All words that the kernel accepts.
    Any,
    /// Words without characters that are special in its script language.
    Plain,
}

/// The source of a loader's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySource {
    /// The loader reads them directly.
    Entries,
    /// A tool generates them from the line of configuration files.
    Settings {
        /// The files.
        files: String,
        /// Where to add words to their line by hand.
        place: String,
        /// The command.
        tool: String,
        /// The generated file.
        generated: String,
        /// The entries generated from the line; none if they cannot be read.
        entries: Vec<BootEntry>,
        /// Words that the tool itself adds to them.
        by_tool: Vec<String>,
    },
}

/// What a loader adds to the line of an entry, in addition to the kernel's path and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderAdditions {
    /// Parameters with these names.
    These(&'static [&'static str]),
    /// Anything: its script or the firmware of the board adds words.
    Anything,
}

/// The program that writes a loader's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineAuthor {
    /// quietcore, in files.
    Files,
    /// A tool that owns it: the files only display it.
    Tool,
}

/// A bootable entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootEntry {
    /// The loader's id for it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The file that defines it.
    pub path: String,
    /// Its boot line.
    pub line: String,
}

/// The entry that stays unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// An existing one.
    Stays(String),
    /// One that these edits create.
    Made(Vec<FileEdit>, String),
    /// There is none, and none can be created.
    None {
        /// Why.
        why: String,
        /// What to do.
        next: String,
    },
}

/// A detected loader, with the evidence.
#[derive(Clone, Debug)]
pub struct DetectedLoader {
    /// The loader's row in the list.
    pub loader: &'static Loader,
    /// The evidence.
    pub evidence: String,
}

impl Fallback {
    /// No entry can stay bootable: why, and what to do.
    fn none(why: impl Into<String>, next: impl Into<String>) -> Fallback {
        Fallback::None {
            why: why.into(),
            next: next.into(),
        }
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "Loader({})", self.name)
    }
}

impl Loader {
    /// What most loaders have in common: they read their entries from plain files at every boot.
    const PLAIN: Loader = Loader {
        name: "",
        about: "",
        find: |_| None,
        lines: |_| Ok(Vec::new()),
        entries: |_| Vec::new(),
        commit: |_, _| Ok(Vec::new()),
        fallback: variable::no_fallback,
        trial: variable::NO_TRIAL,
        words: WordSupport::Plain,
        line_writer: LineAuthor::Files,
        efi_name: None,
        source: |_| EntrySource::Entries,
        adds: LoaderAdditions::These(&[]),
        remarks: |_| Vec::new(),
        refuses: |_, _| None,
    };

    /// Why its files must not be edited here: another program regenerates them, or they cannot be parsed. The error contains the
    /// words and the right place for them; without words only the place.
    #[must_use]
    pub fn refusal(&self, tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
        generated::nixos(tree, words)
            .or_else(|| (self.refuses)(tree, words))
            .or_else(|| comparison::refusal(tree, self))
    }

    /// Remarks for the user before a change: [`Loader::remarks`], and differences between the configuration files, the entries and
    /// the running line. The words are ours that take effect at the next boot.
    #[must_use]
    pub fn all_remarks(&self, tree: &dyn FileTree, ours: &[String]) -> Vec<String> {
        let mut all = (self.remarks)(tree);
        all.extend(comparison::remarks(tree, self, ours));
        all
    }

    /// Checks that it passes these words on unchanged.
    ///
    /// # Errors
    /// A usage error for the first that it does not.
    pub fn check_words(&self, words: &[String]) -> Result<(), BootError> {
        const SCRIPT: &[char] = &[
            '"', '\'', '\\', '$', '`', ';', '&', '|', '<', '>', '{', '}', '#', ' ', '\t',
        ];
        for word in words {
            let refused = |why: &str, next: &str| {
                let what = format!("`{word}` cannot be added to the boot line");
                Err(BootError::usage(what, why, next))
            };
            if word.chars().any(|letter| letter.is_control() || !letter.is_ascii()) {
                return refused(
                    "a boot line is one line of ASCII",
                    "write it without line ends and non-ASCII characters",
                );
            }
            if word.matches('"').count() % 2 == 1 {
                return refused("a quote is not closed", "close it: name=\"value with blanks\"");
            }
            if word == "--" {
                return refused(
                    "everything after `--` goes to init, not to the kernel",
                    "leave `--` out",
                );
            }
            if self.words == WordSupport::Plain && word.contains(SCRIPT) {
                return refused(
                    &format!(
                        "the files of {} are scripts, which would interpret it differently",
                        self.name
                    ),
                    "add this parameter to the loader's file by hand, with its quotes, and the others with `boot set`",
                );
            }
        }
        Ok(())
    }
}

/// The loaders detected on a machine, in the order of the list.
#[must_use]
pub fn find(tree: &dyn FileTree) -> Vec<DetectedLoader> {
    let found = |loader: &&'static Loader| {
        let evidence = (loader.find)(tree)?;
        Some(DetectedLoader { loader, evidence })
    };
    LOADERS.iter().filter_map(found).collect()
}

/// The loader that starts this machine: the named one, else the only one without contradicting evidence, else the one that the
/// firmware reports.
///
/// # Errors
/// No loader, a different one, or several.
pub fn choose(tree: &dyn FileTree, named: Option<&str>, refused: &[String]) -> Result<DetectedLoader, BootError> {
    let found = find(tree);
    let names = |found: &[DetectedLoader]| found.iter().map(|one| one.loader.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = named {
        let one = found.iter().find(|one| one.loader.name == name).cloned();
        return one.ok_or_else(|| {
            let (found, next) = match found.is_empty() {
                true => ("none".to_owned(), "leave --loader out"),
                false => (names(&found), "choose one of those, or leave --loader out"),
            };
            BootError::usage(
                format!("loader {name} was not found on this machine"),
                format!("found: {found}"),
                next,
            )
        });
    }
    let (mut fitting, mut against) = (Vec::new(), Vec::new());
    for one in found {
        match contradiction(tree, one.loader) {
            None => fitting.push(one),
            Some(why) => against.push(format!("{} ({}): {why}", one.loader.name, one.evidence)),
        }
    }
    match fitting.as_slice() {
        [] if !against.is_empty() => Err(BootError::unable(
            "the boot loader that was found did not start this machine",
            against.join("; "),
            other_way(tree).unwrap_or_else(|| {
                "look at the loader that did; if the evidence is wrong, select the right one with --loader".to_owned()
            }),
        )),
        [] => Err(no_loader(tree, refused)),
        [only] => Ok(only.clone()),
        several => by_firmware(tree, several),
    }
}

/// No loader was recognised. `refused` could not be read.
fn no_loader(tree: &dyn FileTree, refused: &[String]) -> BootError {
    let names: Vec<&str> = LOADERS.iter().map(|loader| loader.name).collect();
    let refused: String = refused.iter().map(|reason| format!("; {reason}")).collect();
    let status = match refused.is_empty() {
        true => Status::Unable,
        false => Status::Denied,
    };
    let usual = "pass these parameters to the kernel through the hypervisor, the firmware or the image: `quietcore \
         plan` lists them";
    BootError::Failed(Failure::new(
        status,
        "no boot loader was found that quietcore can edit",
        format!("looked for: {}{refused}", names.join(", ")),
        other_way(tree).unwrap_or_else(|| usual.to_owned()),
    ))
}

/// The one of several that the firmware reports.
fn by_firmware(tree: &dyn FileTree, several: &[DetectedLoader]) -> Result<DetectedLoader, BootError> {
    let reported = evidence::efi_loader(tree);
    let fits = |one: &&DetectedLoader| {
        let names = one.loader.efi_name.zip(reported.as_deref());
        names.is_some_and(|(name, reported)| reported.contains(name))
    };
    let by_firmware: Vec<&DetectedLoader> = several.iter().filter(fits).collect();
    match by_firmware.as_slice() {
        [one] => Ok((*one).clone()),
        _ => Err(BootError::usage(
            "several boot loaders were found",
            several
                .iter()
                .map(|one| format!("{} ({})", one.loader.name, one.evidence))
                .collect::<Vec<_>>()
                .join("; "),
            "select the one that starts this machine: --loader NAME",
        )),
    }
}

/// Text of an EFI variable, in lower case and without the NUL.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let pairs = bytes.chunks_exact(2);
    let units: Vec<u16> = pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units).trim_matches('\0').to_lowercase()
}

/// For boards that start one entry with one line.
pub(crate) fn one_line_fallback(why: &str) -> Fallback {
    Fallback::none(
        why,
        "add --force if you can use the board's console or read its card in another computer; `boot clear` restores \
         the former file",
    )
}
