//! `study`: the same measurement over a matrix of isolations, loads and knobs, repeated in random order, on this machine,
//! in virtual machines or on another machine.

mod child;
mod conduct;
mod cooling;
mod directory;
mod foresee;
mod hearing;
mod in_guest;
mod isolcpus_vs_cpuset;
mod options;
mod outcome;
pub(crate) mod reboots;
mod remote;
mod report;
pub mod task;
mod vm;
mod which_knob;

use crate::{CommandError, Screen, Status};
use ::study::{Record, Schedule};
use clap::Subcommand;
use directory::Directory;
use foresee::{Foreseen, Written};
use reboots::Consent;
use root::state::Lock;
use serde::Serialize;
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use terminal::Form;
use vm::Where;

const EXAMPLES: &str = "A study file:\n  \
    repetitions = 6\n  \
    cool_down = \"1s\"            # also: seed, budget = \"30min\", load_on = \"others\"\n  \
    [measure]\n  \
    what = \"latency\"            # noise, all\n  \
    cpus = \"3\"\n  \
    for = \"10s\"                 # also: policy, interval\n  \
    [axes]\n  \
    isolation = [\"none\", \"balanced\", \"own\"]   # minimal, strict; on the boot line: isolcpus, isolcpus_and_cpuset\n  \
    load = [\"idle\", \"cpu+memory\"]\n  \
    # knob = [\"timer_migration\"]   # each one off and on, where every level isolates\n  \
    # preemption = [\"none\", \"voluntary\", \"full\"]   # preempt= on the boot line; kernel = [...] names kernels\n  \
    [isolation.own]\n  \
    profile = \"strict\"\n  \
    without = [\"scaling_governor\"]\n  \
    # boot = [\"nohz_full={cpus}\"]   # words of the boot line; profile = \"none\" makes no partition beside them\n\n\
    Then:\n  \
    quietcore study plan study.toml\n  \
    quietcore study run study.toml --out results     # the same again goes on where it stopped\n  \
    quietcore compare results/none-idle results/balanced-idle\n\n\
    In virtual machines, one for each boot:\n  \
    quietcore study run study.toml --out results --in vm --kernel /boot/vmlinuz-6.1.0-56-amd64\n\n\
    On another machine, over ssh:\n  \
    quietcore study run study.toml --out results --on root@board --binary quietcore-aarch64\n\n\
    Which knobs of a plan help:\n  \
    quietcore study which-knob --cpus 3 --load cpu+io --out knobs --dry-run";

/// Arguments of `study`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Say which cells a file makes, in which order they run, how long that takes and what is impossible; runs nothing
    Plan {
        /// The study
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        vm: vm::Args,
    },
    /// Run it, or what is left of it; after every run the machine is as before
    Run {
        /// The study
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Where the results go: DIR/CELL/N.json. What is there of the same study is not run again
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// This machine may be restarted, as often as the study needs boots
        #[arg(long)]
        reboot: bool,
        #[command(flatten)]
        vm: vm::Args,
    },
    #[command(hide = true)]
    InGuest,
    #[command(hide = true)]
    OnBoard {
        #[arg(value_enum)]
        role: remote::Role,
    },
    /// Go on with a study that restarts this machine: what its unit calls after each boot
    Resume,
    /// Find out which knobs of a plan help this machine: each alone, and the plan without each
    #[command(name = "which-knob")]
    WhichKnob(Box<which_knob::Args>),
    /// Hold isolcpus against a cpuset partition, idle and loaded, under several models of preemption, as an article did
    #[command(name = "isolcpus-vs-cpuset")]
    IsolcpusVsCpuset(Box<isolcpus_vs_cpuset::Args>),
    /// Say what the results in a directory show, also while some are missing
    Report(report::Args),
}

/// JSON of `study plan`.
#[derive(Serialize)]
struct PlanReport<'a> {
    schema: &'static str,
    cells: Vec<&'a str>,
    order: &'a [Vec<String>],
    runs: usize,
    /// Restarts between the runs; on a machine of its own there is one more at the end.
    restarts: usize,
    /// About.
    seconds: u64,
    notes: Vec<String>,
}

/// Where the lock of studies is: two at once would measure each other.
const LOCK: &str = "study";

