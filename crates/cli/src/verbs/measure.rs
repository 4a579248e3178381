//! `measure`: wake-up latency, or gaps in a busy loop.

mod join;

use crate::intent::existing_cpus;
use crate::screen::{Form, Volume};
use crate::time::parse_duration;
use crate::{CommandError, Screen, Status, changing};
use clap::{Subcommand, ValueEnum};
use machine::{CpuSet, Machine, Nanos, Policy};
use measure::{Environment, IdleStates, Kind, Level, Measurement, Progress, Request};
use report::Histograms;
use root::Root;
use root::output::{Draft, Readers};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Arguments of `measure`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How late does a thread wake up that asks to be woken periodically? (cyclictest's question)
    Latency {
        #[command(flatten)]
        shared: Shared,
        /// The period: 10us to 10s
        #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration)]
        interval: Duration,
        /// fifo:1 to fifo:99, rr:1 to rr:99, or other
        #[arg(long, value_name = "POLICY", default_value = "fifo:80", value_parser = parse_policy)]
        policy: Sampler,
    },
    /// How often, and for how long, is a thread stopped that never sleeps? (oslat's and sysjitter's question)
    Noise {
        #[command(flatten)]
        shared: Shared,
        /// The shortest gap that counts: 100ns or more
        #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration)]
        threshold: Duration,
        /// other, or fifo:1 to fifo:99, rr:1 to rr:99, which measure how the kernel throttles the thread itself
        #[arg(long, value_name = "POLICY", default_value = "other", value_parser = parse_policy)]
        policy: Sampler,
    },
}

#[derive(clap::Args)]
struct Shared {
    /// CPUs to measure; without it the isolated ones, or one core where none is isolated
    #[arg(long, value_name = "EXPR")]
    cpus: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// Write the result to this file as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result in a foreign format: cyclictest, csv, gnuplot
    #[arg(long, value_name = "FORMAT", value_parser = parse_format, conflicts_with = "json")]
    format: Option<Foreign>,
    /// Whether the CPUs are kept out of deep idle states meanwhile
    #[arg(long, value_name = "WHAT", default_value = "hold")]
    idle: Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Idle {
    /// Keep them out: latency of the kernel, not of waking hardware
    Hold,
    /// Leave them as the machine has them
    Leave,
}

/// Policy and priority of the samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sampler {
    policy: Policy,
    priority: u32,
}

/// A foreign format, chosen by name.
#[derive(Clone, Copy)]
struct Foreign(&'static formats::Format);

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = Root::live();
    let machine = Machine::read(&root);
    let (kind, shared, sampler) = match &args.what {
        What::Latency { shared, policy, .. } => (Kind::Latency, shared, policy),
        What::Noise { shared, policy, .. } => (Kind::Noise, shared, policy),
    };
    let cpus = chosen_cpus(shared, &machine, screen)?;
    let environment = Environment::of(&machine, &root, env!("CARGO_PKG_VERSION"));
    let stop = changing::stop_flag();
    let base = match kind {
        Kind::Latency => Request::latency,
        Kind::Noise => Request::noise,
    };
    let door = join::door(&root, &machine, &cpus);
    let join = |pid: u32| door.as_deref().map_or(Ok(()), |door| join::enter(door, pid));
    let mut request = base(cpus, shared.duration, environment, stop);
    request.policy = sampler.policy;
    request.priority = sampler.priority;
    match &args.what {
        What::Latency { interval, .. } => request.interval_ns = nanoseconds(*interval),
        What::Noise { threshold, .. } => request.threshold_ns = nanoseconds(*threshold),
    }
    if shared.idle == Idle::Leave {
        request.idle_states = IdleStates::Leave;
    }
    if let Some(door) = &door {
        request.join = Some(&join);
        if screen.volume == Volume::Verbose {
            screen.note(&format!("the sampler enters the partition through {door}\n"));
        }
    }
    // Before the measurement, so that a path that cannot be written costs no time.
    let out = shared
        .out
        .as_deref()
        .map(|path| Draft::create(path, Readers::Everybody))
        .transpose()?;
    let result = with_progress(&request, screen)?;
    show(&result, shared, screen);
    if let Some(out) = out {
        save(&result, out)?;
    }
    if !result.complete && stop.load(Ordering::Relaxed) {
        screen.note("interrupted: the result covers only the time until then\n");
    }
    let untrusted = result
        .findings
        .iter()
        .any(|finding| finding.level == Level::Error);
    Ok(if untrusted { Status::Failed } else { Status::Done })
}

