//! Measures, predicts, isolates, measures again under load, records what still arrived, undoes, and compares with the state before.
//!
//! A step that fails becomes part of the result. The later steps that are still safe run, and all changes are undone.

mod phase;
mod residue;
mod steps;

use apply::guard::{Guard, GuardTrigger};
use apply::{ApplyOutcome, ApplyRequest, Fingerprint, UndoOutcome, UndoTarget};
use machine::{CpuSet, Machine};
use measure::{Environment, Progress};
use phase::PhaseOptions;
use plan::{Finding, FindingId, Intent, Level, Plan};
use report::prove::{JournalEntry, PROVE_SCHEMA, ProveRecord, RestorationCheck};
use root::{Failure, Status};
use session::isolation::plan_on;
use session::partition::ActivePartition;
use session::{ChangeLock, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steps::Steps;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to prove.
pub struct ProveOptions<'a> {
    /// The machine, with tasks and interrupts.
    pub machine: &'a Machine,
    /// The isolation.
    pub intent: &'a Intent,
    /// Its changes.
    pub plan: &'a Plan,
    /// The CPU expression of the user; `None` where the plan chose the CPUs.
    pub expression: Option<&'a str>,
    /// How long each of the four measurements and the watch take.
    pub each: Duration,
    /// Set by a signal: the steps then end early.
    pub stop: &'a AtomicBool,
}

/// Shows how far a measurement is.
pub trait MeasurementProgress {
    /// A measurement starts.
    fn start(&mut self, name: &str);
    /// Its progress.
    fn show(&mut self, progress: &Progress);
    /// It has ended.
    fn end(&mut self);
}

/// Runs all steps. Whatever the machine does not allow is part of the result.
pub fn prove(session: &Session, options: &ProveOptions, progress: &mut dyn MeasurementProgress) -> ProveRecord {
    let mut run = ProveRun {
        session,
        options,
        story: story(session, options),
        steps: Steps::new(progress),
    };
    session.note(&announcement(&run.story, options));
    run.story.before = Some(run.phase(&PhaseOptions {
        name: "before",
        load_cpus: &options.machine.topology.online,
        partition: None,
    }));
    if !options.stop.load(Ordering::Relaxed)
        && let Err(error) = run.isolate_and_undo()
    {
        run.add_not_isolated(&error);
        run.steps.skip("measure isolated", "the CPUs could not be isolated");
    }
    let mut story = run.story;
    story.steps = run.steps.into_steps();
    conclude(&mut story, options.stop.load(Ordering::Relaxed));
    story
}

fn story(session: &Session, options: &ProveOptions) -> ProveRecord {
    let environment = Environment::of(options.machine, session.root(), VERSION);
    let why = match (options.expression, &options.plan.choice) {
        (Some(expression), _) => format!("from the expression `{expression}`"),
        (None, None) => "chosen".to_owned(),
        (None, Some(choice)) => {
            let reasons = choice.reasons.iter().map(|reason| reason.message.as_str());
            format!("chosen: {}", reasons.collect::<Vec<_>>().join("; "))
        }
    };
    ProveRecord {
        schema: PROVE_SCHEMA.to_owned(),
        tool_version: VERSION.to_owned(),
        started_at: machine::utc_text(session::seconds_now()),
        emulated: environment.emulated,
        environment,
        cpus: options.intent.cpus.clone(),
        cpus_why: why,
        isolated: CpuSet::new(),
        housekeeping: options.plan.housekeeping.clone(),
        steps: Vec::new(),
        before: None,
        during: None,
        prediction: None,
        predicted_isolation: None,
        plan: Some(options.plan.clone()),
        entries: Vec::new(),
        residue: Vec::new(),
        could_not: Vec::new(),
        restored: None,
        verdict: String::new(),
        exit_status: Status::Done.code(),
    }
}

fn announcement(story: &ProveRecord, options: &ProveOptions) -> String {
    format!(
        "quietcore prove: CPU {cpus} ({})\n\
         \x20 1. measure wake-up latency and noise without isolation, and predict what changes would gain\n\
         \x20 2. isolate CPU {cpus}: {} changes, each recorded in the journal first; everything else runs on CPU {housekeeping}\n\
         \x20 3. measure again with load on CPU {housekeeping}\n\
         \x20 4. undo everything and compare\n\
         \x20 about {:.0} s; Ctrl-C at any time undoes everything\n\n",
        story.cpus_why,
        options.plan.changes.len(),
        options.each.as_secs_f64() * 5.0,
        cpus = story.cpus,
        housekeeping = options.plan.housekeeping,
    )
}

/// The steps under way, and the result so far.
struct ProveRun<'a> {
    session: &'a Session,
    options: &'a ProveOptions<'a>,
    story: ProveRecord,
    steps: Steps<'a>,
}

