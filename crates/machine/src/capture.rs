//! Captures a snapshot of a machine: the files that the reading commands need, and no others.
//!
//! Left out on purpose: files that block or that disturb a CPU when read (`scaling_cur_freq`), command lines of
//! processes (except irqbalance's), host names, serial numbers and addresses. `status` files and the mount table keep
//! only the lines that are needed here.

mod files;

use crate::reading::RootReader;
use crate::walk::{Walk, WalkEntry};
use crate::{Machine, UnreadableFile, irqbalance};
use files::ContentFilter;
use root::snapshot::Snapshot;
use root::{KERNEL_LOG, Root, RootError};
use std::path::Path;
use std::time::SystemTime;

/// Name of the table of contents at the top of a snapshot.
pub const MANIFEST: &str = "quietcore-snapshot.json";

/// The list of all mounts.
const MOUNTS: &str = "/proc/mounts";

/// Larger than any kernel file we need: `/proc/interrupts` of 1,024 CPUs and 10,000 interrupts has 110 MB.
const MAX_FILE: u64 = 512 << 20;

/// What was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureSummary {
    /// Files in it.
    pub files: u64,
    /// Symbolic links in it.
    pub links: u64,
    /// Bytes before packing.
    pub bytes: u64,
    /// Files that exist on the machine but could not be read.
    pub unreadable: Vec<(String, String)>,
}

/// The table of contents of a snapshot, the file [`MANIFEST`] in it.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotManifest<'a> {
    /// Bytes before packing.
    bytes: u64,
    /// Files in it.
    files: u64,
    /// The kernel's release.
    kernel: &'a str,
    /// Symbolic links in it.
    links: u64,
    schema: &'static str,
    /// When it was captured, in seconds since 1970.
    time_unix_s: u64,
    /// The version of quietcore that captured it.
    tool_version: &'a str,
    /// Files that exist on the machine but could not be read.
    unreadable: Vec<UnreadableFile>,
}

/// What is captured in addition to the files that every machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraCapture {
    /// Its path.
    pub path: String,
    /// How much of it.
    pub keep: CaptureExtent,
}

/// How much of a file is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureExtent {
    /// All of it, unless it contains a password.
    Whole,
    /// A boot loader's text without its passwords; for a file larger than such a text, only the name.
    BootText,
    /// Only the name, as an empty file or a directory.
    Name,
    /// Every file that matches the path: `*` stands for any name or part of one.
    Matching,
}

/// Writes everything that the reading commands need from `root` into one archive, compressed according to its name, and
/// in addition the files in `also`, which this crate does not know.
///
/// Files that cannot be read are listed in the archive's manifest and in the summary. Files that vanish during the
/// capture (of a task that ends) are left out.
///
/// # Errors
/// [`RootError::Ending`] for an unknown file name extension, or the errno of writing the archive.
pub fn capture(
    root: &Root,
    output: &Path,
    tool_version: &str,
    also: &[ExtraCapture],
) -> Result<CaptureSummary, RootError> {
    root::snapshot::check_name(output)?;
    let machine = Machine::read(root).with_planning_tasks(root);
    let release = machine.kernel.release.clone().unwrap_or_else(|| "unknown".to_owned());
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let top = format!("quietcore-{}", release.replace(|letter: char| !is_plain(letter), "_"));
    let mut writer = CaptureWriter {
        root,
        archive: Snapshot::create(output, &top, now)?,
        summary: CaptureSummary::default(),
        content: Vec::new(),
    };
    let mut walk = Walk::new(root);
    let environment = irqbalance::environment_files(&RootReader::new(root));
    let patterns = files::patterns(&machine)
        .into_iter()
        .chain(files::of_irqbalance(&machine, environment));
    for pattern in patterns {
        walk.each(&pattern.path, &mut |found| writer.take(found, pattern.trim))?;
    }
    let is_path = |one: &&ExtraCapture| one.keep == CaptureExtent::Matching || !one.path.contains(['*', '{']);
    for ExtraCapture { path, keep } in also.iter().filter(is_path) {
        let trim = match keep {
            CaptureExtent::Whole | CaptureExtent::Matching => ContentFilter::Nothing,
            CaptureExtent::BootText if path == MOUNTS => ContentFilter::BootMounts,
            CaptureExtent::BootText => ContentFilter::BootText,
            CaptureExtent::Name => ContentFilter::Name,
        };
        let is_whole = *keep == CaptureExtent::Whole;
        walk.each(path, &mut |found| match found {
            WalkEntry::File(path) if is_whole && writer.is_secret(path) => Ok(()),
            found => writer.take(found, trim),
        })?;
        if *keep == CaptureExtent::Name {
            walk.each(&format!("{path}/"), &mut |found| writer.take(found, trim))?;
        }
    }
    writer.summary.unreadable.extend(walk.into_unreadable());
    writer.kernel_log()?;
    writer.finish(&release, now, tool_version)
}

