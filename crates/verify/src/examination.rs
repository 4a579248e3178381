//! Collects everything that `check` examines, once: first the counts, then the tasks.

use crate::boot_verdict::examine_boot_on;
use crate::counting::{self, WindowCounts};
use crate::intention::{self, CheckScope};
use check::{CheckCase, CheckEvidence, CheckFinding, IntendedIsolation, Intention, IntentionSource, ObservedActivity};
use machine::{CpuSet, Machine, Settings, Task};
use plan::boot_check::{BootVerdict, requested_cpus};
use plan::lint::KernelFacts;
use plan::{FindingId, Intent, Level};
use root::{Failure, Origin, PathKind, Root};
use session::Session;
use session::boot_files::BootScene;
use std::time::Duration;

/// What was observed, and the findings.
pub struct Examination {
    /// The intended isolation.
    pub intention: Intention,
    /// The machine.
    pub machine: Machine,
    /// The findings.
    pub found: Vec<CheckFinding>,
    /// What could not be read.
    pub unread: Vec<String>,
    /// Every wish with the changes that it would need now.
    pub cases: Vec<CheckCase>,
    counters: ObservedActivity,
    boot: BootVerdict,
}

impl Examination {
    /// The evidence that the layers examined.
    pub fn evidence(&self) -> CheckEvidence<'_> {
        CheckEvidence {
            machine: &self.machine,
            counters: &self.counters,
            boot: Some(&self.boot),
        }
    }

    /// The length of the counting window; `None` if nothing was counted.
    pub fn window_ns(&self) -> Option<u64> {
        match &self.counters {
            ObservedActivity::Seen(activity) => Some(activity.duration_ns),
            ObservedActivity::Unseen(_) => None,
        }
    }
}

/// Examines everything.
///
/// # Errors
/// CPUs that do not exist, a declaration file or a journal that cannot be parsed.
pub fn examine(scene: &BootScene, scope: &CheckScope, window: Duration) -> Result<Examination, Failure> {
    let (session, root) = (scene.session, scene.root);
    let (counters, counted) = count(session, scope, window)?;
    // Read after the window, to show what arrived on the CPUs during it. Once: on a big machine this takes most of the time.
    let machine = session.machine().with_interrupts(root);
    let mut intention = intention::find(session, &machine, scope)?;
    let of_boot_line = requested_cpus(&scene.running, &KernelFacts::of_machine(&machine));
    let machine = machine
        .with_tasks_on(root, &intention.cpus().or(&of_boot_line))
        .with_task_cgroups(root);
    let machine = match root.origin() {
        Origin::Live => recheck_tasks(machine, root, &intention.cpus()),
        Origin::Captured => machine,
    };
    let verdicts = examine_boot_on(scene, None, &machine, counted)?;
    let cases = cases(session, &machine, &intention);
    let unread_files = cases.iter().flat_map(|case| &case.unread);
    intention
        .unseen
        .extend(unread_files.map(|path| format!("whether {path} has its intended value: it could not be read")));
    let evidence = CheckEvidence {
        machine: &machine,
        counters: &counters,
        boot: Some(&verdicts.verdict),
    };
    let mut found = check::check(&evidence, &cases);
    found.extend(plan::unsupported_kernel(&machine.kernel).map(CheckFinding::of));
    if intention.source == IntentionSource::Nobody {
        found.push(nothing_isolated(&intention));
    }
    Ok(Examination {
        unread: unread(session, &machine, verdicts.unread),
        intention,
        machine,
        found,
        cases,
        counters,
        boot: verdicts.verdict,
    })
}

/// Counts what happens on the CPUs during a window.
fn count(session: &Session, scope: &CheckScope, window: Duration) -> Result<(ObservedActivity, WindowCounts), Failure> {
    match (session.root().origin(), window.is_zero()) {
        (Origin::Captured, _) => return Ok(unseen("a captured machine cannot be observed over time")),
        (Origin::Live, true) => return Ok(unseen("--for 0s checks it without that")),
        (Origin::Live, false) => {}
    }
    let cpus = intention::find(session, &session.machine(), scope)?.cpus();
    if cpus.is_empty() {
        return Ok(unseen("no CPU was given"));
    }
    let (activity, counted) = counting::watch(session, &cpus, window);
    Ok((ObservedActivity::Seen(activity), counted))
}

