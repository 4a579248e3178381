//! Taking back what the journal says, backwards; what somebody else changed since is named and left alone.

use crate::enact::Entry;
use crate::home::Map;
use crate::journal::{Journal, JournalState, Storage};
use crate::masks::Wishes;
use crate::record::{After, Before, Drifted, Event, Outcome, Record};
use crate::{ApplyError, System, census, fingerprint};
use machine::{CpuSet, Machine, Policy, Task, Version};
use plan::{Action, Change, Compare, Undo};
use std::collections::{BTreeMap, BTreeSet};

/// What to do about things that somebody else changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Name them, leave them alone, and keep the journal.
    No,
    /// Give them the former state too.
    Restore,
    /// Leave them alone for good, and close the journal.
    Keep,
}

/// What an undo did.
#[derive(Debug, Default)]
pub struct Undone {
    /// Whether there was anything to take back.
    pub was_in_force: bool,
    /// Every step, in the order in which it was taken back.
    pub entries: Vec<Entry>,
    /// What somebody else changed since, and was left alone.
    pub drift: Vec<String>,
    /// What could not be taken back, with the reason.
    pub failed: Vec<String>,
    /// What is worth knowing: demoted tasks, an undo that could not be recorded.
    pub notes: Vec<String>,
}

impl Undone {
    /// Whether the former state is back entirely.
    #[must_use]
    pub fn equal(&self) -> bool {
        self.drift.is_empty() && self.failed.is_empty()
    }

    /// What is not as before.
    #[must_use]
    pub fn remains(&self) -> Vec<String> {
        self.drift.iter().chain(&self.failed).cloned().collect()
    }
}

/// Takes back what is in force. The caller holds the lock of the state directory.
///
/// # Errors
/// A journal that cannot be read; everything else is in the result.
pub fn undo(
    system: &dyn System,
    storage: &dyn Storage,
    boot_id: Option<&str>,
    force: Force,
    why: &str,
) -> Result<Undone, ApplyError> {
    let Some(journal) = Journal::open(storage)? else {
        return Ok(Undone::default());
    };
    if journal.state(boot_id) == JournalState::Void {
        journal.retire()?;
        let notes = vec!["what was in force belonged to an earlier boot and went with it".to_owned()];
        return Ok(Undone {
            notes,
            ..Undone::default()
        });
    }
    undo_open(system, journal, force, why)
}

/// Takes back what an open journal says.
pub(crate) fn undo_open(
    system: &dyn System,
    mut journal: Journal,
    force: Force,
    why: &str,
) -> Result<Undone, ApplyError> {
    let mut undone = Undone {
        was_in_force: true,
        ..Undone::default()
    };
    let records = journal.records().to_vec();
    let Some(Event::Begin { changes, files, .. }) = records.first().map(|record| &record.event) else {
        return Err(ApplyError::Journal {
            record: 1,
            why: "it does not begin with a `begin` record".to_owned(),
        });
    };
    let by_id: BTreeMap<&str, &Change> = changes
        .iter()
        .map(|change| (change.id.as_str(), change))
        .collect();
    let machine = Machine::read(system.root());
    let (mount, version) = machine
        .cgroups
        .cpuset
        .as_ref()
        .map_or((String::new(), Version::V2), |hierarchy| {
            (hierarchy.mount.clone(), hierarchy.version)
        });
    let sets = our_sets(system, &records, &by_id);

    let (newcomers, set_masks) = newcomers(system, &sets, version)?;
    let mut wishes = Wishes::of(system, &records, &newcomers, &set_masks);
    let (masks, drifted) = (wishes.masks(), wishes.drifted.clone());
    say(
        &mut journal,
        &mut undone,
        Event::UndoBegin {
            why: why.to_owned(),
            masks,
            drifted,
        },
    );
    demote_spinners(system, &mut journal, &sets, version, &mut undone)?;
    if force == Force::Restore {
        wishes.insist();
    } else {
        undone.drift.extend(wishes.drifted.iter().map(|task| {
            let Drifted {
                key,
                comm,
                now,
                before,
            } = task;
            format!(
                "task {} ({comm}): somebody set its mask to {now} since; before it was {before}",
                key.tid
            )
        }));
    }

    let map = Map {
        system,
        mount: &mount,
        version,
        sets: &sets,
        wishes: &wishes,
    };
    for record in records.iter().rev() {
        let Event::Will { change, before } = &record.event else {
            continue;
        };
        let Some(planned) = by_id.get(change.as_str()) else {
            continue;
        };
        let step = Step {
            record,
            records: &records,
            change: planned,
            before,
            force,
        };
        let Some(entry) = take_back(&map, &step, &mut undone)? else {
            continue;
        };
        say(
            &mut journal,
            &mut undone,
            Event::Undid {
                change: entry.change.clone(),
                outcome: entry.outcome.clone(),
            },
        );
        undone.entries.push(entry);
    }
    undone.failed.extend(wishes.fulfil(system));
    verify(system, files, &mut undone);

    if undone.failed.is_empty() && (undone.drift.is_empty() || force == Force::Keep) {
        say(&mut journal, &mut undone, Event::Undone);
        journal.retire()?;
    }
    Ok(undone)
}

