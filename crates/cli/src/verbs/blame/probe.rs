//! A probe spins on the CPUs that are asked about and notes every gap.

use super::clock::Clock;
use super::joined::{Joined, names};
use super::stream::{Known, Stream, Watched, can_do_without, known};
use super::told::Told;
use super::until::Found;
use super::{Args, USUAL, begun, functions, ground, hwlat};
use crate::verbs::measure::{default_cpus, with_progress};
use crate::{CommandError, Screen, Status};
use blame::{Counted, Gap, Question, Reader, Target, Victim};
use events::{Formats, NoNames};
use machine::{CpuId, CpuSet, Machine};
use measure::{Break, Environment, Level, Note, RawGap, RawWindow, Request, Trip, Watcher};
use report::Tracers;
use session::Session;
use session::cpuset_entry;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Runs it.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = session.root();
    let machine = session.machine();
    let cpus = chosen(args, &machine, screen)?;
    let environment = Environment::of(&machine, root, env!("CARGO_PKG_VERSION"));
    let stop = session::stop_flag();
    let known = known(session, args, &machine, Watched::Probe);
    let begun = |known: &Known| Stream::begin(session, args, &machine, &cpus, Watched::Probe, known);
    let (known, mut stream) = match known {
        Ok(known) => {
            let stream = begun(&known);
            (Some(known), stream)
        }
        Err(error) => (None, Err(error)),
    };
    if let Err(error) = stream.as_ref()
        && !can_do_without(error)
    {
        return stream.map(|_| Status::Done);
    }
    let stopper = match (&stream, args.until) {
        (Ok(stream), Some(_)) => Some(stream.stopper()?),
        _ => None,
    };

    let nothing = Reader::new(Formats::default());
    let question = Question {
        comms: names(root, &machine),
        keep: args.keep(cpus.len()),
        ..Question::default()
    };
    let mut joined = match &known {
        Some(known) => {
            let functions = stream
                .as_mut()
                .ok()
                .and_then(|stream| stream.functions(known, &cpus));
            Joined::new(&known.reader, &known.catalogue.names, question).with(functions)
        }
        None => Joined::new(&nothing, &NoNames, question),
    };
    let seen = Seen {
        clock: stream.as_ref().map_or(Clock::MonoRaw, Stream::clock),
        ..Seen::default()
    };
    let duration = args.duration.unwrap_or(USUAL);
    // In an isolated CPU only who is in its partition may stand.
    let door = cpuset_entry::door(root, &machine, &cpus);
    let enter = |pid: u32| {
        door.as_deref()
            .map_or(Ok(()), |door| cpuset_entry::enter(session, door, pid))
    };
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
        measure::run(&request, session.root(), &mut |now| {
            // This thread stands on other CPUs than those that are asked about.
            let known_ns = seen.hand_on(&mut joined, cpus.len());
            match &mut stream {
                Ok(stream) => stream.drain(known_ns, &mut joined),
                Err(_) => joined.pass(known_ns),
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
    seen.end(&mut joined);
    let traced = match (stream, &known) {
        (Ok(stream), Some(known)) => Ok(stream.end(session, known, &mut joined)?),
        (Ok(_), None) => return Ok(Status::Unable),
        (Err(error), _) => Err(error),
    };
    let gaps = joined.functions();
    let functions = match &traced {
        Ok(traced) => traced.functions.as_ref().map(|ended| ended.told(gaps)),
        Err(error) => args.functions.then(|| functions::nobody(error)),
    };
    let (mut answer, question) = joined.finish();
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
    let (hwlat, hwlat_left_behind) = args
        .hwlat
        .map(|time| hwlat::run(session, &machine, &cpus, time, args.threshold))
        .unzip();
    answer.cure(&ground::of(session, machine, &cpus, &question));
    let found = match &traced {
        Ok(traced) => {
            let broke = measured.broke.as_ref();
            broke.and_then(|broke| Found::longest(broke.cpu.0, broke.limit_ns, &answer, traced))
        }
        Err(_) => None,
    };
    let mut told = Told::of(&answer, traced.as_ref(), &environment, threshold_ns, None);
    let wrong = measured.findings.iter().filter(|note| note.level == Level::Error);
    let mut findings: Vec<Note> = wrong.cloned().collect();
    let has_failed = measured.broke.is_some() || !findings.is_empty();
    findings.extend(traced.as_ref().ok().and_then(|traced| traced.left_behind.clone()));
    findings.extend(hwlat_left_behind.flatten());
    told.findings = &findings;
    told.found = found.as_ref();
    told.tracers = Tracers {
        functions: functions.as_ref(),
        hwlat: hwlat.as_ref(),
    };
    told.show(args, traced.as_ref(), screen)?;
    if has_failed {
        return Ok(Status::Failed);
    }
    if !measured.complete {
        screen.note("interrupted: the answer covers only the time until then\n");
    }
    Ok(Status::Done)
}

fn chosen(args: &Args, machine: &Machine, screen: &mut Screen) -> Result<CpuSet, CommandError> {
    if let Some(expression) = &args.cpus {
        return session::isolation::existing_cpus(expression, machine);
    }
    let (cpus, why) = default_cpus(machine)?;
    screen.note(&format!("watching CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}

/// What the probe saw.
#[derive(Default)]
struct Seen {
    /// The sampler measures on the raw clock; what is told here is told on this one.
    clock: Clock,
    gaps: RefCell<BTreeMap<CpuId, Vec<Gap>>>,
    /// As far as each CPU has been watched.
    windows: RefCell<BTreeMap<CpuId, Window>>,
}

/// From when to when a CPU has been watched, and by which thread.
struct Window {
    cpu: CpuId,
    tid: u32,
    start: u64,
    end: u64,
}

impl Watcher for Seen {
    fn gaps(&self, gaps: &[RawGap]) {
        let (mut all, ahead_ns) = (self.gaps.borrow_mut(), self.clock.ahead_ns());
        for gap in gaps {
            let start = gap.start_raw_ns.saturating_add_signed(ahead_ns);
            let end = start.saturating_add(gap.duration_ns);
            all.entry(gap.cpu).or_default().push(Gap { start, end });
        }
    }

    fn window(&self, window: &RawWindow) {
        let mut windows = self.windows.borrow_mut();
        let ahead_ns = self.clock.ahead_ns();
        let here = |raw_ns: u64| raw_ns.saturating_add_signed(ahead_ns);
        let known = windows.entry(window.cpu).or_insert(Window {
            cpu: window.cpu,
            tid: window.tid,
            start: here(window.start_raw_ns),
            end: 0,
        });
        known.end = known.end.max(here(window.end_raw_ns));
    }
}

/// The clock of the gaps and that of the trace are read by different code: so far apart they may be.
const APART_NS: u64 = 10_000;

impl Seen {
    /// Hands on what was seen since the last time. Until when everything is known of all these CPUs; 0 before the last of them
    /// has begun.
    fn hand_on(&self, joined: &mut Joined, cpus: usize) -> u64 {
        let windows = self.windows.borrow();
        if windows.len() < cpus {
            return 0;
        }
        if !joined.has_begun() {
            joined.begin(windows.values().map(target).collect());
        }
        for (cpu, gaps) in self.gaps.take() {
            joined.gaps(cpu.0, &gaps);
        }
        let ends = windows.values().map(|window| window.end);
        ends.min().unwrap_or(0).saturating_sub(APART_NS)
    }

    /// The same at the end, whoever has begun.
    fn end(&self, joined: &mut Joined) {
        self.hand_on(joined, 0);
        for window in self.windows.borrow().values() {
            joined.ends(window.cpu.0, window.end);
        }
    }
}

/// Who is asked about on a CPU. Gaps and the end of the window are told later.
fn target(window: &Window) -> Target {
    Target {
        cpu: window.cpu.0,
        victim: Victim {
            pids: vec![window.tid.cast_signed()],
            ..Victim::default()
        },
        window: Gap {
            start: window.start,
            end: u64::MAX,
        },
        gaps: Some(Vec::new()),
    }
}
