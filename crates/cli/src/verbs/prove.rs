//! `prove`: measures, isolates, measures again under load, shows what still arrived, undoes, verifies and reports.

mod phase;
mod residue;
mod steps;

use crate::intent::Wanted;
use crate::result_file::ResultFile;
use apply::guard::{Guard, Watch};
use apply::{Fingerprint, Request, Undone, Which};
use machine::{CpuSet, Machine};
use measure::Environment;
use plan::{Finding, Intent, Level, Plan};
use report::prove::{Entry, PROVE_SCHEMA, Restored, Story};
use root::{Failure, Root, Status};
use session::Session;
use session::isolation::plan_on;
use session::partition::Partition;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steps::Steps;
use terminal::{Form, Screen};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Arguments of `prove`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// How long each of the four measurements takes
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = machine::parse_duration)]
    duration: Duration,
    /// Where the result goes; the page goes beside it as .html
    #[arg(long, value_name = "FILE", default_value = "prove.json")]
    out: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// Wrong usage, and result files that cannot be written. Steps that the machine does not allow are part of the report.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let stop = session::stop_flag();
    if args.duration < Duration::from_millis(100) {
        return Err(Failure::usage(
            "--for is too short",
            "nothing can be seen in less than 100ms",
            "use 5s",
        ));
    }
    // Before anything else: an error about a missing directory must not come after half a minute.
    let kept = ResultFile::at(&args.out)?;
    let root = session.root();
    let machine = session.machine().with_tasks_and_interrupts(root);
    let (intent, plan) = args.wanted.plan(session, &machine)?;
    let mut story = begin(args, root, &machine, &intent, &plan);
    announce(&story, &plan, args.duration, screen);

    let mut steps = Steps::new(screen.volume);
    tell(
        session,
        &mut story,
        &mut steps,
        &machine,
        &intent,
        &plan,
        args.duration,
        stop,
    );
    story.steps = steps.into_steps();
    conclude(&mut story, stop.load(Ordering::Relaxed));

    let json = story.json().map_err(|error| {
        Failure::new(
            Status::Bug,
            "the result is no JSON",
            error.to_string(),
            "please report this as a bug",
        )
    })?;
    root::output::write(&args.out, &json)?;
    if let Some(page) = kept.page() {
        root::output::write(page, report::prove::prove_html(&story).as_bytes())?;
    }
    match screen.form {
        Form::Json => screen.json(&story),
        Form::Text => {
            screen.text(&report::prove::prove_text(&story, screen.style()));
            let page = kept.page().map(|page| format!("The page: {}   ", page.display()));
            screen.text(&format!(
                "\n{}the numbers: {}\n",
                page.unwrap_or_default(),
                args.out.display()
            ));
        }
    }
    Ok(Status::Program(story.exit_status))
}

fn begin(args: &Args, root: &Root, machine: &Machine, intent: &Intent, plan: &Plan) -> Story {
    let environment = Environment::of(machine, root, VERSION);
    let why = match (&args.wanted.cpus, &plan.choice) {
        (Some(expression), _) => format!("asked for as `{expression}`"),
        (None, None) => "chosen".to_owned(),
        (None, Some(choice)) => {
            let reasons: Vec<&str> = choice
                .reasons
                .iter()
                .map(|reason| reason.message.as_str())
                .collect();
            format!("chosen: {}", reasons.join("; "))
        }
    };
    Story {
        schema: PROVE_SCHEMA.to_owned(),
        tool_version: VERSION.to_owned(),
        started_at: machine::utc_text(session::seconds_now()),
        emulated: environment.emulated,
        environment,
        cpus: intent.cpus.clone(),
        cpus_why: why,
        isolated: CpuSet::new(),
        housekeeping: plan.housekeeping.clone(),
        steps: Vec::new(),
        before: None,
        during: None,
        plan: Some(plan.clone()),
        entries: Vec::new(),
        residue: Vec::new(),
        could_not: Vec::new(),
        restored: None,
        verdict: String::new(),
        exit_status: Status::Done.code(),
    }
}

fn announce(story: &Story, plan: &Plan, each: Duration, screen: &mut Screen) {
    let total = each.as_secs_f64() * 4.0;
    screen.note(&format!(
        "quietcore prove: CPU {} ({})\n\
         \x20 1. measure wake-up latency and noise as the machine is\n\
         \x20 2. isolate CPU {}: {} changes, each journalled first; CPU {} keeps everything else\n\
         \x20 3. measure again with load on CPU {}\n\
         \x20 4. take everything back and compare\n\
         \x20 about {total:.0} s; Ctrl-C at any time takes everything back\n\n",
        story.cpus,
        story.cpus_why,
        story.cpus,
        plan.changes.len(),
        plan.housekeeping,
        plan.housekeeping,
    ));
}