/// Runs it.
///
/// # Errors
/// A study that is wrong or impossible here, a directory of something else, a run that failed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    match &args.what {
        What::Plan { file, vm } => {
            show_written(session, foresee::study(file)?, file, vm, screen)?;
            Ok(Status::Done)
        }
        What::Run {
            file,
            out,
            reboot,
            vm,
        } => {
            let consent = if *reboot { Consent::Given } else { Consent::Missing };
            run_written(session, foresee::study(file)?, file, out, vm, consent, screen)
        }
        What::IsolcpusVsCpuset(args) => isolcpus_vs_cpuset::run(args, session, screen),
        What::InGuest => in_guest::run(session, screen),
        What::OnBoard { role } => remote::on_board(session, *role, screen),
        What::Resume => resume(session, screen),
        What::WhichKnob(args) => which_knob::run(args, session, screen),
        What::Report(args) => report::run(args, session, screen),
    }
}

/// Says what a study makes where it is to run.
fn show_written(
    session: &Session,
    written: Written,
    file: &Path,
    vm: &vm::Args,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    match vm.place()? {
        Where::Here => plan(session, &Foreseen::of(session, written, file)?, screen),
        Where::Vm => vm::plan(written, file, vm, screen)?,
        Where::Board => return Err(remote::no_plan()),
    }
    Ok(())
}

/// Runs what is left of a study where it is to run.
fn run_written(
    session: &Session,
    written: Written,
    file: &Path,
    out: &Path,
    vm: &vm::Args,
    consent: Consent,
    screen: &mut Screen,
) -> Result<Status, CommandError> {
    let stop = session::stop_flag();
    match vm.place()? {
        Where::Here => carry_out(session, out, consent, stop, screen, || {
            Foreseen::of(session, written, file)
        }),
        Where::Vm => vm::carry_out(session, written, file, out, vm, stop, screen),
        Where::Board => remote::carry_out(session, &written, out, &vm.board, consent, stop, screen),
    }
}

/// Says what a study makes on this machine.
fn plan(session: &Session, foreseen: &Foreseen, screen: &mut Screen) {
    let schedule = Schedule::new(&foreseen.study, []);
    let here = reboots::impossible(session, foreseen);
    let mut notes = foreseen.notes.clone();
    notes.extend(
        here.iter()
            .chain(&reboots::kernels_not_started(session, foreseen))
            .map(|why| format!("not possible on this machine: {why}")),
    );
    show(
        foreseen,
        &schedule,
        &reboots::text(foreseen, &schedule),
        notes,
        screen,
    );
}

/// `once`, `4 times`.
fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Says what a study makes, with what its boots ask for.
fn show(foreseen: &Foreseen, schedule: &Schedule, boots: &str, notes: Vec<String>, screen: &mut Screen) {
    let (record, study) = (record(foreseen), &foreseen.study);
    match screen.form {
        Form::Json => screen.json(&PlanReport {
            schema: "quietcore.study-plan/1",
            cells: study.cells.iter().map(|cell| cell.name.as_str()).collect(),
            order: &record.order,
            runs: schedule.order().len(),
            restarts: schedule.sittings_left(),
            seconds: schedule.remaining().as_secs(),
            notes,
        }),
        Form::Text => {
            let mut text = format!(
                "measure {} on CPU {} for {} in each of {} runs: {} cells, {} each; about {} in all\n",
                study.what.word(),
                foreseen.cpus,
                about(study.each),
                schedule.order().len(),
                study.cells.len(),
                times(study.repetitions),
                about(schedule.remaining()),
            );
            for (place, block) in record.order.iter().enumerate() {
                text.push_str(&format!("  {:>3}  {}\n", place + 1, block.join("  ")));
            }
            text.push_str(boots);
            text.extend(notes.iter().map(|note| format!("note: {note}\n")));
            screen.text(&text);
        }
    }
}

/// Goes on with the study that restarts this machine. Where that is impossible it is ended: nobody may be there to do it.
fn resume(session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    refuse_others()?;
    let stop = session::stop_flag();
    let _lock = lock(session)?;
    let Some(under_way) = reboots::under_way(session)? else {
        screen.text("No study is under way here.\n");
        return Ok(Status::Done);
    };
    let out = PathBuf::from(under_way.out);
    let file = out.join("study.toml");
    let gone_on = foresee::study(&file).and_then(|written| {
        go_on(session, &out, Consent::Given, stop, screen, || {
            match written.study().names_kernels() {
                // What another kernel can do is not seen under this one: each boot finds it out.
                true => Foreseen::unjudged(session, written, &file),
                false => Foreseen::of(session, written, &file),
            }
        })
    });
    gone_on.inspect_err(|_| reboots::end(session, screen))
}