/// Whether a kernel message is about something that isolation relies on; the others are private.
fn is_about_isolation(message: &str) -> bool {
    const ABOUT: [&str; 14] = [
        "Linux version",
        "ommand line",
        "Housekeeping:",
        "isolcpus",
        "nohz_full",
        "NO_HZ",
        "rcu:",
        "clocksource:",
        "tsc:",
        "workqueue",
        "Dynamic Preempt",
        "bad CPU range",
        "hrtimer",
        "smpboot:",
    ];
    ABOUT.iter().any(|part| message.contains(part))
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}

struct CaptureWriter<'a> {
    root: &'a Root,
    archive: Snapshot,
    summary: CaptureSummary,
    content: Vec<u8>,
}

impl CaptureWriter<'_> {
    fn take(&mut self, found: WalkEntry<'_>, trim: ContentFilter) -> Result<(), RootError> {
        match found {
            WalkEntry::File(path) => self.file(path, trim),
            WalkEntry::Dir(path) => self.archive.dir(path),
            WalkEntry::Link(path, target) => {
                self.summary.links += 1;
                self.archive.link(path, target)
            }
        }
    }

    /// Whether a file that must be captured unchanged contains a password.
    fn is_secret(&mut self, path: &str) -> bool {
        let read = self.root.bytes_at_most(path, MAX_FILE, &mut self.content);
        let is_secret = read.is_ok_and(|there| there && files::is_secret(&self.content));
        if is_secret {
            let why = "it mentions a password, and every byte of it counts";
            self.summary.unreadable.push((path.to_owned(), why.to_owned()));
        }
        is_secret
    }

    fn file(&mut self, path: &str, trim: ContentFilter) -> Result<(), RootError> {
        let most = match trim {
            ContentFilter::BootText => files::MAX_BOOT_TEXT,
            _ => MAX_FILE,
        };
        let read = match trim {
            ContentFilter::Name => {
                self.content.clear();
                Ok(true)
            }
            _ => self.root.bytes_at_most(path, most, &mut self.content),
        };
        match read {
            Ok(true) => {}
            Err(error) if trim == ContentFilter::BootText && error.is_too_large() => self.content.clear(),
            Ok(false) => return Ok(()),
            Err(error) => {
                self.summary.unreadable.push((path.to_owned(), error.to_string()));
                return Ok(());
            }
        }
        // The mode shows which interrupts the kernel manages itself; other modes are not needed.
        let mode = if path.ends_with("/smp_affinity") {
            self.root.mode(path).ok().flatten()
        } else {
            None
        };
        trim.apply(&mut self.content);
        self.summary.files += 1;
        self.summary.bytes += self.content.len() as u64;
        self.archive.file(path, mode.unwrap_or(0o444), &self.content)
    }

    /// Captures the kernel's messages about its boot line, as the log file of the captured machine.
    fn kernel_log(&mut self) -> Result<(), RootError> {
        let messages = match self.root.kernel_log() {
            Ok(Some(messages)) => messages,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.summary
                    .unreadable
                    .push(("/dev/kmsg".to_owned(), error.to_string()));
                return Ok(());
            }
        };
        let relevant: Vec<&str> = messages
            .iter()
            .map(String::as_str)
            .filter(|text| is_about_isolation(text))
            .collect();
        let text = relevant.join("\n") + "\n";
        self.summary.files += 1;
        self.summary.bytes += text.len() as u64;
        self.archive.file(KERNEL_LOG, 0o444, text.as_bytes())
    }

    fn finish(mut self, release: &str, time: u64, tool_version: &str) -> Result<CaptureSummary, RootError> {
        let manifest = SnapshotManifest {
            bytes: self.summary.bytes,
            files: self.summary.files,
            kernel: release,
            links: self.summary.links,
            schema: "quietcore.snapshot/1",
            time_unix_s: time,
            tool_version,
            unreadable: self.summary.unreadable.iter().map(unreadable_file).collect(),
        };
        // Numbers and text always serialize.
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        self.archive.file(MANIFEST, 0o444, format!("{text}\n").as_bytes())?;
        self.archive.finish()?;
        Ok(self.summary)
    }
}

fn unreadable_file((path, why): &(String, String)) -> UnreadableFile {
    UnreadableFile {
        path: path.clone(),
        why: why.clone(),
    }
}

impl From<UnreadableFile> for (String, String) {
    fn from(unreadable: UnreadableFile) -> (String, String) {
        (unreadable.path, unreadable.why)
    }
}
