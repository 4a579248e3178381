//! Formats `check`: the intended state, the findings, the evidence and the verdict, as text, JSON and JUnit.

use crate::Length;
use crate::style::{COLUMNS, Role, Style, counted, safe, wrap};
use check::{CheckFinding, Intention, Judged, LAYERS, LayerName, Means, Verdict, Wish};
use machine::CpuSet;
use plan::{Level, Profile};
use serde::Serialize;
use std::fmt::Write as _;

/// The schema of the document.
pub const CHECK_SCHEMA: &str = "quietcore.check/1";

/// The complete result of `check`.
pub struct Checked<'a> {
    /// `live` or `captured`.
    pub origin: &'static str,
    /// The intended state.
    pub intention: &'a Intention,
    /// The findings.
    pub judged: &'a Judged,
    /// The observation time, in nanoseconds; `None` if nothing was counted.
    pub window_ns: Option<u64>,
    /// What could not be read, one line each.
    pub unread: &'a [String],
    /// What `--fix` did, one line each.
    pub mended: &'a [String],
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    origin: &'static str,
    verdict: Verdict,
    intention: IntentionJson<'a>,
    window_ns: Option<u64>,
    findings: &'a [CheckFinding],
    ignored: &'a [CheckFinding],
    unused: &'a [String],
    unseen: &'a [String],
    unread: &'a [String],
    mended: &'a [String],
}

#[derive(Serialize)]
struct IntentionJson<'a> {
    source: check::Source,
    partitions: Vec<PartitionJson<'a>>,
}

#[derive(Serialize)]
struct PartitionJson<'a> {
    name: &'a str,
    cpus: &'a CpuSet,
    profile: Profile,
    means: &'a Means,
}

/// The JSON document `quietcore.check/1`.
#[must_use]
pub fn check_json<'a>(checked: &'a Checked<'a>) -> impl Serialize + 'a {
    let partition = |wish: &'a Wish| PartitionJson {
        name: wish.intent.name.as_str(),
        cpus: &wish.intent.cpus,
        profile: wish.intent.profile,
        means: &wish.means,
    };
    Document {
        schema: CHECK_SCHEMA,
        origin: checked.origin,
        verdict: checked.judged.verdict,
        intention: IntentionJson {
            source: checked.intention.source,
            partitions: checked.intention.wishes.iter().map(partition).collect(),
        },
        window_ns: checked.window_ns,
        findings: &checked.judged.findings,
        ignored: &checked.judged.ignored,
        unused: &checked.judged.unused,
        unseen: &checked.judged.unseen,
        unread: checked.unread,
        mended: checked.mended,
    }
}

/// Evidence lines printed per finding; the rest is only counted.
const SHOWN: usize = 3;

/// Formats a check for a terminal.
#[must_use]
pub fn check_text(checked: &Checked, length: Length, style: Style) -> String {
    let mut text = String::new();
    for wish in &checked.intention.wishes {
        let line = match wish.means {
            Means::Nothing => format!(
                "CPU {} is not isolated: no partition, cpuset or boot parameter keeps anything away (CPUs from {})",
                wish.intent.cpus,
                checked.intention.source.text()
            ),
            _ => format!(
                "CPU {}: {}, said by {}",
                wish.intent.cpus,
                means(wish),
                checked.intention.source.text()
            ),
        };
        let _ = writeln!(text, "{}", wrap(&safe(&line), 2, COLUMNS));
    }
    if !checked.mended.is_empty() {
        let _ = writeln!(text, "\n{}", style.paint(Role::Head, "Mended"));
        for line in checked.mended {
            let _ = writeln!(text, "  {}", wrap(&safe(line), 4, COLUMNS));
        }
    }
    for layer in LAYERS.iter().map(|layer| Some(layer.name)).chain([None]) {
        let of_layer: Vec<&CheckFinding> = checked
            .judged
            .findings
            .iter()
            .filter(|one| one.layer == layer)
            .collect();
        if of_layer.is_empty() {
            continue;
        }
        let head = layer.map_or("the machine", LayerName::as_str);
        let _ = writeln!(text, "\n{}", style.paint(Role::Head, head));
        of_layer
            .iter()
            .for_each(|one| finding(&mut text, one, length, style));
    }
    text.push('\n');
    for pattern in &checked.judged.unused {
        let why = format!("--ignore {pattern} ignored nothing: no finding has this id and subject");
        let _ = writeln!(text, "{}", wrap(&safe(&why), 2, COLUMNS));
    }
    for why in checked.judged.unseen.iter().map(|why| format!("not seen: {why}")) {
        let _ = writeln!(text, "{}", wrap(&safe(&why), 2, COLUMNS));
    }
    for why in checked.unread.iter().map(|why| format!("not read: {why}")) {
        let _ = writeln!(text, "{}", wrap(&safe(&why), 2, COLUMNS));
    }
    let _ = writeln!(text, "{}", wrap(&verdict(checked), 2, COLUMNS));
    text
}

