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
    /// CPUs that are measured, and isolated
    #[arg(long, value_name = "LIST")]
    cpus: String,
    /// How they are isolated
    #[arg(
        long,
        value_name = "HOW,...",
        value_delimiter = ',',
        default_value = "none,isolcpus,cpuset"
    )]
    isolation: Vec<IsolationArg>,
    /// Models of preemption (preempt= on the boot line); as-it-is is that of the kernel
    #[arg(
        long,
        value_name = "MODEL,...",
        value_delimiter = ',',
        default_value = "none,voluntary,full"
    )]
    preemption: Vec<PreemptionArg>,
    /// Several kernels as a further axis: releases, or paths of images
    #[arg(long, value_name = "KERNEL,...", value_delimiter = ',')]
    kernels: Vec<String>,
    /// What runs beside the measurement where it is not idle: kinds of load with + between them
    #[arg(long, value_name = "KINDS", default_value = "cpu+memory+io")]
    load: String,
    /// Where that runs: never on the measured CPUs, or everywhere, from where isolation keeps it away
    #[arg(long, value_name = "WHERE", default_value = "others")]
    load_on: LoadPlacement,
    /// How long each run measures
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = a_time)]
    each: String,
    /// How often each cell is run
    #[arg(long, value_name = "N", default_value_t = 6)]
    repetitions: usize,
    /// How long the machine is left alone before each run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = a_time)]
    cool_down: String,
    /// This machine may be restarted, as often as the study needs boots
    #[arg(long)]
    reboot: bool,
    #[command(flatten)]
    options: StudyOptions,
    /// Say the cells, the boots, their order and the time that they take; runs nothing
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
            "as-it-is is listed beside other models of preemption",
            "which of them the kernel has is not known before it runs",
            "name the models, or as-it-is alone",
        ));
    }
    Ok(Levels {
        isolations: args.isolation.iter().map(|how| (*how).into()).collect(),
        preemptions,
        kernels: args.kernels.clone(),
    })
}