impl ProveRun<'_> {
    /// Isolates, measures, and undoes.
    ///
    /// # Errors
    /// The CPUs could not be isolated.
    fn isolate_and_undo(&mut self) -> Result<(), Failure> {
        let session = self.session;
        let changing = self.steps.run("prepare", || session.lock())?;
        // Planned again under the lock: another quietcore may have changed the machine since it was read.
        session.refresh();
        let machine = session.machine().for_plan(session.root());
        let plan = Plan {
            choice: self.options.plan.choice.clone(),
            ..plan_on(session, &machine, self.options.intent)?
        };
        self.story.plan = Some(plan.clone());
        let before = Fingerprint::take(session.root());
        let guard = self.steps.run("arm the guard", || {
            Guard::arm("/proc/self/exe", &plan.housekeeping, GuardTrigger::Parent)
        })?;
        let token = guard.token();
        let isolated = match self.isolate(&changing, &machine, &plan, token.clone()) {
            Ok(applied) => {
                // Other commands, and guards of other partitions, need not wait for the measurements.
                drop(changing);
                let cpusets = machine.cgroups.cpuset.as_ref();
                let partition = cpusets.map(|set| ActivePartition::of(set, self.options.intent));
                self.measure_isolated(&plan, partition.as_ref(), &applied);
                let undone = self.steps.run("undo", || {
                    session.lock_however_long()?.undo(UndoTarget::Guarded(&token), "prove")
                });
                self.compare(&before, undone);
                Ok(())
            }
            Err(error) => {
                self.set_restored(before.differences(&Fingerprint::take(session.root())));
                Err(error)
            }
        };
        guard.disarm();
        isolated
    }

    fn isolate(
        &mut self,
        changing: &ChangeLock,
        machine: &Machine,
        plan: &Plan,
        token: String,
    ) -> Result<ApplyOutcome, Failure> {
        let intent = self.options.intent;
        let request = ApplyRequest {
            machine,
            intent,
            plan,
            reason: "prove",
            tool: VERSION,
            guard: Some(token),
            stop: self.options.stop,
        };
        self.steps.run("isolate", || {
            let applied = apply::apply(&*changing.host, changing.state(), &request)?;
            match applied.in_force {
                false => Ok(applied),
                // A partition that a user applied on purpose is not undone here.
                true => Err(Failure::conflict(
                    format!("partition {} is already active", intent.name),
                    "prove would have to undo what was applied before",
                    "run `quietcore undo` first, or use another machine",
                )),
            }
        })
    }

    fn measure_isolated(&mut self, plan: &Plan, partition: Option<&ActivePartition>, applied: &ApplyOutcome) {
        self.story.isolated = self.options.intent.cpus.clone();
        self.story.entries = applied.entries.iter().map(entry).collect();
        let findings = applied.findings.iter();
        let findings = findings.filter(|finding| finding.level > Level::Info);
        self.story.could_not.extend(findings.cloned());
        self.story.during = Some(self.phase(&PhaseOptions {
            name: "isolated",
            load_cpus: &plan.housekeeping,
            partition,
        }));
        residue::collect(self.session, &mut self.story, partition, applied);
    }

    fn compare(&mut self, before: &Fingerprint, undone: Result<UndoOutcome, Failure>) {
        let mut differences = match undone {
            Ok(undone) => {
                if !undone.was_in_force {
                    self.story.isolated = CpuSet::new();
                    self.add_not_isolated(&Failure::conflict(
                        "another command has undone the partition",
                        "the CPUs were not isolated until the end of the measurements",
                        "see `quietcore history`, and run `quietcore prove` again",
                    ));
                }
                undone.remains()
            }
            Err(error) => vec![error.reason()],
        };
        let root = self.session.root();
        let compared = self.steps.run("compare with the state before", || {
            Ok::<_, Failure>(before.differences(&Fingerprint::take(root)))
        });
        differences.extend(compared.unwrap_or_default());
        self.set_restored(differences);
    }

    fn set_restored(&mut self, differences: Vec<String>) {
        self.story.restored = Some(RestorationCheck {
            equal: differences.is_empty(),
            differences,
        });
    }

    fn add_not_isolated(&mut self, error: &Failure) {
        self.story.exit_status = error.status.code();
        self.story.could_not.push(
            Finding::new(
                Level::Error,
                FindingId::NOT_ISOLATED,
                self.story.cpus.to_string(),
                error.reason(),
            )
            .fix(error.next.clone()),
        );
    }
}

fn entry(entry: &apply::ChangeEntry) -> JournalEntry {
    JournalEntry {
        seq: entry.seq,
        change: entry.change.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
        outcome: entry.outcome.text(),
    }
}

/// The verdict as text, and the exit status.
fn conclude(story: &mut ProveRecord, interrupted: bool) {
    let equal = story.restored.as_ref().is_none_or(|restored| restored.equal);
    let broken = residue::broken_promises(story);
    if !equal {
        story.exit_status = Status::Conflict.code();
    } else if interrupted || !broken.is_empty() {
        story.exit_status = story.exit_status.max(Status::Failed.code());
    }
    let back = match &story.restored {
        None => "Nothing was changed.".to_owned(),
        Some(restored) if restored.equal => "Everything was undone; the machine is as before.".to_owned(),
        Some(restored) => format!("NOT everything is as before: {}.", restored.differences.join("; ")),
    };
    story.verdict = if interrupted {
        format!("Interrupted. {back}")
    } else if story.isolated.is_empty() {
        let why = story
            .could_not
            .iter()
            .find(|finding| finding.id == FindingId::NOT_ISOLATED);
        let why = why.map_or_else(String::new, |finding| format!(" ({})", finding.message));
        format!("CPU {} could not be isolated{why}. {back}", story.cpus)
    } else if broken.is_empty() {
        format!(
            "CPU {} was isolated as promised: {} {back}",
            story.isolated,
            residue::summary(story)
        )
    } else {
        format!(
            "CPU {} was isolated, but {} remained. {back}",
            story.isolated,
            broken.join("; ")
        )
    };
}