/// Runs what is left of a study.
fn carry_out(
    session: &Session,
    out: &Path,
    consent: Consent,
    stop: &AtomicBool,
    screen: &mut Screen,
    foresee: impl FnOnce() -> Result<Foreseen, CommandError>,
) -> Result<Status, CommandError> {
    refuse_others()?;
    let _lock = lock(session)?;
    go_on(session, out, consent, stop, screen, foresee)
}

fn refuse_others() -> Result<(), CommandError> {
    match root::process::ids().0 {
        0 => Ok(()),
        _ => Err(CommandError::new(
            Status::Denied,
            "a study isolates CPUs and takes that back",
            "only root may do that",
            "run it as root; `quietcore study plan`, and `which-knob --dry-run`, need no rights",
        )),
    }
}

/// One study at a time.
fn lock(session: &Session) -> Result<Lock, CommandError> {
    session
        .made_state_in(LOCK)?
        .lock(Duration::from_secs(2))
        .map_err(|error| CommandError {
            status: Status::Conflict,
            next: "wait until the other study has ended: two at once would measure each other".to_owned(),
            ..error.into()
        })
}

/// What the study is held against is the machine without what a study that was killed left.
fn go_on(
    session: &Session,
    out: &Path,
    consent: Consent,
    stop: &AtomicBool,
    screen: &mut Screen,
    foresee: impl FnOnce() -> Result<Foreseen, CommandError>,
) -> Result<Status, CommandError> {
    if let Some(note) = conduct::take_back_leftover(session)? {
        screen.note(&note);
    }
    let foreseen = foresee()?;
    reboots::admit(session, &foreseen, out, consent)?;
    screen.note(&foreseen.notes_text());
    let mut record = record(&foreseen);
    if reboots::under_way(session)?.is_some()
        && let Some(begun) = directory::begun(out, &foreseen.study, &foreseen.bytes)?
    {
        // What runs now may be there by mistake, which every boot is asked for: it is not what the study began with.
        record.kernel = begun.kernel;
    }
    let directory = Directory::open(out, &foreseen, record)?;
    let mut schedule = Schedule::new(&foreseen.study, directory.done()?);
    if schedule.done() > 0 {
        screen.note(&format!(
            "{} of {} runs are there already\n",
            schedule.done(),
            schedule.order().len()
        ));
    }
    screen.note(&format!(
        "{} cells, {} each; about {} left in all\n",
        foreseen.study.cells.len(),
        times(foreseen.study.repetitions),
        about(schedule.remaining())
    ));
    if foreseen.study.needs_boots() {
        let gone_on = reboots::go_on(session, &foreseen, out, &directory, &mut schedule, stop, screen);
        return gone_on.inspect_err(|_| reboots::end(session, screen));
    }
    let ending = conduct::conduct(
        session,
        &foreseen,
        &directory,
        &mut schedule,
        conduct::Bounds {
            within: None,
            budget: foreseen.study.budget,
        },
        stop,
        screen,
    )?;
    let left = schedule.order().len() - schedule.done();
    let next = format!("{left} runs are left; the same command goes on with them\n");
    match ending {
        conduct::Ending::Done => {
            outcome::Outcome::of(&directory)?.show(screen);
            Ok(Status::Done)
        }
        conduct::Ending::Interrupted => {
            screen.note(&format!("interrupted; the machine is as before; {next}"));
            Ok(Status::Failed)
        }
        conduct::Ending::BudgetUsed => {
            screen.note(&format!("the next run would not fit into the budget; {next}"));
            Ok(Status::Failed)
        }
    }
}

fn record(foreseen: &Foreseen) -> Record {
    Record::new(
        &foreseen.study,
        &foreseen.machine,
        &foreseen.cpus,
        env!("CARGO_PKG_VERSION"),
    )
}

/// A time for people, rounded up.
fn about(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1_000);
    match seconds {
        0 => "no time".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}
