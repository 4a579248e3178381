//! Supports the firmware of the Raspberry Pi: the boot line is the only line of `cmdline.txt`, next to `config.txt`.

use super::{BootEntry, Fallback, Loader, LoaderAdditions, WordSupport};
use crate::line::{EntryLine, LineSlot};
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, OneShotSelection, Trial, TrialWork, first_line, trial_line};
use crate::{BootError, FileEdit, TextEncoding, TrialError};
use machine::cmdline::words;

/// The directory since Debian 12 and on Ubuntu, and the one before.
const PLACES: &[&str] = &["/boot/firmware", "/boot"];

/// The file that the firmware reads instead of `config.txt` if the restart requested it.
const TRY_CONFIG: &str = "tryboot.txt";
const TRY_LINE: &str = "quietcore-trial.txt";

/// The Raspberry Pi.
pub static LOADER: Loader = Loader {
    name: "raspberry-pi",
    about: "the Raspberry Pi's firmware with cmdline.txt",
    find,
    lines,
    entries,
    fallback: |_| {
        Ok(Fallback::none(
            "the firmware has only one boot line",
            "try it first with `quietcore boot trial`, or add --force: the former file stays next to it, and another \
             computer can rename that backup",
        ))
    },
    trial: Trial::By(trial),
    words: WordSupport::Any,
    adds: LoaderAdditions::Anything,
    ..Loader::PLAIN
};

/// The settings of `config.txt` for the line.
struct ConfigTxt {
    dir: String,
    text: String,
    /// The file with the line.
    path: String,
    /// The prefix of file names.
    prefix: String,
}

fn find(tree: &dyn FileTree) -> Option<String> {
    let config = config(tree)?;
    Some(format!("{} next to {}/config.txt", config.path, config.dir))
}

fn config(tree: &dyn FileTree) -> Option<ConfigTxt> {
    PLACES.iter().find_map(|dir| {
        let text = tree.read_text(&format!("{dir}/config.txt"))?;
        let (name, prefix) = names(&text);
        let path = [format!("{dir}/{prefix}{name}"), format!("{dir}/{name}")];
        let path = path.into_iter().find(|path| tree.is_there(path))?;
        Some(ConfigTxt {
            dir: (*dir).to_owned(),
            text,
            path,
            prefix,
        })
    })
}

/// The file name and prefix that apply to every board: a section such as `[pi4]` or `[tryboot]` applies only to
/// some.
fn names(text: &str) -> (String, String) {
    let (mut name, mut prefix) = ("cmdline.txt".to_owned(), String::new());
    let mut for_all = true;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            for_all = line == "[all]";
        } else if let (true, Some((key, value))) = (for_all, line.split_once('=')) {
            match key.trim() {
                "cmdline" => name = value.trim().to_owned(),
                "os_prefix" => prefix = value.trim().to_owned(),
                _ => {}
            }
        }
    }
    (name, prefix)
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let Some(config) = config(tree) else {
        return Ok(Vec::new());
    };
    let (path, text) = tree.resolved_text(&config.path)?;
    let end = text.find(['\n', '\r']).unwrap_or(text.len());
    let rest: Vec<&str> = words(&text[end..]).collect();
    if !rest.is_empty() {
        return Err(BootError::no_place(
            path,
            format!(
                "it has more than one line, and the firmware reads only the first: these parameters do not reach the \
                 kernel: {}",
                rest.join(" ")
            ),
            "move the parameters you need to the end of the first line, and remove the other lines",
        ));
    }
    Ok(vec![EntryLine::of(
        "the only entry",
        LineSlot::new(path, "line", 0..end, TextEncoding::Plain),
    )])
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    let config = config(tree);
    let one = config.and_then(|config| {
        let line = tree
            .read_text(&config.path)?
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        Some(BootEntry {
            id: "cmdline.txt".to_owned(),
            title: "the only entry".to_owned(),
            path: config.path,
            line,
        })
    });
    one.into_iter().collect()
}

fn trial(tree: &dyn FileTree, one_boot: &OneShotEntry) -> Result<TrialWork, BootError> {
    if let Some(release) = &one_boot.kernel {
        return Err(TrialError::OneKernel {
            loader: LOADER.name.to_owned(),
            release: release.clone(),
            why: "the firmware starts only the kernel that config.txt names".to_owned(),
        }
        .into());
    }
    let no = |why: &str, next: &str| BootError::no_trial(LOADER.name, why, next);
    let config = config(tree).ok_or_else(|| no("there is no config.txt", "look at /boot/firmware"))?;
    let to = format!("{}/{TRY_CONFIG}", config.dir);
    let line = trial_line(&first_line(tree, &lines(tree)?)?, &one_boot.words);
    let gap = if config.text.ends_with('\n') { "" } else { "\n" };
    let text = format!(
        "{}{gap}\n[all]\n# Written by quietcore for one boot.\ncmdline={TRY_LINE}\n",
        config.text
    );
    let before = tree.text(&to)?;
    if before.as_ref().is_some_and(|before| !before.contains(TRY_LINE)) {
        return Err(no(
            "tryboot.txt exists and is not from quietcore: another updater may be using it",
            "wait until it has finished, or move that file away",
        ));
    }
    let line_path = format!("{}/{}{TRY_LINE}", config.dir, config.prefix);
    let line_before = tree.text(&line_path)?;
    Ok(TrialWork {
        edits: vec![
            FileEdit::new(line_path, line_before, Some(format!("{line}\n"))),
            FileEdit::new(to, before, Some(text)),
        ],
        runs: Vec::new(),
        chosen: OneShotSelection::Reboot("0 tryboot"),
        entry: TRY_CONFIG.to_owned(),
        line,
    })
}