fn means(wish: &Wish) -> String {
    let profile = format!("{:?}", wish.intent.profile).to_lowercase();
    match &wish.means {
        Means::Partition => format!("partition {} ({profile})", wish.intent.name),
        Means::Missing => format!(
            "partition {} ({profile}), which is NOT in force",
            wish.intent.name
        ),
        Means::BootLine => "isolated by the boot line".to_owned(),
        Means::Cpuset(set) => format!("isolated by the cpuset {set}"),
        Means::Slices => {
            "kept free by systemd's AllowedCPUs of system.slice, user.slice and init.scope".to_owned()
        }
        Means::Tuned => "kept free by TuneD".to_owned(),
        Means::Nothing => "not isolated".to_owned(),
    }
}

fn finding(text: &mut String, one: &CheckFinding, length: Length, style: Style) {
    let (name, role) = match one.finding.level {
        Level::Error => ("error", Role::Bad),
        Level::Warning => ("warning", Role::Care),
        Level::Info => ("info", Role::Quiet),
    };
    let says = format!(
        "[{}] {}: {}",
        one.finding.id,
        safe(&one.finding.subject),
        safe(&one.finding.message)
    );
    let gap = 9 - name.len();
    let _ = writeln!(
        text,
        "  {}{:gap$}{}",
        style.paint(role, name),
        "",
        wrap(&says, 11, COLUMNS)
    );
    let is_short = length == Length::Short;
    let shown = match (is_short, one.finding.level) {
        (false, _) => one.evidence.len(),
        (true, Level::Info) => 0,
        (true, _) => SHOWN,
    };
    for line in one.evidence.iter().take(shown) {
        let _ = writeln!(text, "           {}", wrap(&safe(line), 13, COLUMNS));
    }
    if shown > 0 && one.evidence.len() > shown {
        let _ = writeln!(text, "           and {} more (-v)", one.evidence.len() - shown);
    }
    let says_fix = !is_short || one.finding.level > Level::Info;
    if says_fix && !one.finding.fix.is_empty() {
        let fix = format!("-> {}", safe(&one.finding.fix));
        let _ = writeln!(text, "           {}", wrap(&fix, 14, COLUMNS));
    }
}

fn verdict(checked: &Checked) -> String {
    let count = |level| {
        checked
            .judged
            .findings
            .iter()
            .filter(|one| one.finding.level == level)
            .count()
    };
    let cpus = checked.intention.cpus();
    let looked = match checked.window_ns {
        Some(window) => format!(", looked at for {:.1} s", window as f64 / 1e9),
        None => String::new(),
    };
    let ignored = match checked.judged.ignored.len() {
        0 => String::new(),
        count => format!(", {count} ignored"),
    };
    let counts = format!(
        "{}, {}, {}{ignored}",
        counted(count(Level::Error), "error"),
        counted(count(Level::Warning), "warning"),
        counted(count(Level::Info), "note")
    );
    match (checked.judged.verdict, checked.intention.wishes.is_empty()) {
        (_, true) => "Nothing is isolated here, so there is nothing to check.".to_owned(),
        (Verdict::Quiet, _) => format!("CPU {cpus} is quiet{looked}: what is promised is there ({counts})."),
        (Verdict::Noisy, _) if !checked.intention.not_isolated().is_empty() => {
            let open = checked.intention.not_isolated();
            let rest = match cpus.minus(&open) {
                rest if rest.is_empty() => String::new(),
                rest => format!("; CPU {rest} is isolated"),
            };
            format!("CPU {open} is NOT ISOLATED{rest}{looked} ({counts}).")
        }
        (Verdict::Noisy, _) => {
            format!("CPU {cpus} is NOISY{looked}: something that is promised is absent ({counts}).")
        }
        (Verdict::Unknown, _) => {
            format!("CPU {cpus}: nothing is seen to be wrong, and not everything could be seen ({counts}).")
        }
    }
}
