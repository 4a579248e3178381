//! `study which-knob`: a study written for the user, from the knobs that the plan of a partition has on this machine.

mod answer;

pub use answer::answer;

use super::foresee::{Foreseen, Written, refuse_neighbours, with_cpus};
use super::options::{LoadOn, Measured, Options, a_time};
use super::reboots::Consent;
use super::{carry_out, plan as show_plan};
use crate::intent::ProfileWord;
use crate::sampler_policy::parse_policy;
use crate::{CommandError, Screen, Status};
use ::plan::{Intent, Knob, PartitionName, Plan, Profile, State};
use ::study::which_knob::{Candidates, least_repetitions, matrix};
use ::study::{PARTITION, What};
use clap::ValueEnum;
use machine::CpuSet;
use session::Session;
use session::isolation::{existing_cpus, plan_on};

/// Two more repetitions than can show anything at all: those show only what never overlaps.
const BEYOND_LEAST: usize = 2;

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
    measure: Measure,
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
    load_on: LoadOn,
    /// How long the machine is left alone before each run
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = a_time)]
    cool_down: String,
    #[command(flatten)]
    options: Options,
    /// Say the cells, their order and the time that they take; runs nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Wake-up latency
    Latency,
    /// Gaps in a busy loop
    Noise,
    /// Both at once
    All,
}

/// Runs it.
///
/// # Errors
/// As `study run`, and knobs that there are not or that nothing can be asked about.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    let stop = session::stop_flag();
    let whole = whole(args)?;
    if args.dry_run {
        show_plan(session, &foreseen(session, args, &whole)?, screen);
        return Ok(Status::Done);
    }
    carry_out(session, &args.options.out, Consent::Missing, stop, screen, || {
        foreseen(session, args, &whole)
    })
}

/// The plan that is asked about, without CPUs.
fn whole(args: &Args) -> Result<Intent, CommandError> {
    let profile = args.profile.map_or(Profile::Balanced, ProfileWord::profile);
    let mut whole = Intent::new(PartitionName::new(PARTITION)?, CpuSet::new(), profile);
    args.with.iter().try_for_each(|knob| whole.take(knob))?;
    args.without.iter().try_for_each(|knob| whole.leave_out(knob))?;
    for knob in args.knobs.iter().flatten() {
        // Refuses what there is not, and what no partition can be without.
        Intent::new(whole.name.clone(), CpuSet::new(), profile).leave_out(knob)?;
    }
    if let Some(policy) = &args.options.policy {
        let next = "write it as `measure --policy` takes it";
        parse_policy(policy).map_err(|why| CommandError::usage("the policy cannot be used", why, next))?;
    }
    Ok(whole)
}

/// The study on the machine of now.
fn foreseen(session: &Session, args: &Args, whole: &Intent) -> Result<Foreseen, CommandError> {
    let root = session.root();
    let machine = session.machine().with_tasks_and_interrupts(root);
    let cpus = existing_cpus(&args.cpus, &machine)?;
    refuse_neighbours(session, &cpus)?;
    let plan = plan_on(session, &machine, &with_cpus(session, whole, &cpus))?;
    let (candidates, notes) = candidates(&plan, whole, args)?;
    let matrix = matrix(&candidates, &mut |intent| {
        let plan = plan_on(session, &machine, &with_cpus(session, intent, &cpus)).ok()?;
        let changing = plan.knobs.iter().filter(|knob| knob.state == State::Changes);
        Some(changing.map(|knob| knob.name.to_owned()).collect())
    })?;
    let least = least_repetitions(matrix.comparisons());
    let experiment = args.options.experiment(&Measured {
        what: match args.measure {
            Measure::Latency => What::Latency,
            Measure::Noise => What::Noise,
            Measure::All => What::All,
        },
        cpus: &args.cpus,
        each: &args.each,
        repetitions: args.repetitions.unwrap_or(least + BEYOND_LEAST),
        cool_down: &args.cool_down,
        load: &args.load,
        load_on: args.load_on,
    });
    let written = Written::for_the_user(experiment.text(&matrix))?;
    let mut foreseen = Foreseen::of(session, written, &args.options.file())?;
    foreseen.notes.extend(notes);
    if foreseen.study.repetitions < least {
        foreseen.notes.push(format!(
            "with fewer than {least} repetitions nothing can be shown over all {} comparisons",
            matrix.comparisons()
        ));
    }
    Ok(foreseen)
}

/// The knobs of a plan that can be asked about, and why the others cannot.
fn candidates(plan: &Plan, whole: &Intent, args: &Args) -> Result<(Candidates, Vec<String>), CommandError> {
    let mut candidates = Candidates {
        profile: whole.profile,
        ..Candidates::default()
    };
    let (mut names, mut notes) = (Vec::new(), Vec::new());
    for knob in &plan.knobs {
        let needed = ::plan::knobs::knob(knob.name).map_or("", |knob: &Knob| knob.needed);
        let why = match knob.state {
            _ if !needed.is_empty() => needed,
            State::Changes => {
                names.push(knob.name.to_owned());
                candidates.takes.push(match &knob.value {
                    Some(value) => format!("{}={value}", knob.name),
                    None => knob.name.to_owned(),
                });
                continue;
            }
            State::Already => "it is here as it would be set",
            State::Absent => "this machine has no such thing",
        };
        if needed.is_empty() {
            candidates.leaves_out.push(knob.name.to_owned());
        } else {
            notes.push(format!("{} is a part of every partition: {why}", knob.name));
        }
        if args
            .knobs
            .iter()
            .flatten()
            .any(|asked| is_called(knob.name, asked))
        {
            return Err(CommandError::usage(
                format!("nothing can be asked about {}", knob.name),
                why,
                "leave it out of --knobs; `quietcore plan` shows what each knob would change here",
            ));
        }
    }
    if !candidates.leaves_out.is_empty() {
        let all = candidates.leaves_out.join(", ");
        notes.push(format!("not asked about, for they change nothing here: {all}"));
    }
    for asked in args.knobs.iter().flatten() {
        let Some(name) = names.iter().find(|name| is_called(name, asked)) else {
            return Err(CommandError::usage(
                format!("{} is not in the plan", report::safe(asked)),
                "its profile does not hold it, or it was left out",
                format!(
                    "take it with --with {}, or name a larger --profile",
                    report::safe(asked)
                ),
            ));
        };
        if !candidates.asked.contains(name) {
            candidates.asked.push(name.clone());
        }
    }
    if args.knobs.is_none() {
        candidates.asked = names;
    }
    if candidates.asked.is_empty() {
        return Err(CommandError::usage(
            "no knob is left to ask about",
            "beside the partition itself the plan changes nothing here",
            "name a larger --profile, or take knobs with --with",
        ));
    }
    Ok((candidates, notes))
}

/// Whether a knob has this name, this alias, or this file.
fn is_called(name: &str, called: &str) -> bool {
    ::plan::knobs::knob(called).is_some_and(|knob| knob.name == name)
}
