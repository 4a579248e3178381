//! Everything that `check` looks at, read once: first what is counted, then who is there.

use crate::boot_verdict::examine_boot_on;
use crate::counting::{self, Counted};
use crate::intention::{self, CheckScope};
use check::{Case, CheckFinding, Counters, Evidence, Intention, Source, Wish};
use machine::{CpuSet, Machine, Settings, Task, settings};
use plan::boot_check::BootVerdict;
use plan::{Intent, Level};
use root::{Failure, Kind, Origin, Root};
use session::Session;
use session::boot_files::BootScene;
use std::time::Duration;

/// What was seen, and what was found in it.
pub struct Examination {
    /// What is wanted.
    pub intention: Intention,
    /// The machine.
    pub machine: Machine,
    /// What was found.
    pub found: Vec<CheckFinding>,
    /// What could not be read.
    pub unread: Vec<String>,
    /// Every wish with what it would need now.
    pub cases: Vec<Case>,
    counters: Counters,
    boot: BootVerdict,
}

impl Examination {
    /// What the layers looked at.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            machine: &self.machine,
            counters: &self.counters,
            boot: Some(&self.boot),
        }
    }

    /// How long was counted; `None` where nobody did.
    pub fn window_ns(&self) -> Option<u64> {
        match &self.counters {
            Counters::Seen(activity) => Some(activity.duration_ns),
            Counters::Unseen(_) => None,
        }
    }
}

/// Looks at everything.
///
/// # Errors
/// CPUs that are not there, a file of declarations or a journal that cannot be understood.
pub fn examine(scene: &BootScene, asked: &CheckScope, window: Duration) -> Result<Examination, Failure> {
    let (session, root) = (scene.session, scene.root);
    let (counters, counted) = match (root.origin(), window.is_zero()) {
        (Origin::Captured, _) => unseen("a captured machine does not tell what happens on it"),
        (Origin::Live, true) => unseen("--for 0s asks for none"),
        (Origin::Live, false) => {
            let cpus = intention::find(session, &session.machine(), asked)?.cpus();
            if cpus.is_empty() {
                unseen("no CPU was named")
            } else {
                let (activity, counted) = counting::watch(session, &cpus, window);
                (Counters::Seen(activity), counted)
            }
        }
    };
    // After the window, so that it tells who came to the CPUs meanwhile. Once: on a big machine this is most of the time.
    let machine = session.machine().with_interrupts(root).with_task_cgroups(root);
    let mut intention = intention::find(session, &machine, asked)?;
    let machine = match root.origin() {
        Origin::Live => surely(machine, root, &intention.cpus()),
        Origin::Captured => machine,
    };
    let verdicts = examine_boot_on(scene, None, &machine, counted)?;
    let cases = cases(session, &machine, &intention);
    let unread_files = cases.iter().flat_map(|case| &case.unread);
    intention
        .unseen
        .extend(unread_files.map(|path| format!("whether {path} is as wanted: it could not be read")));
    let evidence = Evidence {
        machine: &machine,
        counters: &counters,
        boot: Some(&verdicts.verdict),
    };
    let mut found = check::check(&evidence, &cases);
    found.extend(plan::unsupported_kernel(&machine.kernel).map(CheckFinding::of));
    if intention.source == Source::Nobody {
        let (level, message) = match intention.unseen.is_empty() {
            true => (
                Level::Error,
                "nobody isolates a CPU here, so there is nothing to check",
            ),
            false => (
                Level::Warning,
                "nobody is seen to isolate a CPU here, and not everything could be seen",
            ),
        };
        found.push(
            CheckFinding::new(level, "nothing-isolated", "CPUs", message)
                .fix("`quietcore plan` proposes CPUs and `quietcore apply` isolates them; --cpus LIST looks at CPUs all the same"),
        );
    }
    let mut unread: Vec<String> = machine
        .unreadable
        .iter()
        .map(|one| format!("{}: {}", one.path, one.why))
        .collect();
    unread.extend(
        verdicts
            .unread
            .into_iter()
            .filter(|line| !unread.contains(line))
            .collect::<Vec<_>>(),
    );
    if root.origin() == Origin::Live && session.standing(&machine).is_none() {
        unread.push(format!(
            "{}: the journal of what was applied is for root alone",
            root::state::RUN_DIR
        ));
    }
    Ok(Examination {
        intention,
        machine,
        found,
        unread,
        cases,
        counters,
        boot: verdicts.verdict,
    })
}

/// With more tasks than this on the CPUs nothing keeps them away, whoever of them has just ended.
const MOST_DOUBTFUL: usize = 500;

/// Looks again at who may run there, before anybody is accused: short-lived processes come and go while all are read.
fn surely(machine: Machine, root: &Root, cpus: &CpuSet) -> Machine {
    let is_doubtful = |task: &Task| {
        let may_run = task
            .allowed
            .as_ref()
            .is_some_and(|allowed| allowed.intersects(cpus));
        may_run && task.is_movable()
    };
    let doubtful = machine
        .tasks
        .iter()
        .flatten()
        .filter(|task| is_doubtful(task))
        .count();
    match doubtful {
        1..=MOST_DOUBTFUL => machine.with_second_look(root, is_doubtful),
        _ => machine,
    }
}

fn unseen(why: &str) -> (Counters, Counted) {
    (Counters::Unseen(why.to_owned()), Counted::nothing(why))
}

/// Every wish with its plan on the machine of now, and what the files of that plan read.
pub fn cases(session: &Session, machine: &Machine, intention: &Intention) -> Vec<Case> {
    let root = session.root();
    cases_from(session, machine, intention, |_, concerned| {
        settings::for_cpus(root, concerned)
    })
}

/// As [`cases`], with the settings that each wish is planned from: those that the knobs of these CPUs need.
pub fn cases_from(
    session: &Session,
    machine: &Machine,
    intention: &Intention,
    settings: impl Fn(&Wish, &CpuSet) -> Settings,
) -> Vec<Case> {
    let root = session.root();
    let in_force: Vec<Intent> = match root.origin() {
        Origin::Live => session.in_force(),
        Origin::Captured => {
            let standing = session.standing(machine).unwrap_or_default();
            standing.into_iter().map(|one| one.intent).collect()
        }
    };
    let case = |wish: &Wish| {
        let concerned = machine.topology.with_siblings(&wish.intent.cpus);
        let mut others = in_force.clone();
        // Its own, under whatever name, is no other one.
        others.retain(|other| !other.cpus.intersects(&wish.intent.cpus));
        let mut case = Case::new(wish.clone(), machine, &settings(wish, &concerned), &others);
        for path in case.paths() {
            let now = match (root.value(&path), root.kind(&path).ok().flatten()) {
                (Ok(Some(now)), _) => Some(now),
                (Err(_), Some(Kind::File)) => {
                    case.unread.push(path);
                    continue;
                }
                // A directory has no value.
                (_, kind) => kind.map(|_| String::new()),
            };
            case.values.insert(path, now);
        }
        case
    };
    intention.wishes.iter().map(case).collect()
}
