//! `study which-knob`: finds which knobs of a partition's plan help this machine.

use super::options::{LoadPlacement, MeasureSpec, StudyOptions, a_time};
use super::{outcome_view, show_plan};
use crate::flags::value_words;
use crate::intent::ProfileWord;
use experiment::WhichKnobOptions;
use measure::MeasurementKind;
use plan::Profile;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `study which-knob`.
#[derive(clap::Args)]
pub struct Args {
    /// CPUs that are measured, and isolated in all cells but one
    #[arg(long, value_name = "LIST")]
    cpus: String,
    /// The plan whose knobs are asked about, as `apply` takes it [default: balanced]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileWord>,
    /// Take this knob too. May be repeated
    #[arg(long, value_name = "KNOB[=VALUE]")]
    with: Vec<String>,
    /// Leave this knob of the profile out. May be repeated
    #[arg(long, value_name = "KNOB")]
    without: Vec<String>,
    /// Ask about these knobs only; the others stay in the plan
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',')]
    knobs: Option<Vec<String>>,
    /// What each run measures
    #[arg(long, value_name = "WHAT", default_value = "latency")]
    measure: QuestionArg,
    /// How long each run measures
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = a_time)]
    each: String,
    /// How often each cell is run; without this, enough to show a difference over all knobs
    #[arg(long, value_name = "N")]
    repetitions: Option<usize>,
    /// What runs beside it: idle, or kinds of load with + between them
    #[arg(long, value_name = "KINDS", default_value = "idle")]
    load: String,
    /// Where the load runs: everywhere, where isolation keeps it away from the measured CPUs, or on the others only
    #[arg(long, value_name = "WHERE", default_value = "everywhere")]
    load_on: LoadPlacement,
    /// How long the machine is left alone before each run
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = a_time)]
    cool_down: String,
    #[command(flatten)]
    options: StudyOptions,
    /// Say the cells, their order and the time that they take; runs nothing
    #[arg(long)]
    dry_run: bool,
}

value_words! {
    enum QuestionArg for MeasurementKind {
        /// Wake-up latency
        Latency,
        /// Gaps in a busy loop
        Noise,
        /// Both at once
        All,
    }
}

/// Runs the command.
///
/// # Errors
/// As `study run`, and knobs that are unknown or cannot be tested.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let options = args.options();
    if args.dry_run {
        show_plan(&experiment::plan_which_knob(session, &options)?, screen);
        return Ok(Status::Done);
    }
    experiment::run_which_knob(session, &options, &mut |outcome| {
        outcome_view::show(outcome, screen);
    })
}

impl Args {
    fn options(&self) -> WhichKnobOptions {
        let experiment = self.options.experiment(&MeasureSpec {
            what: self.measure.into(),
            cpus: &self.cpus,
            each: &self.each,
            repetitions: self.repetitions.unwrap_or_default(),
            cool_down: &self.cool_down,
            load: &self.load,
            load_on: self.load_on,
        });
        WhichKnobOptions {
            profile: self.profile.map_or(Profile::Balanced, Into::into),
            with: self.with.clone(),
            without: self.without.clone(),
            knobs: self.knobs.clone(),
            repetitions: self.repetitions,
            experiment,
            out: self.options.out.clone(),
        }
    }
}
