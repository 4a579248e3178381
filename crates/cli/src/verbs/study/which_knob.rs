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
    /// CPUs to measure, and to isolate in all cells but one
    #[arg(long, value_name = "CPUS")]
    cpus: String,
    /// Profile whose knobs are tested, as in `apply` [default: balanced]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileWord>,
    /// Also use this knob, such as stat_interval=60 (repeatable)
    #[arg(long, value_name = "KNOB[=VALUE]")]
    with: Vec<String>,
    /// Do not use this knob of the profile (repeatable)
    #[arg(long, value_name = "KNOB")]
    without: Vec<String>,
    /// Test only these knobs; the others stay in the plan
    #[arg(long, value_name = "KNOB,...", value_delimiter = ',')]
    knobs: Option<Vec<String>>,
    /// What each run measures
    #[arg(long, value_name = "WHAT", default_value = "latency")]
    measure: QuestionArg,
    /// How long to measure in each run
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = a_time)]
    each: String,
    /// Runs of each cell [default: enough to show a difference over all knobs]
    #[arg(long, value_name = "N")]
    repetitions: Option<usize>,
    /// Load during the measurement: idle, or kinds such as cpu+io
    #[arg(long, value_name = "KINDS", default_value = "idle")]
    load: String,
    /// Where the load runs
    #[arg(long, value_name = "WHERE", default_value = "everywhere")]
    load_on: LoadPlacement,
    /// Idle time before each run
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = a_time)]
    cool_down: String,
    #[command(flatten)]
    options: StudyOptions,
    /// Predict each cell from a watch before the runs, and show that beside the results; needs --measure noise
    #[arg(long)]
    predict: bool,
    /// Print the cells, their order and duration; run nothing
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
            is_predicted: self.predict,
        }
    }
}
