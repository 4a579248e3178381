//! Formats `boot show`: the loader, its entries, our changes, and the running boot line.

use ::boot::BootObservation;
use machine::cmdline::BootWordStage;
use root::Failure;
use serde::Serialize;

/// What `boot show` shows.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootShowJson {
    /// `quietcore.boot/1`.
    pub schema: &'static str,
    /// The command below `boot`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["show"])))]
    pub verb: &'static str,
    /// The running boot line.
    pub running: String,
    /// The boot loaders found.
    pub loaders: Vec<LoaderJson>,
    /// Words that quietcore added to the boot line.
    pub ours: Option<OwnWordsJson>,
    /// Words that quietcore added for one boot.
    pub trial: Option<OwnWordsJson>,
    /// The state in which a boot was seen last.
    pub noted: Option<BootObservation>,
    /// Where to put the words on a machine whose loader is not edited.
    pub other_way: Option<String>,
    /// What TuneD adds to the boot line.
    pub tuned: Option<String>,
    /// Whether a change of boot files did not finish.
    pub unfinished: bool,
    /// Files that could not be read, one line each.
    pub unread: Vec<String>,
}

/// A boot loader of the machine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoaderJson {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it was found.
    pub evidence: String,
    /// Its boot entries.
    pub entries: Vec<BootEntryJson>,
    /// Its settings that hold a boot line.
    pub lines: Vec<LineJson>,
    /// All remarks, joined.
    pub remark: Option<String>,
    /// The remarks, one by one.
    #[serde(skip)]
    pub remarks: Vec<String>,
    /// Why `boot set` does not edit these files here.
    pub refuses: Option<String>,
}

/// A boot entry.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootEntryJson {
    /// Its identifier.
    pub id: String,
    /// Its title in the menu.
    pub title: String,
    /// The file that holds it.
    pub path: String,
    /// Its boot line.
    pub line: String,
    /// Words of quietcore in it.
    pub ours: Vec<String>,
}

/// A setting that holds a boot line.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineJson {
    /// Name of the setting.
    pub name: String,
    /// Files that set it.
    pub paths: Vec<String>,
    /// The line; `None` if it cannot be determined.
    pub text: Option<String>,
    /// Why it cannot be determined.
    #[serde(serialize_with = "as_lines")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub error: Option<Failure>,
}

fn as_lines<S: serde::Serializer>(error: &Option<Failure>, to: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(ToString::to_string).serialize(to)
}

/// Words that quietcore added.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnWordsJson {
    /// The boot loader.
    pub loader: String,
    /// The words.
    pub words: Vec<String>,
    /// The files that were changed for them.
    pub files: Vec<String>,
    /// Whether they reached the running kernel.
    pub state: BootWordStage,
}

/// The verdict in one line.
#[must_use]
pub fn boot_show_verdict(report: &BootShowJson) -> String {
    let added = |ours: &OwnWordsJson, to: &str| {
        let state = match ours.state {
            BootWordStage::Pending => "a reboot puts it into effect",
            BootWordStage::Live => "the running kernel has it",
            BootWordStage::Reverted => "this boot does not have it",
        };
        format!("quietcore added {} to {to}: {state}.\n", ours.words.join(" "))
    };
    match (&report.trial, &report.ours) {
        _ if report.unfinished => "A change of the boot line did not finish.\n".to_owned(),
        (Some(trial), _) => added(trial, "the line of a single boot"),
        (None, Some(ours)) => added(ours, "the boot line"),
        (None, None) if report.loaders.is_empty() => "No boot loader was found that quietcore can edit.\n".to_owned(),
        (None, None) => "quietcore has added nothing to the boot line.\n".to_owned(),
    }
}

/// What to type next, if there is something.
fn next_step(report: &BootShowJson) -> Option<&'static str> {
    let stage = |ours: &Option<OwnWordsJson>| ours.as_ref().map(|ours| ours.state);
    Some(match (stage(&report.trial), stage(&report.ours)) {
        _ if report.unfinished => "`sudo quietcore boot clear` undoes it",
        (Some(BootWordStage::Pending), _) | (None, Some(BootWordStage::Pending)) => {
            "reboot, then `sudo quietcore boot check`"
        }
        (Some(BootWordStage::Live), _) => {
            "`sudo quietcore boot check`; if it is good, `sudo quietcore boot confirm` adds it for every boot"
        }
        (Some(BootWordStage::Reverted), _) | (None, Some(_)) => "`sudo quietcore boot check`",
        (None, None) if report.loaders.iter().any(|loader| loader.refuses.is_none()) => {
            "`sudo quietcore boot trial --cpus CPUS` isolates CPUs at the next boot only"
        }
        (None, None) => return None,
    })
}

