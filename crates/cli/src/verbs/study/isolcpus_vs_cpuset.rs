//! `study isolcpus-vs-cpuset`: generates the study of an article and runs it like any other.

use super::options::{LoadPlacement, MeasureSpec, StudyOptions, a_time};
use super::venue_args::VenueArgs;
use super::{consent, outcome_view, show_written};
use crate::flags::value_words;
use ::study::isolcpus_vs_cpuset::{IsolationVariant, Levels, text};
use clap::ValueEnum;
use experiment::{StudyFile, StudyRun};
use measure::MeasurementKind;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `study isolcpus-vs-cpuset`.
#[derive(clap::Args)]
pub struct Args {
    /// CPUs to measure and to isolate
    #[arg(long, value_name = "CPUS")]
    cpus: String,
    /// How to isolate them
    #[arg(
        long,
        value_name = "HOW,...",
        value_delimiter = ',',
        default_value = "none,isolcpus,cpuset"
    )]
    isolation: Vec<IsolationArg>,
    /// Preemption models (preempt= on the boot line); as-it-is keeps that of the kernel
    #[arg(
        long,
        value_name = "MODEL,...",
        value_delimiter = ',',
        default_value = "none,voluntary,full"
    )]
    preemption: Vec<PreemptionArg>,
    /// Also compare these kernels: releases, or paths of images
    #[arg(long, value_name = "KERNEL,...", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Load of the cells that are not idle: kinds such as cpu+io
    #[arg(long, value_name = "KINDS", default_value = "cpu+memory+io")]
    load: String,
    /// Where the load runs
    #[arg(long, value_name = "WHERE", default_value = "others")]
    load_on: LoadPlacement,
    /// How long to measure in each run
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = a_time)]
    each: String,
    /// Runs of each cell
    #[arg(long, value_name = "N", default_value_t = 6)]
    repetitions: usize,
    /// Idle time before each run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = a_time)]
    cool_down: String,
    /// Allow restarts of this machine, as many as the study needs
    #[arg(long)]
    reboot: bool,
    #[command(flatten)]
    options: StudyOptions,
    /// Print the cells, boots, order and duration; run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    venue: VenueArgs,
}

value_words! {
    enum IsolationArg for IsolationVariant {
        /// Not at all
        None,
        /// isolcpus= on the boot line
        Isolcpus,
        /// A partition made at run time
        Cpuset,
        /// isolcpus= and a partition
        Both,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PreemptionArg {
    /// preempt=none
    None,
    /// preempt=voluntary
    Voluntary,
    /// preempt=full
    Full,
    /// As the kernel has it
    AsItIs,
}

/// Runs the command.
///
/// # Errors
/// As `study run`.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let experiment = args.options.experiment(&MeasureSpec {
        what: MeasurementKind::Latency,
        cpus: &args.cpus,
        each: &args.each,
        repetitions: args.repetitions,
        cool_down: &args.cool_down,
        load: &args.load,
        load_on: args.load_on,
    });
    let study = StudyFile::generated(text(&experiment, &levels(args)?))?;
    let file = args.options.file();
    if args.dry_run {
        return show_written(session, study, &file, &args.venue, screen);
    }
    let run = StudyRun {
        study,
        file: &file,
        out: &args.options.out,
        consent: consent(args.reboot),
    };
    experiment::run(session, &args.venue.venue()?, run, &mut |outcome| {
        outcome_view::show(outcome, screen)
    })
}

fn levels(args: &Args) -> Result<Levels, Failure> {
    let model = |model: &PreemptionArg| match model {
        PreemptionArg::None => Some("none"),
        PreemptionArg::Voluntary => Some("voluntary"),
        PreemptionArg::Full => Some("full"),
        PreemptionArg::AsItIs => None,
    };
    let preemptions: Vec<String> = args.preemption.iter().filter_map(model).map(str::to_owned).collect();
    if !preemptions.is_empty() && preemptions.len() < args.preemption.len() {
        return Err(Failure::usage(
            "as-it-is is listed together with other preemption models",
            "it is unknown before the run which of them the kernel has",
            "list the models, or as-it-is alone",
        ));
    }
    Ok(Levels {
        isolations: args.isolation.iter().map(|how| (*how).into()).collect(),
        preemptions,
        kernels: args.kernels.clone(),
    })
}
