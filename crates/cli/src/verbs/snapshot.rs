//! `snapshot`: saves everything that the reading verbs need in one archive.

use crate::reading::ReadingArgs;
use boot::{MachineTree, ReadExtent, reads};
use machine::capture::{CaptureExtent, CaptureSummary, ExtraCapture, capture};
use machine::cmdline::words;
use root::state::{LIB_DIR, RUN_DIR};
use root::{Failure, Root, Status};
use serde::Serialize;
use session::Session;
use std::path::PathBuf;
use terminal::{Screen, Volume};

/// Arguments of `snapshot`.
#[derive(clap::Args)]
pub struct Args {
    /// The archive to write; its ending selects the compression (.tar, .tar.gz, .tar.bz2, ...)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    reading: ReadingArgs,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SnapshotJson<'a> {
    schema: &'static str,
    /// The archive.
    file: String,
    #[serde(flatten)]
    summary: &'a CaptureSummary,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let root = session.root();
    let summary = capture(root, &args.file, env!("CARGO_PKG_VERSION"), &for_verbs(root))?;
    let file = args.file.display().to_string();
    screen.json(&SnapshotJson {
        schema: "quietcore.snapshot/1",
        file: file.clone(),
        summary: &summary,
    });
    let mut text = format!(
        "{file}: {} files and {} links, {} bytes before packing\n",
        summary.files, summary.links, summary.bytes
    );
    if !summary.unreadable.is_empty() {
        let shown = if screen.volume == Volume::Verbose {
            usize::MAX
        } else {
            5
        };
        text.push_str(&format!(
            "{} files could not be read and are not included:\n",
            summary.unreadable.len()
        ));
        for (path, why) in summary.unreadable.iter().take(shown) {
            text.push_str(&format!("  {}: {}\n", report::safe(path), report::safe(why)));
        }
        if summary.unreadable.len() > shown {
            text.push_str(&format!(
                "  and {} more (-v shows all of them)\n",
                summary.unreadable.len() - shown
            ));
        }
    }
    text.push_str("read it anywhere with `quietcore inspect --root FILE`\n");
    screen.text(&text);
    Ok(Status::Done)
}

/// The state files that `check` needs, and the files that `boot show`, `boot check` and the dry runs of the others read: the
/// boot loaders' files, our record of their changes, and the files that show the parameters of the running line.
fn for_verbs(root: &Root) -> Vec<ExtraCapture> {
    let mut all: Vec<ExtraCapture> = reads(&MachineTree::of(root))
        .into_iter()
        .map(|(path, reads)| ExtraCapture {
            keep: match reads {
                ReadExtent::Name => CaptureExtent::Name,
                ReadExtent::Content => CaptureExtent::BootText,
            },
            path,
        })
        .collect();
    let running = root.readable_value("/proc/cmdline").unwrap_or_default();
    let shown = plan::boot_check::paths(words(&running));
    // The journal contains what was applied, and `check` compares the machine with that.
    let ours = [format!("{LIB_DIR}/boot-line"), format!("{RUN_DIR}/journal")];
    let whole = shown.into_iter().chain(ours);
    all.extend(whole.map(|path| ExtraCapture {
        path,
        keep: CaptureExtent::Whole,
    }));
    all.extend(plan::knobs::captured());
    all
}
