//! `study`: repeats the same measurement over a matrix of isolations, loads and knobs in random order, on this machine, in
//! virtual machines or on another machine.

mod isolcpus_vs_cpuset;
mod options;
pub(crate) mod outcome_view;
mod report;
mod venue_args;
mod which_knob;

use clap::{Subcommand, ValueEnum};
use experiment::{BoardRole, Consent, StudyFile, StudyPlan, StudyRun, repetition_text};
use machine::duration_text;
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use std::path::{Path, PathBuf};
use terminal::Screen;
use venue_args::VenueArgs;

/// An example of a study file, for the help.
const STUDY_FILE: &str = "A study file:\n  \
    repetitions = 6\n  \
    cool_down = \"1s\"            # also: seed, budget = \"30min\", load_on = \"others\"\n  \
    [measure]\n  \
    what = \"latency\"            # noise, all\n  \
    cpus = \"3\"\n  \
    for = \"10s\"                 # also: policy, interval\n  \
    [axes]\n  \
    isolation = [\"none\", \"balanced\", \"own\"]  # also minimal, strict\n  \
    # on the boot line: \"isolcpus\", \"isolcpus_and_cpuset\"\n  \
    load = [\"idle\", \"cpu+memory\"]\n  \
    # knob = [\"timer_migration\"]  # each one off and on, where every level isolates\n  \
    # kernel = [...]  # names of kernels\n  \
    # preemption = [\"none\", \"voluntary\", \"full\"]  # preempt= on the boot line\n  \
    [isolation.own]\n  \
    profile = \"strict\"\n  \
    without = [\"scaling_governor\"]\n  \
    # boot = [\"nohz_full={cpus}\"]  # parameters of the boot line\n  \
    # profile = \"none\" makes no partition beside them";

/// Arguments of `study`.
#[derive(clap::Args)]
#[command(after_long_help = STUDY_FILE)]
pub struct Args {
    #[command(subcommand)]
    what: StudyCommand,
}

#[derive(Subcommand)]
enum StudyCommand {
    /// List the cells of a study, their order, duration and obstacles; run nothing
    Plan {
        /// The study file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        venue: VenueArgs,
    },
    /// Run a study, or what is left of it; each run restores the machine
    Run {
        /// The study file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Write the results to DIR/CELL/N.json; existing results of the study are not measured again
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Allow restarts of this machine, as many as the study needs
        #[arg(long)]
        reboot: bool,
        #[command(flatten)]
        venue: VenueArgs,
    },
    #[command(hide = true)]
    InGuest,
    #[command(hide = true)]
    OnBoard {
        #[arg(value_enum)]
        role: RoleWord,
    },
    /// Continue a study that restarts this machine; its unit runs this after each boot
    Resume,
    /// Find out which knobs of a plan help: each alone, and the plan without each
    #[command(name = "which-knob")]
    WhichKnob(Box<which_knob::Args>),
    /// Compare isolcpus with a cpuset partition: idle and loaded, per preemption model
    #[command(name = "isolcpus-vs-cpuset")]
    IsolcpusVsCpuset(Box<isolcpus_vs_cpuset::Args>),
    /// Report what the results in a directory show, also before all are measured
    Report(report::Args),
}

/// What this program does on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleWord {
    /// Hands out what a study says.
    Follow,
    /// Runs it.
    Conduct,
}

/// JSON of `study plan`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PlanReport<'a> {
    schema: &'static str,
    /// Names of the cells.
    cells: Vec<&'a str>,
    /// Names of the cells in the order in which they run, one list per repetition.
    order: &'a [Vec<String>],
    /// Number of runs.
    runs: usize,
    /// Restarts between the runs; a physical machine restarts once more at the end.
    restarts: usize,
    /// Estimated.
    seconds: u64,
    /// What the user should know before it runs.
    notes: &'a [String],
}

/// Runs the command.
///
/// # Errors
/// A study that is wrong or impossible here, a directory of another study, or a failed run.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    match &args.what {
        StudyCommand::Plan { file, venue } => show_written(session, StudyFile::read(file)?, file, venue, screen),
        StudyCommand::Run {
            file,
            out,
            reboot,
            venue,
        } => {
            let study = StudyFile::read(file)?;
            let run = StudyRun {
                study,
                file,
                out,
                consent: consent(*reboot),
            };
            experiment::run(session, &venue.venue()?, run, &mut |outcome| {
                outcome_view::show(outcome, screen)
            })
        }
        StudyCommand::IsolcpusVsCpuset(args) => isolcpus_vs_cpuset::run(args, session, screen),
        StudyCommand::InGuest => experiment::run_in_guest(session),
        StudyCommand::OnBoard { role } => on_board(session, *role, screen),
        StudyCommand::Resume => resume(session, screen),
        StudyCommand::WhichKnob(args) => which_knob::run(args, session, screen),
        StudyCommand::Report(args) => report::run(args, session, screen),
    }
}

fn consent(reboot: bool) -> Consent {
    if reboot { Consent::Given } else { Consent::Missing }
}

fn on_board(session: &Session, role: RoleWord, screen: &mut Screen) -> Result<Status, Failure> {
    let role = match role {
        RoleWord::Follow => BoardRole::Follow,
        RoleWord::Conduct => BoardRole::Run,
    };
    experiment::on_board(session, role, &mut std::io::stdout(), &mut |outcome| {
        outcome_view::show(outcome, screen);
    })
}

fn resume(session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let status = experiment::resume(session, &mut |outcome| outcome_view::show(outcome, screen))?;
    Ok(status.unwrap_or_else(|| {
        screen.text("No study is running here.\n");
        Status::Done
    }))
}

/// Prints the plan of a study for the machine where it will run.
fn show_written(
    session: &Session,
    study: StudyFile,
    file: &Path,
    venue: &VenueArgs,
    screen: &mut Screen,
) -> Result<Status, Failure> {
    show_plan(&experiment::plan(session, study, file, &venue.venue()?)?, screen);
    Ok(Status::Done)
}

/// Prints the plan of a study, with the needs of its boots.
fn show_plan(plan: &StudyPlan, screen: &mut Screen) {
    let (record, study) = (plan.record(), &plan.forecast.study);
    let (runs, remaining) = (plan.schedule.order().len(), plan.schedule.remaining());
    screen.json(&PlanReport {
        schema: "quietcore.study-plan/1",
        cells: study.cells.iter().map(|cell| cell.name.as_str()).collect(),
        order: &record.order,
        runs,
        restarts: plan.schedule.boot_sessions_left(),
        seconds: remaining.as_secs(),
        notes: &plan.notes,
    });
    let mut text = format!(
        "measure {} on CPU {} for {} in each of {runs} runs: {} cells, {} each; about {} in all\n",
        study.what.word(),
        plan.forecast.cpus,
        duration_text(study.each),
        study.cells.len(),
        repetition_text(study.repetitions),
        duration_text(remaining),
    );
    for (place, block) in record.order.iter().enumerate() {
        text.push_str(&format!("  {:>3}  {}\n", place + 1, block.join("  ")));
    }
    text.push_str(&plan.boots);
    text.extend(plan.notes.iter().map(|note| format!("note: {note}\n")));
    screen.text(&text);
}