/// Prints a result.
fn show(result: &Measurement, shared: &Shared, screen: &mut Screen) {
    match (&shared.format, screen.form) {
        (Some(Foreign(format)), _) => {
            let text = (format.write)(result);
            screen.stream(|out| out.write_all(text.as_bytes()));
        }
        (None, Form::Json) => screen.json(result),
        (None, Form::Text) => screen.text(&report::measurement_text(
            result,
            Histograms::Drawn,
            screen.style(),
        )),
    }
}

/// Writes a result to its file.
fn save(result: &Measurement, mut out: Draft) -> Result<(), CommandError> {
    let mut bytes = serde_json::to_vec(result).map_err(|error| {
        let next = "please report this as a bug";
        CommandError::new(
            Status::Bug,
            "the result could not be written as JSON",
            error.to_string(),
            next,
        )
    })?;
    bytes.push(b'\n');
    out.append(&bytes)?;
    Ok(out.finish()?)
}

/// The CPUs of `--cpus`; else those that are isolated, which an affinity mask would hide; else one core.
fn chosen_cpus(shared: &Shared, machine: &Machine, screen: &mut Screen) -> Result<CpuSet, CommandError> {
    if let Some(expression) = &shared.cpus {
        return existing_cpus(expression, machine);
    }
    let isolated = report::isolated_cpus(machine).and(&machine.topology.online);
    let (cpus, why) = match isolated.is_empty() {
        false => (isolated, "isolated"),
        true => (
            plan::choose_one_core(machine)?,
            "the core that `plan` would choose; nothing is isolated",
        ),
    };
    screen.note(&format!("measuring CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}

/// Measures, with a bar on standard error where that is a terminal.
fn with_progress(request: &Request, screen: &Screen) -> Result<Measurement, CommandError> {
    let quiet = screen.volume == Volume::Quiet || !std::io::IsTerminal::is_terminal(&std::io::stderr());
    let target = if quiet {
        indicatif::ProgressDrawTarget::hidden()
    } else {
        indicatif::ProgressDrawTarget::stderr()
    };
    let planned_ms = u64::try_from(request.duration.as_millis()).unwrap_or(u64::MAX);
    let bar = indicatif::ProgressBar::with_draw_target(Some(planned_ms), target);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
        bar.set_style(style);
    }
    let result = measure::run(request, &mut |progress: &Progress| {
        bar.set_position(progress.elapsed_ns / 1_000_000);
        let worst = progress.threads.iter().filter_map(|thread| thread.max_ns).max();
        let recorded: u64 = progress.threads.iter().map(|thread| thread.recorded).sum();
        bar.set_message(worst.map_or_else(String::new, |ns| {
            format!("{recorded} samples, largest {}", Nanos(ns))
        }));
    });
    bar.finish_and_clear();
    Ok(result?)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn parse_policy(text: &str) -> Result<Sampler, String> {
    let (word, priority) = text
        .split_once(':')
        .map_or((text, None), |(word, priority)| (word, Some(priority)));
    let policy = match word {
        "other" if priority.is_none() => {
            return Ok(Sampler {
                policy: Policy::Other,
                priority: 0,
            });
        }
        "other" => return Err("`other` has no priority".to_owned()),
        "fifo" => Policy::Fifo,
        "rr" => Policy::Rr,
        _ => {
            return Err(format!(
                "`{text}` is no policy of a sampler: use fifo:80, rr:50 or other"
            ));
        }
    };
    match priority.map(str::parse) {
        Some(Ok(priority @ 1..=99)) => Ok(Sampler { policy, priority }),
        _ => Err(format!("`{word}` needs a priority from 1 to 99, as in {word}:80")),
    }
}

fn parse_format(name: &str) -> Result<Foreign, String> {
    let names: Vec<&str> = formats::FORMATS.iter().map(|format| format.name).collect();
    formats::format(name)
        .map(Foreign)
        .ok_or_else(|| format!("there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_samplers() {
        assert_eq!(
            parse_policy("fifo:80"),
            Ok(Sampler {
                policy: Policy::Fifo,
                priority: 80
            })
        );
        assert_eq!(
            parse_policy("other"),
            Ok(Sampler {
                policy: Policy::Other,
                priority: 0
            })
        );
        for text in ["", "fifo", "fifo:0", "fifo:100", "other:3", "batch", "rr:x"] {
            assert!(parse_policy(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_format_has_its_name() {
        for format in formats::FORMATS {
            assert!(parse_format(format.name).is_ok());
        }
        assert!(parse_format("xml").is_err());
    }
}
