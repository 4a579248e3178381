//! A probe spins on the CPUs that are asked about and notes every gap.

use super::stream::{Stream, Watched, can_do_without};
use super::told::Told;
use super::until::Found;
use super::{Args, USUAL, begun, ground};
use crate::verbs::measure::{default_cpus, join, with_progress};
use crate::{CommandError, Screen, Status, changing};
use blame::{Counted, Gap, Question, Reader, Target, Victim, attribute};
use machine::{CpuId, CpuSet, Machine};
use events::NoNames;
use measure::{Break, Environment, RawGap, RawWindow, Request, Trip, Watcher};
use root::Root;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = Root::live();
    let machine = Machine::read(&root);
    let cpus = chosen(args, &machine, screen)?;
    let environment = Environment::of(&machine, &root, env!("CARGO_PKG_VERSION"));
    let stop = changing::stop_flag();
    let mut stream = Stream::begin(args, &root, &machine, &cpus, Watched::Probe);
    if let Err(error) = stream.as_ref()
        && !can_do_without(error)
    {
        return stream.map(|_| Status::Done);
    }
    let stopper = match (&stream, args.until) {
        (Ok(stream), Some(_)) => Some(stream.stopper()?),
        _ => None,
    };

    let seen = Seen::default();
    let duration = args.duration.unwrap_or(USUAL);
    // In an isolated CPU only who is in its partition may stand.
    let door = join::door(&root, &machine, &cpus);
    let enter = |pid: u32| door.as_deref().map_or(Ok(()), |door| join::enter(door, pid));
    let mut request = Request::noise(cpus.clone(), duration, environment.clone(), stop);
    request.each(|lane| lane.threshold_ns = u64::try_from(args.threshold.as_nanos()).unwrap_or(u64::MAX));
    request.each(|lane| args.policy.fill(lane));
    request.watcher = Some(&seen);
    request.join = door.is_some().then_some(&enter);
    request.break_at = args.until.map(|limit| Break {
        limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
        trip: stopper.as_ref().map(|stopper| stopper as &dyn Trip),
    });
    let mut said = false;
    let measured = with_progress(screen, |progress| {
        measure::run(&request, &mut |now| {
            // This thread stands on other CPUs than those that are asked about.
            if let Ok(stream) = &mut stream {
                stream.drain();
            }
            if now.begun && !said {
                said = true;
                begun::say(screen, &cpus);
            }
            progress(now);
        })
    })?;
    let threshold_ns = request.lanes.first().map(|lane| lane.threshold_ns);
    drop(request);
    // An instance with open files cannot be removed.
    drop(stopper);
    let traced = match stream {
        Ok(stream) => Ok(stream.end()?),
        Err(error) => Err(error),
    };

    let question = Question {
        targets: seen.targets(),
        comms: traced.as_ref().map(|traced| traced.known.description.comms()).unwrap_or_default(),
        keep: args.keep(),
    };
    let reader = Reader::new(traced.as_ref().map(|traced| traced.known.formats.clone()).unwrap_or_default());
    let mut answer = match &traced {
        Ok(traced) => attribute(&reader, &traced.known.names, traced.recording.events(), &question),
        Err(_) => attribute(&reader, &NoNames, std::iter::empty(), &question),
    };
    for cpu in &mut answer.cpus {
        let thread = measured.threads.iter().find(|thread| thread.cpu.0 == cpu.cpu);
        let smi = thread.and_then(|thread| thread.counts.iter().find(|count| count.name == "smi"));
        cpu.confirm(Counted {
            steal_ns: thread.and_then(|thread| thread.steal_ns),
            smi: smi.and_then(|count| count.count),
        });
        match &traced {
            Ok(traced) => cpu.lost_events = cpu.lost_events.max(traced.lost(cpu.cpu)),
            Err(_) => {
                let mut counted = measured.activity.iter().flat_map(|activity| &activity.cpus);
                if let Some(of) = counted.find(|of| of.cpu.0 == cpu.cpu) {
                    cpu.count(of);
                }
            }
        }
    }
    answer.cure(&ground::of(&root, machine, &cpus, &question));
    let found = match &traced {
        Ok(traced) => Found::of(measured.broke.as_ref(), &answer, traced, &reader),
        Err(_) => None,
    };
    let mut told = Told::of(&answer, traced.as_ref(), &environment, threshold_ns, None);
    told.found = found.as_ref();
    told.show(args, traced.as_ref(), screen)?;
    if measured.broke.is_some() {
        return Ok(Status::Failed);
    }
    if !measured.complete {
        screen.note("interrupted: the answer covers only the time until then\n");
    }
    Ok(Status::Done)
}

fn chosen(args: &Args, machine: &Machine, screen: &mut Screen) -> Result<CpuSet, CommandError> {
    if let Some(expression) = &args.cpus {
        return crate::intent::existing_cpus(expression, machine);
    }
    let (cpus, why) = default_cpus(machine)?;
    screen.note(&format!("watching CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}

/// What the probe saw.
#[derive(Default)]
struct Seen {
    gaps: RefCell<BTreeMap<CpuId, Vec<Gap>>>,
    windows: RefCell<Vec<RawWindow>>,
}

impl Watcher for Seen {
    fn gaps(&self, gaps: &[RawGap]) {
        let mut all = self.gaps.borrow_mut();
        for gap in gaps {
            all.entry(gap.cpu).or_default().push(Gap {
                start: gap.start_raw_ns,
                end: gap.start_raw_ns + gap.duration_ns,
            });
        }
    }

    fn window(&self, window: &RawWindow) {
        self.windows.borrow_mut().push(*window);
    }
}

impl Seen {
    fn targets(&self) -> Vec<Target> {
        let mut gaps = self.gaps.take();
        let target = |window: &RawWindow| Target {
            cpu: window.cpu.0,
            victim: Victim {
                pids: vec![window.tid.cast_signed()],
                ..Victim::default()
            },
            window: Gap {
                start: window.start_raw_ns,
                end: window.end_raw_ns,
            },
            gaps: Some(gaps.remove(&window.cpu).unwrap_or_default()),
        };
        self.windows.take().iter().map(target).collect()
    }
}