fn nothing_isolated(intention: &Intention) -> CheckFinding {
    let (level, message) = match intention.unseen.is_empty() {
        true => (
            Level::Error,
            "no CPU is isolated on this machine, so there is nothing to check",
        ),
        false => (
            Level::Warning,
            "no isolated CPU was found, and some files could not be read",
        ),
    };
    let isolate =
        "`quietcore plan` proposes CPUs and `sudo quietcore apply` isolates them; --cpus CPUS checks the CPUs anyway";
    CheckFinding::new(level, FindingId::NOTHING_ISOLATED, "CPUs", message).fix(match level {
        Level::Warning => "`sudo quietcore check` reads everything; --cpus CPUS checks the CPUs anyway",
        _ => isolate,
    })
}

/// What could not be read: of the machine, of the boot line, and the journal.
fn unread(session: &Session, machine: &Machine, of_boot_line: Vec<String>) -> Vec<String> {
    let of_machine = machine.unreadable.iter();
    let mut unread: Vec<String> = of_machine.map(|one| format!("{}: {}", one.path, one.why)).collect();
    let known = unread.len();
    for line in of_boot_line {
        if !unread[..known].contains(&line) {
            unread.push(line);
        }
    }
    if session.root().origin() == Origin::Live && !session.is_journal_readable() {
        unread.push(format!(
            "{}: only root can read the journal of what was applied",
            root::state::RUN_DIR
        ));
    }
    unread
}

/// With more tasks than this on the CPUs, they are not isolated, whichever tasks have just ended.
const MOST_DOUBTFUL: usize = 500;

/// Reads again which tasks may run there before reporting them: short-lived processes start and end during the first read.
fn recheck_tasks(machine: Machine, root: &Root, cpus: &CpuSet) -> Machine {
    let is_doubtful = |task: &Task| {
        let may_run = task.allowed.as_ref().is_some_and(|allowed| allowed.intersects(cpus));
        may_run && task.is_movable()
    };
    let tasks = machine.tasks_that_may_run_on(cpus).unwrap_or_default();
    let doubtful = tasks.into_iter().filter(|task| is_doubtful(task)).count();
    match doubtful {
        1..=MOST_DOUBTFUL => machine.with_recheck(root, is_doubtful),
        _ => machine,
    }
}

fn unseen(why: &str) -> (ObservedActivity, WindowCounts) {
    (ObservedActivity::Unseen(why.to_owned()), WindowCounts::nothing(why))
}

/// Plans every wish on the current machine, with the content of the files that the plan touches.
pub fn cases(session: &Session, machine: &Machine, intention: &Intention) -> Vec<CheckCase> {
    let root = session.root();
    cases_from(session, machine, intention, |_, concerned| {
        machine::settings::for_cpus(root, concerned, plan::knobs::planned())
    })
}

/// As [`cases`], from the settings that the knobs of each wish's CPUs need.
pub fn cases_from(
    session: &Session,
    machine: &Machine,
    intention: &Intention,
    settings: impl Fn(&IntendedIsolation, &CpuSet) -> Settings,
) -> Vec<CheckCase> {
    let root = session.root();
    let in_force: Vec<Intent> = match root.origin() {
        Origin::Live => session.in_force(),
        Origin::Captured => {
            let standing = session.active_partitions(machine);
            let standing = standing.as_deref().unwrap_or_default();
            standing.iter().map(|one| one.intent.clone()).collect()
        }
    };
    let case = |isolation: &IntendedIsolation| {
        let concerned = machine.topology.with_siblings(&isolation.intent.cpus);
        let mut others = in_force.clone();
        // A partition with these CPUs is the wish itself, whatever its name.
        others.retain(|other| !other.cpus.intersects(&isolation.intent.cpus));
        let mut case = CheckCase::new(isolation.clone(), machine, &settings(isolation, &concerned), &others);
        for path in case.paths() {
            let now = match (root.value(&path), root.kind(&path).ok().flatten()) {
                (Ok(Some(now)), _) => Some(now),
                (Err(_), Some(PathKind::File)) => {
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
    intention.isolations.iter().map(case).collect()
}
