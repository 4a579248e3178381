//! `boot show`: shows the loader, its entries, our changes, and the running boot line.

use crate::reading::ReadingArgs;
use apply::boot_line::BootObservation;
use boot::{
    BootEntry, DetectedLoader, EntryLine, MachineTree, OwnChanges, contradiction, find, other_way, state_after, tuned,
};
use machine::cmdline::BootWordStage;
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use session::boot_files::BootScene;
use terminal::Screen;

/// Arguments of `boot show`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,
    /// Only this boot loader, where several are found
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
}

#[derive(Serialize)]
struct BootShowJson {
    schema: &'static str,
    verb: &'static str,
    running: String,
    loaders: Vec<LoaderJson>,
    ours: Option<OwnWordsJson>,
    trial: Option<OwnWordsJson>,
    noted: Option<BootObservation>,
    /// Where to put the words on a machine whose loader is not edited.
    other_way: Option<String>,
    tuned: Option<String>,
    unfinished: bool,
    unread: Vec<String>,
}

#[derive(Serialize)]
struct LoaderJson {
    name: &'static str,
    about: &'static str,
    evidence: String,
    entries: Vec<BootEntryJson>,
    lines: Vec<LineJson>,
    /// All remarks, joined.
    remark: Option<String>,
    #[serde(skip)]
    remarks: Vec<String>,
    /// Why `boot set` does not edit these files here.
    refuses: Option<String>,
}

#[derive(Serialize)]
struct BootEntryJson {
    id: String,
    title: String,
    path: String,
    line: String,
    ours: Vec<String>,
}

#[derive(Serialize)]
struct LineJson {
    name: String,
    paths: Vec<String>,
    text: Option<String>,
    #[serde(serialize_with = "as_lines")]
    error: Option<Failure>,
}

fn as_lines<S: serde::Serializer>(error: &Option<Failure>, to: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(ToString::to_string).serialize(to)
}

#[derive(Serialize)]
struct OwnWordsJson {
    loader: String,
    words: Vec<String>,
    files: Vec<String>,
    state: BootWordStage,
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
        schema: "quietcore.boot/1",
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
    screen.text(&report::safe_lines(&text(&report)));
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

/// Whether another line already has the same reason.
fn has_reason(lines: &[LineJson], why: &str) -> bool {
    let mut errors = lines.iter().filter_map(|line| line.error.as_ref());
    errors.any(|error| error.to_string().replace('\n', "; ") == why)
}

/// A line of the loader: its words, or why there are none.
fn line_text(line: &LineJson) -> String {
    let paths = line.paths.join(", ");
    if let Some(text) = &line.text {
        return format!("  line of {} ({paths})\n    {text}\n", line.name);
    }
    let what = match line.paths.is_empty() {
        true => "the line".to_owned(),
        false => format!("line of {} ({paths})", line.name),
    };
    let error = line
        .error
        .as_ref()
        .map(|Failure { what, why, next, .. }| format!("    {what}\n    why: {why}\n    next: {next}\n"));
    format!("  {what}: not known\n{}", error.unwrap_or_default())
}

fn text(report: &BootShowJson) -> String {
    let mut text = String::new();
    if report.loaders.is_empty() {
        text.push_str("No boot loader was found that quietcore can edit.\n");
        text.extend(report.other_way.iter().map(|way| format!("  {way}\n")));
    }
    for loader in &report.loaders {
        text.push_str(&format!(
            "{}: {}\n  evidence: {}\n",
            loader.name, loader.about, loader.evidence
        ));
        for entry in &loader.entries {
            text.push_str(&format!("  entry {}\n    {}\n", entry.title, entry.line));
            if !entry.ours.is_empty() {
                text.push_str(&format!("    ours: {}\n", entry.ours.join(" ")));
            }
        }
        for line in &loader.lines {
            text.push_str(&line_text(line));
        }
        let refuses = loader.refuses.iter().filter(|why| !has_reason(&loader.lines, why));
        text.extend(refuses.map(|why| format!("  not edited: {why}\n")));
        text.extend(loader.remarks.iter().map(|remark| format!("  note: {remark}\n")));
    }
    for (what, ours) in [("ours", &report.ours), ("trial", &report.trial)] {
        if let Some(ours) = ours {
            let (words, state) = (ours.words.join(" "), ours.state.text());
            text.push_str(&format!(
                "{what}: {words}\n  {state}, in {} ({})\n",
                ours.loader,
                ours.files.join(", ")
            ));
        }
    }
    if report.ours.is_none() && report.trial.is_none() {
        text.push_str("ours: nothing\n");
    }
    if let Some(observed) = &report.noted {
        let when = machine::utc_text(observed.at_ns / 1_000_000_000);
        text.push_str(&format!(
            "recorded: {when}, the first boot that was seen {}\n",
            observed.state
        ));
    }
    text.extend(report.tuned.iter().map(|tuned| format!("note: {tuned}\n")));
    if report.unfinished {
        text.push_str("A change did not finish; the next `boot set` or `boot clear` undoes it.\n");
    }
    for line in &report.unread {
        text.push_str(&format!("not read: {line}\n"));
    }
    text.push_str(&format!("running: {}\n", report.running));
    text
}
