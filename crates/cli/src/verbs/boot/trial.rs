//! `boot trial`: creates an entry for the next boot only.

use super::BootTarget;
use super::words::BootWordArgs;
use apply::boot_line::{BootChange, OneShotMethod};
use boot::{MARK, MachineTree, OneShotEntry, OneShotSelection, RecordedWords, trial, tuned};
use report::{ChangeMode, ChangeView};
use root::{Failure, Status};
use session::Session;
use session::boot_files::perform;
use terminal::Screen;

/// Arguments of `boot trial`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: BootWordArgs,
    #[command(flatten)]
    target: BootTarget,
    /// Use this boot loader, if several are found
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// An unsupported loader, invalid words, or files that cannot be written.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.target.reading.open(session)?;
    let (scene, changing) = args.target.open(session)?;
    let mode = ChangeMode::under(changing.as_ref());
    let loader = scene.loader(args.loader.as_deref())?.loader;
    let chosen = args.wanted.choose(session, loader, scene.own_words.line.as_ref())?;
    scene.check_running(&chosen.words)?;
    let files = MachineTree::of(scene.root);
    let one = OneShotEntry {
        words: chosen.words.clone(),
        kernel: None,
    };
    let (mut work, how) = trial(&files, loader, &one, &scene.limit())?;
    work.notes.splice(0..0, chosen.notes);
    work.notes.extend(loader.all_remarks(&files, &scene.own_words.words()));
    work.notes
        .extend(tuned(&files).and_then(|tuned| tuned.note(&chosen.words)));
    let (note, once) = selection(how);
    work.notes.push(note);
    // The firmware of a Raspberry Pi has no entries besides its single line. Elsewhere one of them has our mark afterwards.
    let (listed, next) = match &once {
        Some(_) => (
            Some(vec![MARK.to_owned()]),
            "Written. Restart the machine; afterwards, `quietcore boot confirm` keeps it.",
        ),
        None => (
            None,
            "Written. Restart with `reboot '0 tryboot'`; afterwards, `quietcore boot confirm` keeps it.",
        ),
    };
    let shown = ChangeView {
        verb: "trial",
        loader,
        words: &chosen.words,
        work: &work,
        mode,
    };
    screen.text(&shown.text());
    if let Some(changing) = changing {
        let after = RecordedWords {
            trial: work.own_changes.clone(),
            ..scene.own_words.clone()
        };
        let change = BootChange {
            once,
            ..scene.change(after, &work)
        };
        perform(session, &changing, &change, loader, listed)?;
    }
    super::finish(&shown, next, screen);
    Ok(Status::Done)
}

/// How the entry is selected for the next boot: a note, and what does it; nothing where the firmware does it by itself.
fn selection(chosen: OneShotSelection) -> (String, Option<OneShotMethod>) {
    match chosen {
        OneShotSelection::By(run) => (
            format!("the entry is selected by: {}", run.text()),
            Some(OneShotMethod::Tool(run)),
        ),
        OneShotSelection::OneShot(entry) => (
            format!("LoaderEntryOneShot becomes {entry}"),
            Some(OneShotMethod::Entry(entry)),
        ),
        OneShotSelection::Reboot(argument) => (
            format!("the firmware starts the entry if the machine is restarted with: reboot '{argument}'"),
            None,
        ),
    }
}