/// Undo is itself recorded, but a full disk must not stop it: that is said instead.
fn say(journal: &mut Journal, undone: &mut Undone, event: Event) {
    if let Err(error) = journal.append(event) {
        let note = format!("the undo could not be recorded: {error}");
        if !undone.notes.contains(&note) {
            undone.notes.push(note);
        }
    }
}

struct Step<'a> {
    record: &'a Record,
    records: &'a [Record],
    change: &'a Change,
    before: &'a Before,
    force: Force,
}

impl Step<'_> {
    fn answer(&self) -> Option<(&Outcome, &After)> {
        self.records.iter().find_map(|record| match &record.event {
            Event::Did { of, outcome, after } if *of == self.record.seq => Some((outcome, after)),
            _ => None,
        })
    }

    fn entry(&self, before: Option<String>, after: Option<String>, outcome: Outcome) -> Entry {
        Entry {
            seq: self.record.seq,
            change: self.change.id.clone(),
            before,
            after,
            outcome,
        }
    }
}

fn take_back(map: &Map, step: &Step, undone: &mut Undone) -> Result<Option<Entry>, ApplyError> {
    match (&step.change.action, step.before) {
        (
            Action::Write {
                undo: Undo::WithSet, ..
            },
            _,
        ) => Ok(None),
        (
            Action::Write {
                path, value, compare, ..
            },
            Before::Value {
                value: Some(former), ..
            },
        ) => {
            let wanted = Wanted {
                path,
                ours: value,
                former,
                compare: *compare,
            };
            Ok(Some(restore(map.system, step, &wanted, undone)))
        }
        (Action::MakePartition { path, .. }, _) => Ok(Some(dissolve(map.system, step, path, undone))),
        (Action::MakeSet { path }, Before::Absent) => remove_set(map, step, path, undone),
        (Action::MoveTasks { to, .. }, Before::Tasks { tasks }) => {
            let mut home = 0;
            let set = to.strip_prefix(map.mount).unwrap_or(to);
            for task in tasks {
                let there = machine::tasks::read_one(map.system.root(), task.key.tid)
                    .filter(|now| now.key == task.key);
                let cgroup = machine::tasks::cgroup_of(map.system.root(), task.key.tid, map.version);
                if there.is_some() && cgroup.as_deref() == Some(set) {
                    match map.send_home(task.key.tid) {
                        Ok(_) => home += 1,
                        Err(errno) => undone.failed.push(format!(
                            "task {} ({}): {}",
                            task.key.tid,
                            task.comm,
                            std::io::Error::from_raw_os_error(errno)
                        )),
                    }
                }
            }
            let text = format!("{home} of {} tasks went home", tasks.len());
            Ok(Some(step.entry(None, Some(text), Outcome::Done)))
        }
        // Their masks come last, when the partition no longer cuts them.
        _ => Ok(None),
    }
}

