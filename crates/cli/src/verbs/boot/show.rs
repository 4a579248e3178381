//! `boot show`: shows the loader, its entries, our changes, and the running boot line.

use crate::reading::ReadingArgs;
use boot::{
    BootEntry, DetectedLoader, EntryLine, MachineTree, OwnChanges, contradiction, find, other_way, state_after, tuned,
};
use report::{
    BOOT_SCHEMA, BootEntryJson, BootShowJson, LineJson, LoaderJson, OwnWordsJson, boot_show_text, boot_show_verdict,
};
use root::{Failure, Status};
use session::Session;
use session::boot_files::BootScene;
use terminal::Screen;

/// Arguments of `boot show`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,
    /// Show only this boot loader
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// A captured machine that cannot be opened, or a journal that cannot be parsed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let scene = BootScene::read(session)?;
    let files = MachineTree::of(scene.root);
    let found = match &args.loader {
        Some(_) => vec![scene.loader(args.loader.as_deref())?],
        None => find(&files),
    };
    let words = scene.own_words.words();
    let loaders: Vec<LoaderJson> = found.iter().map(|one| loader(one, &files, &words)).collect();
    let other_way = loaders.is_empty().then(|| other_way(&files)).flatten();
    let ours = |ours: &Option<OwnChanges>| {
        ours.as_ref().map(|ours| OwnWordsJson {
            loader: ours.loader.clone(),
            words: ours.words.clone(),
            files: ours.files.iter().map(|file| file.path.clone()).collect(),
            state: state_after(&ours.words, &scene.running, scene.after),
        })
    };
    let mut unread = files.refused();
    unread.extend(scene.unknown.clone());
    let report = BootShowJson {
        schema: BOOT_SCHEMA,
        verb: "show",
        running: scene.running.clone(),
        loaders,
        other_way,
        ours: ours(&scene.own_words.line),
        trial: ours(&scene.own_words.trial),
        noted: scene.observed_boot.clone(),
        tuned: tuned(&files).map(|tuned| format!("TuneD adds {} ({})", tuned.words.join(" "), tuned.path)),
        unfinished: scene.unfinished,
        unread,
    };
    screen.report(
        &report::safe_lines(&boot_show_verdict(&report)),
        &report::safe_lines(&boot_show_text(&report)),
    );
    screen.json(&report);
    Ok(Status::Done)
}

fn loader(found: &DetectedLoader, files: &MachineTree, words: &[String]) -> LoaderJson {
    let loader = found.loader;
    let entry = |entry: BootEntry| BootEntryJson {
        ours: words
            .iter()
            .filter(|word| boot::has_words(&entry, &[(*word).clone()]))
            .cloned()
            .collect(),
        id: entry.id,
        title: entry.title,
        path: entry.path,
        line: entry.line,
    };
    let line = |line: &EntryLine| {
        let text = line.text(files);
        let mut paths: Vec<String> = line.slots.iter().map(|slot| slot.path.clone()).collect();
        paths.dedup();
        LineJson {
            name: line.name.clone(),
            paths,
            error: text.as_ref().err().map(Failure::from),
            text: text.ok(),
        }
    };
    let lines = match (loader.lines)(files) {
        Ok(lines) => lines.iter().map(line).collect(),
        Err(error) => vec![LineJson {
            name: "cannot be edited".to_owned(),
            paths: Vec::new(),
            text: None,
            error: Some(error.into()),
        }],
    };
    let remarks = loader.all_remarks(files, words);
    LoaderJson {
        name: loader.name,
        about: loader.about,
        evidence: found.evidence.clone(),
        entries: (loader.entries)(files).into_iter().map(entry).collect(),
        lines,
        remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
        remarks,
        refuses: refuses(found, files),
    }
}

/// Why these files would not be edited, as one line.
fn refuses(found: &DetectedLoader, files: &MachineTree) -> Option<String> {
    let contradicted =
        contradiction(files, found.loader).map(|why| format!("another loader started this machine: {why}"));
    let refused = || {
        let error = found.loader.refusal(files, &[])?;
        Some(error.to_string().replace('\n', "; "))
    };
    contradicted.or_else(refused)
}