/// Runs all steps on the machine. If a step fails, the later steps that are still safe run, and all changes are undone.
#[allow(clippy::too_many_arguments)]
fn tell(
    session: &Session,
    story: &mut Story,
    steps: &mut Steps,
    machine: &Machine,
    intent: &Intent,
    plan: &Plan,
    each: Duration,
    stop: &AtomicBool,
) {
    let root = session.root();
    let setting = phase::Setting {
        cpus: &intent.cpus,
        environment: &story.environment.clone(),
        each,
        stop,
    };
    story.before = Some(phase::measure(
        session,
        &setting,
        steps,
        "before",
        &machine.topology.online,
        None,
        &mut story.could_not,
    ));
    if stop.load(Ordering::Relaxed) {
        return;
    }
    let changing = match steps.take("prepare", || session.lock()) {
        Ok(changing) => changing,
        Err(error) => return could_not(story, steps, &error),
    };
    // Planned again under the lock: another quietcore may have changed the machine since it was read.
    session.refresh();
    let machine = &session.machine().with_tasks_and_interrupts(root);
    let plan = &match plan_on(session, machine, intent) {
        Ok(again) => Plan {
            choice: plan.choice.clone(),
            ..again
        },
        Err(refusal) => return could_not(story, steps, &refusal.into()),
    };
    story.plan = Some(plan.clone());
    let before = Fingerprint::take(root);
    let guard = match steps.take("arm the guard", || {
        Guard::arm("/proc/self/exe", &plan.housekeeping, Watch::Parent).map_err(Failure::from)
    }) {
        Ok(guard) => guard,
        Err(error) => return could_not(story, steps, &error),
    };
    let request = Request {
        machine,
        intent,
        plan,
        reason: "prove",
        tool: VERSION,
        guard: Some(guard.token()),
        stop,
    };
    let applied = steps.take("isolate", || {
        let applied = apply::apply(&changing.host, changing.state(), &request)?;
        match applied.in_force {
            false => Ok(applied),
            // A partition that a user applied on purpose is not undone here.
            true => Err(Failure::new(
                Status::Conflict,
                format!("partition {} is in force already", intent.name),
                "prove would have to take back what was applied before",
                "run `quietcore undo` first, or use another machine",
            )),
        }
    });
    match applied {
        Ok(applied) => {
            story.isolated = intent.cpus.clone();
            story.entries = applied.entries.iter().map(entry).collect();
            story.could_not.extend(
                applied
                    .findings
                    .iter()
                    .filter(|finding| finding.level > Level::Info)
                    .cloned(),
            );
            let partition = machine
                .cgroups
                .cpuset
                .as_ref()
                .map(|set| Partition::of(set, intent));
            // Other commands, and guards of other partitions, need not wait for the measurements.
            drop(changing);
            let findings = &mut story.could_not;
            story.during = Some(phase::measure(
                session,
                &setting,
                steps,
                "isolated",
                &plan.housekeeping,
                partition.as_ref(),
                findings,
            ));
            residue::collect(session, story, partition.as_ref(), &applied);
            let token = guard.token();
            let undone = steps.take("undo", || {
                session.lock_however_long()?.undo(Which::Guarded(&token), "prove")
            });
            restored(story, steps, root, &before, undone);
        }
        Err(error) => {
            let differences = before.differences(&Fingerprint::take(root));
            story.restored = Some(Restored {
                equal: differences.is_empty(),
                differences,
            });
            could_not(story, steps, &error);
        }
    }
    guard.disarm();
}

fn restored(
    story: &mut Story,
    steps: &mut Steps,
    root: &Root,
    before: &Fingerprint,
    undone: Result<Undone, Failure>,
) {
    let mut differences = match undone {
        Ok(undone) => {
            if !undone.was_in_force {
                story.isolated = CpuSet::new();
                not_isolated(story, &undone_by_another());
            }
            undone.remains()
        }
        Err(error) => vec![format!("{}: {}", error.what, error.why)],
    };
    let compared = steps.take("compare with the state before", || {
        Ok::<_, Failure>(before.differences(&Fingerprint::take(root)))
    });
    differences.extend(compared.unwrap_or_default());
    story.restored = Some(Restored {
        equal: differences.is_empty(),
        differences,
    });
}

fn entry(entry: &apply::Entry) -> Entry {
    Entry {
        seq: entry.seq,
        change: entry.change.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
        outcome: entry.outcome.text(),
    }
}

fn undone_by_another() -> Failure {
    Failure::new(
        Status::Conflict,
        "another command has undone the partition",
        "the isolated measurements were not isolated to their end",
        "see `quietcore history`, and run `quietcore prove` again",
    )
}

fn could_not(story: &mut Story, steps: &mut Steps, error: &Failure) {
    not_isolated(story, error);
    steps.skip("measure isolated", "the CPUs could not be isolated");
}

fn not_isolated(story: &mut Story, error: &Failure) {
    story.exit_status = error.status.code();
    story.could_not.push(
        Finding::new(
            Level::Error,
            "not-isolated",
            story.cpus.to_string(),
            format!("{}: {}", error.what, error.why),
        )
        .fix(error.next.clone()),
    );
}

/// The verdict as text, and the exit status.
fn conclude(story: &mut Story, interrupted: bool) {
    let equal = story.restored.as_ref().is_none_or(|restored| restored.equal);
    let broken = residue::broken_promises(story);
    if !equal {
        story.exit_status = Status::Conflict.code();
    } else if interrupted || !broken.is_empty() {
        story.exit_status = story.exit_status.max(Status::Failed.code());
    }
    let back = match &story.restored {
        None => "Nothing was changed.".to_owned(),
        Some(restored) if restored.equal => "Everything was taken back; the machine is as before.".to_owned(),
        Some(restored) => format!(
            "NOT everything is as before: {}.",
            restored.differences.join("; ")
        ),
    };
    story.verdict = if interrupted {
        format!("Interrupted. {back}")
    } else if story.isolated.is_empty() {
        let why = story
            .could_not
            .iter()
            .find(|finding| finding.id == "not-isolated");
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