struct Wanted<'a> {
    path: &'a str,
    ours: &'a str,
    former: &'a str,
    compare: Compare,
}

fn restore(system: &dyn System, step: &Step, wanted: &Wanted, undone: &mut Undone) -> Entry {
    let Wanted {
        path,
        ours,
        former,
        compare,
    } = *wanted;
    let now = match system.root().value(path) {
        Ok(Some(now)) => now,
        // An interrupt or a cgroup that is gone has nothing to give back.
        Ok(None) => return step.entry(None, None, Outcome::Gone),
        Err(error) => return fail(step, undone, path, &error),
    };
    // `+cpuset` is taken back with `-cpuset`; everything else with the former text.
    let (value, is_former) = match (compare, ours.strip_prefix('+')) {
        (Compare::Word, Some(word)) => (format!("-{word}"), Compare::Word.same(&now, &format!("-{word}"))),
        _ => (former.to_owned(), compare.same(&now, former)),
    };
    if is_former {
        return step.entry(Some(now.clone()), Some(now), Outcome::Already);
    }
    let read_back = step.answer().and_then(|(_, after)| match after {
        After::Value { value, .. } => value.clone(),
        _ => None,
    });
    let is_ours = compare.same(&now, ours) || read_back.is_some_and(|ours| compare.same(&now, &ours));
    if !is_ours && step.force != Force::Restore {
        undone.drift.push(format!(
            "{path}: `{now}` now; we wrote `{ours}`, and before it was `{former}`"
        ));
        return step.entry(Some(now.clone()), Some(now.clone()), Outcome::Drift(now));
    }
    if let Err(error) = system.write(path, &value) {
        return match (compare, error.errno()) {
            // Another owner enabled the controller further down since: taking it away would break that one.
            (Compare::Word, Some(libc::EBUSY)) => {
                undone.drift.push(format!(
                    "{path}: another cgroup uses the controller now, so it stays enabled"
                ));
                step.entry(Some(now.clone()), Some(now.clone()), Outcome::Drift(now))
            }
            _ => fail(step, undone, path, &error),
        };
    }
    let after = system.root().value(path).ok().flatten();
    let back = after.as_deref().is_some_and(|after| match compare {
        Compare::Word => compare.same(after, &value),
        _ => compare.same(after, former),
    });
    if !back {
        undone.failed.push(format!(
            "{path}: wrote `{value}`, and it reads `{}`",
            after.clone().unwrap_or_default()
        ));
    }
    step.entry(Some(now), after, Outcome::Done)
}

fn dissolve(system: &dyn System, step: &Step, path: &str, undone: &mut Undone) -> Entry {
    match system.root().value(path) {
        Ok(None) => step.entry(None, None, Outcome::Gone),
        Ok(Some(now)) if now == "member" => step.entry(Some(now.clone()), Some(now), Outcome::Already),
        Ok(Some(now)) => match system.write(path, "member") {
            Ok(()) => step.entry(Some(now), Some("member".to_owned()), Outcome::Done),
            Err(error) => fail(step, undone, path, &error),
        },
        Err(error) => fail(step, undone, path, &error),
    }
}

fn remove_set(map: &Map, step: &Step, path: &str, undone: &mut Undone) -> Result<Option<Entry>, ApplyError> {
    if !map.sets.iter().any(|set| set == path) {
        return Ok(None);
    }
    let blocked = map.evacuate(path)?;
    if let Err(errno) = map.remove(path) {
        undone.failed.extend(blocked);
        undone.failed.push(format!(
            "{path} cannot be removed: {}",
            std::io::Error::from_raw_os_error(errno)
        ));
        return Ok(Some(step.entry(
            Some("made".to_owned()),
            None,
            Outcome::Refused(errno),
        )));
    }
    Ok(Some(step.entry(Some("made".to_owned()), None, Outcome::Done)))
}

