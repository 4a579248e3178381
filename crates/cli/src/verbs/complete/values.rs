//! The values of an argument: the words that `clap` knows, else those that the name of the value implies.
//!
//! What is read is readable for every user, except the journal: other users see its partitions by their cgroups of v2.

use super::Candidate;
use clap::{Arg, ValueHint};
use machine::{CpuId, CpuSet, OrderBy};
use plan::{KNOBS, PartitionName};
use report::explain::word_groups;
use root::Root;
use session::{Session, declared};

const CPUS: &str = "/sys/devices/system/cpu";

/// The directory of v2's cgroups, and how those of partitions start.
const CGROUPS: (&str, &str) = ("/sys/fs/cgroup", "quietcore-");

/// The values of an argument that start with what was typed. In a list, its last element is completed.
pub fn of(arg: &Arg, typed: &str, session: &Session) -> Vec<Candidate> {
    let name = arg.get_value_names().and_then(|names| names.first());
    let name = name.map(|name| name.as_str()).unwrap_or_default();
    let is_list = name == "CPUS" || arg.get_value_delimiter() == Some(',');
    let (before, last) = match typed.rfind(',').filter(|_| is_list) {
        Some(comma) => typed.split_at(comma + 1),
        None => ("", typed),
    };
    let mut found: Vec<Candidate> = fixed(arg)
        .or_else(|| named(name, arg, session))
        .unwrap_or_else(|| match name {
            "CPUS" => cpus(session.root(), before, last),
            _ => Vec::new(),
        });
    found.retain(|one| one.is_request() || one.word.starts_with(last));
    for one in found.iter_mut().filter(|one| !one.is_request()) {
        one.word.insert_str(0, before);
    }
    found
}

/// The words that `clap` accepts, and files.
fn fixed(arg: &Arg) -> Option<Vec<Candidate>> {
    let words = arg.get_possible_values();
    if !words.is_empty() {
        let about = |help: Option<&clap::builder::StyledStr>| help.map(ToString::to_string).unwrap_or_default();
        let visible = words.iter().filter(|word| !word.is_hide_set());
        return Some(
            visible
                .map(|word| Candidate::new(word.get_name(), about(word.get_help())))
                .collect(),
        );
    }
    (arg.get_value_hint() == ValueHint::AnyPath).then(|| {
        let names = arg.get_value_names().unwrap_or_default();
        let is_dir = names.iter().any(|name| name == "DIR");
        vec![Candidate::new(if is_dir { "<directories>" } else { "<files>" }, "")]
    })
}

/// What the name of a value implies.
fn named(name: &str, arg: &Arg, session: &Session) -> Option<Vec<Candidate>> {
    match name {
        "KNOB" | "KNOB[=VALUE]" | "KNOB,..." => Some(KNOBS.iter().map(|knob| of_text(knob.name, knob.what)).collect()),
        "ID" => Some(plan::findings().map(|row| of_text(row.id.as_str(), row.what)).collect()),
        "WORD" => Some(words()),
        "NAME" if ["partition", "into", "from"].contains(&arg.get_id().as_str()) => Some(partitions(session)),
        "PROGRAM" | "COMMAND" => Some(vec![Candidate::new("<programs>", "")]),
        _ => None,
    }
}

/// A word with the first sentence about it.
fn of_text(word: &str, text: &str) -> Candidate {
    Candidate::new(word, text.split_once(". ").map_or(text, |(first, _)| first))
}

/// What `explain` knows, without patterns.
fn words() -> Vec<Candidate> {
    let of_group = |(title, names): (&'static str, Vec<String>)| {
        let names = names.into_iter().filter(|name| !name.contains(['*', '#']));
        names.map(move |name| Candidate::new(name, title))
    };
    sorted(word_groups().into_iter().flat_map(of_group))
}

/// By word; of several with the same word the first.
fn sorted(all: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = all.collect();
    all.order_by(|one, other| one.word.cmp(&other.word));
    all.dedup_by(|one, other| one.word == other.word);
    all
}

/// Active and declared partitions.
fn partitions(session: &Session) -> Vec<Candidate> {
    let (dir, start) = CGROUPS;
    let active = session.in_force().into_iter().map(|intent| intent.name.to_string());
    let cgroups = session.root().readable_names(dir).unwrap_or_default();
    let of_cgroups = cgroups.iter().filter_map(|name| {
        let name = PartitionName::new(name.strip_prefix(start)?).ok()?;
        Some(name.to_string())
    });
    let declared = declared::read(session, None).ok().flatten();
    let declared = declared.map(|file| file.declarations).unwrap_or_default();
    let declared = declared.iter().map(|one| one.name().to_string());
    let active = active.chain(of_cgroups).map(|name| Candidate::new(name, "active"));
    sorted(active.chain(declared.map(|name| Candidate::new(name, "declared"))))
}

/// Online CPUs and cores of several CPUs, without those that the list has. After `2-`, the possible ends of the range.
fn cpus(root: &Root, before: &str, last: &str) -> Vec<Candidate> {
    let list = |path: &str| {
        let text = root.readable_value(&format!("{CPUS}/{path}"))?;
        CpuSet::parse_list(&text).ok()
    };
    let online = list("online").unwrap_or_default();
    let range = last
        .split_once('-')
        .and_then(|(start, _)| Some((start, start.parse::<u32>().ok()?)));
    if let Some((start, first)) = range {
        let ends = online.iter().filter(|cpu| cpu.0 > first);
        return ends.map(|cpu| Candidate::new(format!("{start}-{cpu}"), "")).collect();
    }
    let listed = CpuSet::parse_list(before.trim_end_matches(',')).unwrap_or_default();
    let siblings = |cpu: CpuId| list(&format!("cpu{cpu}/topology/thread_siblings_list"));
    let (mut single, mut cores) = (Vec::new(), Vec::new());
    for cpu in online.minus(&listed).iter() {
        let core = siblings(cpu).filter(|core| core.len() > 1);
        let about = core.as_ref().map(|core| format!("of core {core}")).unwrap_or_default();
        single.push(Candidate::new(cpu.to_string(), about));
        if let Some(core) = core.filter(|core| core.first() == Some(cpu)) {
            cores.push(Candidate::new(format!("core-of:{cpu}"), format!("CPUs {core}")));
        }
    }
    single.extend(cores);
    single
}