/// The same for people, the verdict first. Names of files and titles are not escaped.
#[must_use]
pub fn boot_show_text(report: &BootShowJson) -> String {
    let mut text = boot_show_verdict(report);
    if report.loaders.is_empty() {
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
                text.push_str(&format!("    from quietcore: {}\n", entry.ours.join(" ")));
            }
        }
        for line in &loader.lines {
            text.push_str(&line_text(line));
        }
        let refuses = loader.refuses.iter().filter(|why| !has_reason(&loader.lines, why));
        text.extend(refuses.map(|why| format!("  not edited: {why}\n")));
        text.extend(loader.remarks.iter().map(|remark| format!("  note: {remark}\n")));
    }
    for (what, ours) in [("from quietcore", &report.ours), ("trial", &report.trial)] {
        if let Some(ours) = ours {
            let (words, state) = (ours.words.join(" "), ours.state.text());
            text.push_str(&format!(
                "{what}: {words}\n  {state}, in {} ({})\n",
                ours.loader,
                ours.files.join(", ")
            ));
        }
    }
    if let Some(observed) = &report.noted {
        let when = machine::utc_text(observed.at_ns / 1_000_000_000);
        text.push_str(&format!(
            "recorded: {when}, the first boot that was found {}\n",
            observed.state
        ));
    }
    text.extend(report.tuned.iter().map(|tuned| format!("note: {tuned}\n")));
    for line in &report.unread {
        text.push_str(&format!("not read: {line}\n"));
    }
    text.push_str(&format!("running: {}\n", report.running));
    text.extend(next_step(report).map(|next| format!("\nNext: {next}.\n")));
    text
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
    format!("  {what}: unknown\n{}", error.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ours: Option<BootWordStage>, trial: Option<BootWordStage>, unfinished: bool) -> BootShowJson {
        let words = |state| OwnWordsJson {
            loader: "grub".to_owned(),
            words: vec!["nohz_full=2-3".to_owned()],
            files: vec!["/etc/default/grub".to_owned()],
            state,
        };
        BootShowJson {
            schema: "quietcore.boot/1",
            verb: "show",
            running: "quiet".to_owned(),
            loaders: vec![LoaderJson {
                name: "grub",
                about: "GRUB 2",
                evidence: "/boot/grub/grub.cfg".to_owned(),
                entries: Vec::new(),
                lines: Vec::new(),
                remark: None,
                remarks: Vec::new(),
                refuses: None,
            }],
            ours: ours.map(words),
            trial: trial.map(words),
            noted: None,
            other_way: None,
            tuned: None,
            unfinished,
            unread: Vec::new(),
        }
    }

    #[test]
    fn the_first_line_is_the_state_and_the_last_the_next_step() {
        use BootWordStage::{Live, Pending, Reverted};
        for (ours, trial, unfinished, first, last) in [
            (None, None, false, "added nothing", "boot trial --cpus CPUS"),
            (
                Some(Pending),
                None,
                false,
                "nohz_full=2-3 to the boot line: a reboot",
                "reboot, then",
            ),
            (Some(Live), None, false, "the running kernel has it", "boot check"),
            (Some(Reverted), None, false, "this boot does not have it", "boot check"),
            (
                Some(Live),
                Some(Pending),
                false,
                "of a single boot: a reboot",
                "reboot, then",
            ),
            (
                None,
                Some(Live),
                false,
                "of a single boot: the running kernel",
                "boot confirm",
            ),
            (Some(Live), Some(Live), true, "did not finish", "boot clear"),
        ] {
            let text = boot_show_text(&report(ours, trial, unfinished));
            let (start, end) = (text.lines().next().unwrap(), text.lines().last().unwrap());
            assert!(start.contains(first), "{text}");
            assert!(end.starts_with("Next: ") && end.contains(last), "{text}");
        }
    }

    #[test]
    fn a_machine_whose_loader_is_not_edited_has_no_next_step() {
        let mut refused = report(None, None, false);
        refused.loaders[0].refuses = Some("it is signed".to_owned());
        let text = boot_show_text(&refused);
        assert!(
            text.contains("not edited: it is signed") && !text.contains("Next:"),
            "{text}"
        );
    }
}