fn fail(step: &Step, undone: &mut Undone, path: &str, error: &root::RootError) -> Entry {
    undone.failed.push(format!("{path}: {error}"));
    step.entry(None, None, Outcome::Refused(error.errno().unwrap_or(libc::EIO)))
}

/// Directories that we made and that are still there. One whose making was refused is somebody else's.
fn our_sets(system: &dyn System, records: &[Record], by_id: &BTreeMap<&str, &Change>) -> Vec<String> {
    let refused: BTreeSet<u64> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Did {
                of,
                outcome: Outcome::Refused(_),
                ..
            } => Some(*of),
            _ => None,
        })
        .collect();
    records
        .iter()
        .filter(|record| !refused.contains(&record.seq))
        .filter_map(|record| match &record.event {
            Event::Will {
                change,
                before: Before::Absent,
            } => by_id.get(change.as_str()),
            _ => None,
        })
        .filter_map(|change| match &change.action {
            Action::MakeSet { path } => Some(path.clone()),
            _ => None,
        })
        .filter(|path| system.root().kind(path).ok().flatten().is_some())
        .collect()
}

/// A real-time task that spins on the isolated CPU would starve the housekeeping CPU that it is sent to, and
/// the kernel threads that taking the partition apart waits for.
fn demote_spinners(
    system: &dyn System,
    journal: &mut Journal,
    sets: &[String],
    version: Version,
    undone: &mut Undone,
) -> Result<(), ApplyError> {
    for set in sets.iter().filter(|set| !set.ends_with("/housekeeping")) {
        for task in members_of(system, set, version)? {
            let realtime = matches!(task.policy, Policy::Fifo | Policy::Rr | Policy::Deadline);
            if !realtime || task.state != 'R' || task.key.tid == std::process::id() {
                continue;
            }
            let former = format!("{:?}:{}", task.policy, task.rt_priority).to_lowercase();
            let comm = task.comm.clone();
            say(
                journal,
                undone,
                Event::Demoted {
                    key: task.key,
                    comm: comm.clone(),
                    former: former.clone(),
                },
            );
            match system.demote(task.key.tid) {
                Ok(()) => undone.notes.push(format!(
                    "task {} ({comm}) was spinning with policy {former}; it is SCHED_OTHER now",
                    task.key.tid
                )),
                Err(error) => undone
                    .failed
                    .push(format!("task {} ({comm}) stays {former}: {error}", task.key.tid)),
            }
        }
    }
    Ok(())
}

/// The tasks in our sets now, and the sets' own masks.
fn newcomers(
    system: &dyn System,
    sets: &[String],
    version: Version,
) -> Result<(Vec<Task>, Vec<CpuSet>), ApplyError> {
    let mut tasks = Vec::new();
    let mut masks = Vec::new();
    for set in sets {
        tasks.extend(members_of(system, set, version)?);
        for name in ["cpuset.cpus", "cpus"] {
            let text = system.root().value(&format!("{set}/{name}"))?;
            masks.extend(text.and_then(|text| CpuSet::parse_list(&text).ok()));
        }
    }
    Ok((tasks, masks))
}

fn members_of(system: &dyn System, set: &str, version: Version) -> Result<Vec<Task>, ApplyError> {
    let list = match version {
        Version::V1 => format!("{set}/tasks"),
        Version::V2 => format!("{set}/cgroup.threads"),
    };
    let tids = census::members(system, &list)?;
    Ok(tids
        .into_iter()
        .filter_map(|tid| machine::tasks::read_one(system.root(), tid))
        .collect())
}

/// Holds every file of the state before against now; what drift explains was said already.
fn verify(system: &dyn System, files: &BTreeMap<String, String>, undone: &mut Undone) {
    let machine = Machine::read(system.root());
    let now = fingerprint::files(system.root(), &machine);
    for difference in fingerprint::file_differences(files, &now) {
        let path = difference.split(':').next().unwrap_or_default();
        if !undone
            .drift
            .iter()
            .chain(&undone.failed)
            .any(|line| line.starts_with(path))
        {
            undone.failed.push(difference);
        }
    }
}
