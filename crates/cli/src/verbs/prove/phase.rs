//! Measures one state of the machine under load: latency, then noise and the counters during it.

use super::steps::Steps;
use machine::CpuSet;
use measure::load::{Load, LoadKind};
use measure::{Environment, Kind, Measurement, Request};
use plan::{Finding, Level};
use report::prove::Phase;
use root::Failure;
use session::Session;
use session::partition::Partition;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Shared settings of both phases.
pub struct Setting<'a> {
    /// CPUs to measure.
    pub cpus: &'a CpuSet,
    /// Stored with each result.
    pub environment: &'a Environment,
    /// How long each measurement takes.
    pub each: Duration,
    /// Ctrl-C.
    pub stop: &'a AtomicBool,
}

/// Measures one phase. Failed parts are left out and reported.
pub fn measure(
    session: &Session,
    setting: &Setting,
    steps: &mut Steps,
    name: &str,
    load_cpus: &CpuSet,
    partition: Option<&Partition>,
    could_not: &mut Vec<Finding>,
) -> Phase {
    let door = partition.map(Partition::door);
    let join = |pid: u32| -> Result<(), String> {
        let Some(door) = &door else { return Ok(()) };
        let live = session.writable().map_err(|failure| failure.why)?;
        apply::System::write(&apply::Host::new(live.clone()), door, &pid.to_string())
            .map_err(|error| error.to_string())
    };
    let load = match Load::start(load_cpus, &LoadKind::ANYWHERE) {
        Ok(load) => Some(load),
        Err(error) => {
            could_not.push(Finding::new(
                Level::Warning,
                "no-load",
                load_cpus.to_string(),
                error.to_string(),
            ));
            None
        }
    };
    let mut one = |what: &str, kind: Kind| -> Option<Measurement> {
        let base = match kind {
            Kind::Latency => Request::latency,
            Kind::Noise => Request::noise,
            Kind::All => Request::all,
        };
        let mut environment = setting.environment.clone();
        if door.is_some() {
            // The environment was read before the partition was made.
            let former = environment.partitioned.take().unwrap_or_default();
            environment.partitioned = Some(former.or(setting.cpus));
        }
        let mut request = base(setting.cpus.clone(), setting.each, environment, setting.stop);
        if door.is_some() {
            request.join = Some(&join);
        }
        let result = steps.measure(&format!("{what} {name}"), setting.each, |bar| {
            measure::run(&request, session.root(), &mut |progress| {
                bar.set_position(progress.elapsed_ns / 1_000_000);
                let worst = progress.threads.iter().filter_map(|thread| thread.max_ns).max();
                bar.set_message(worst.map_or_else(String::new, |ns| format!("max {}", machine::Nanos(ns))));
            })
        });
        let mut result = result
            .map_err(|error: Failure| could_not.push(missing(what, &error)))
            .ok()?;
        if door.is_none() {
            leave_out_the_question(&mut result);
        }
        Some(result)
    };
    let latency = one("latency", Kind::Latency);
    let noise = one("noise", Kind::Noise);
    let text = match &load {
        Some(_) => {
            format!("arithmetic, memory, system calls and wake-ups at the lowest priority on CPU {load_cpus}")
        }
        None => "none".to_owned(),
    };
    drop(load);
    let activity = noise.as_ref().and_then(|noise| noise.activity.clone());
    Phase {
        latency,
        noise,
        activity,
        load: text,
    }
}

/// The measurement before isolation expects that every program may use the CPUs, so this is not a warning.
fn leave_out_the_question(result: &mut Measurement) {
    const QUESTION: [&str; 2] = ["cpu_not_isolated", "cpu_shared"];
    result
        .not_representative
        .retain(|id| !QUESTION.contains(&id.as_str()));
    result
        .findings
        .retain(|note| !QUESTION.contains(&note.id.as_str()));
}

fn missing(what: &str, error: &Failure) -> Finding {
    let message = format!("{what} could not be measured: {}: {}", error.what, error.why);
    Finding::new(Level::Error, "not-measured", what, message).fix(error.next.clone())
}
