//! Uses the kernel's tracers as samplers: `timerlat` answers the question of `measure latency` with kernel threads, and
//! `osnoise` that of `measure noise`. Their samples are read from the trace while they run.
//!
//! The caller sets up the tracer in an instance of tracefs and removes it afterwards. This module only reads.

mod line;
mod sampler_output;
mod workload;

use crate::choices::KernelTracer;
use crate::conditions::{self, ConditionInput, ConditionSettings, DeepIdle};
use crate::counter::CounterSource;
use crate::os::leave_measured;
use crate::result::ResultMoment;
use crate::{MeasureError, MeasureRequest, Measurement, MeasurementPhase, Progress, SCHEMA, check, clock, findings};
use observe::CounterSample;
use root::{Root, RootError};
use rustix::io::Errno;
use sampler_output::{TracerData, TracerWindow};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the trace is read.
const READ: Duration = Duration::from_millis(20);

/// How often the intermediate result is saved.
const SAVE_INTERVAL_NS: u64 = 1_000_000_000;

/// How long after the window its last samples may arrive.
const GRACE_NS: u64 = 200_000_000;

/// Reads the samples of a running tracer through `pipe` (the instance's `trace_pipe`, whose clock is `mono`). The request's
/// lanes set CPUs, length, and period or threshold; policy and clock are the tracer's.
///
/// # Errors
/// An invalid request, a CPU that is offline, a trace that cannot be read.
pub fn listen(
    request: &MeasureRequest<'_>,
    method: KernelTracer,
    pipe: &str,
    root: &Root,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Measurement, MeasureError> {
    check::request(request, root)?;
    let mut fixed_settings = ConditionSettings::read(root, &request.cpus());
    // The tracer that measures is not a condition.
    let own = pipe.rsplit_once('/').map_or(pipe, |(dir, _)| dir);
    fixed_settings.tracing.retain(|(dir, _)| dir != own);
    let mut pipe = TraceTail::open(pipe)?;
    let _aside = leave_measured(&request.cpus());
    let held = request.hold_idle_states()?;
    let threads = match method {
        KernelTracer::Osnoise => workload::running_threads(root, &request.cpus(), request.stop),
        KernelTracer::Timerlat => BTreeMap::new(),
    };
    let start = clock::monotonic_ns();
    let lengths = request.lanes.iter().map(crate::Lane::length_ns);
    let length = lengths.max().unwrap_or(0);
    let window = TracerWindow {
        start,
        end: start.saturating_add(length),
    };
    let mut run = TracerRun {
        request,
        method,
        root,
        started_at: clock::wall_time(),
        window,
        fixed_settings,
        idle: match held {
            Ok(_) => DeepIdle::PreventedByUs,
            Err(_) => DeepIdle::Allowed,
        },
        sampler_output: TracerData::of(request, method, window).ok_or(MeasureError::Os {
            operation: "make the histograms",
            errno: libc::EINVAL,
        })?,
    };
    run.sampler_output.follow(&threads);
    let first = CounterSample::take(root);
    let (end, last) = run.sample(&mut pipe, progress)?;
    let mut result = run.result(end, ResultMoment::End);
    let mut activity = observe::activity(&first, &last);
    activity.cpus.retain(|activity| request.cpus().contains(activity.cpu));
    result.activity = Some(activity);
    let refused = held.as_ref().err().copied();
    result
        .findings
        .extend(findings::about_idle(request.idle_states, refused));
    Ok(result)
}

/// A running tracer.
struct TracerRun<'a> {
    request: &'a MeasureRequest<'a>,
    method: KernelTracer,
    root: &'a Root,
    started_at: String,
    window: TracerWindow,
    fixed_settings: ConditionSettings,
    idle: DeepIdle,
    sampler_output: TracerData,
}

impl TracerRun<'_> {
    /// Reads the trace until the window is over. Returns its end, and the counters then.
    fn sample(
        &mut self,
        pipe: &mut TraceTail,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(u64, CounterSample), MeasureError> {
        let (request, window) = (self.request, self.window);
        let mut last = None;
        let mut saved_at = window.start;
        let end = loop {
            pipe.read(&mut |line| self.sampler_output.take(line))?;
            let now = clock::monotonic_ns();
            let stops = self.sampler_output.broke().is_some() || request.stop.load(Ordering::Relaxed);
            if (stops || now >= window.end) && last.is_none() {
                self.sampler_output.read_threads(self.root);
                last = Some(CounterSample::take(self.root));
            }
            if stops {
                break now;
            }
            if now >= window.end.saturating_add(GRACE_NS) {
                break window.end;
            }
            progress(&self.progress(now));
            if let Some(keep) = request.on_intermediate
                && now.saturating_sub(saved_at) > SAVE_INTERVAL_NS
            {
                saved_at = now;
                self.sampler_output.read_threads(self.root);
                keep(&self.result(now, ResultMoment::Passing));
            }
            std::thread::sleep(READ);
        };
        Ok((end, last.unwrap_or_else(|| CounterSample::take(self.root))))
    }

    fn result(&self, end: u64, moment: ResultMoment) -> Measurement {
        let (threads, mut notes) = self.sampler_output.results(self.root, end);
        let broke = self.sampler_output.broke();
        let complete = moment == ResultMoment::End && end >= self.window.end;
        let lasted = end.saturating_sub(self.window.start);
        let stopped = (!complete && broke.is_none()).then_some(lasted);
        notes.extend(findings::about_end(moment, stopped));
        notes.extend(findings::about_break(broke));
        // The kernel reads its own clock: our counter is not used.
        let environment = &self.request.environment;
        notes.extend(findings::about_machine(
            environment,
            self.request.kind(),
            CounterSource::Tsc,
        ));
        let conditions = conditions::notes(&ConditionInput {
            lanes: &self.request.lanes,
            environment,
            fixed_settings: &self.fixed_settings,
            idle: self.idle,
            loads: &BTreeMap::new(),
            threads: &threads,
            waited_ns: &[],
        });
        let not_representative = conditions.iter().map(|note| note.id.clone()).collect();
        notes.extend(conditions);
        Measurement {
            schema: SCHEMA.to_owned(),
            kind: self.request.kind(),
            method: Some(self.method),
            started_at: self.started_at.clone(),
            duration_ns: lasted,
            environment: environment.clone(),
            activity: None,
            broke,
            threads,
            gap_file: None,
            not_representative,
            findings: notes,
            programs: Vec::new(),
            complete,
        }
    }

    fn progress(&self, now: u64) -> Progress {
        let planned_ns = self.window.end.saturating_sub(self.window.start);
        Progress {
            kind: self.request.kind(),
            phase: MeasurementPhase::Sampling,
            has_started: true,
            elapsed_ns: now.saturating_sub(self.window.start).min(planned_ns),
            planned_ns,
            sampler_pid: 0,
            threads: self.sampler_output.progress(),
        }
    }
}

/// The growing trace: returns every event once.
struct TraceTail {
    file: OwnedFd,
    path: String,
    /// An incomplete line.
    partial_line: Vec<u8>,
}

impl TraceTail {
    fn open(path: &str) -> Result<TraceTail, RootError> {
        Ok(TraceTail {
            file: root::descriptor::readable(path)?,
            path: path.to_owned(),
            partial_line: Vec::new(),
        })
    }

    /// Passes on all complete lines that are available.
    fn read(&mut self, each: &mut dyn FnMut(&str)) -> Result<(), RootError> {
        let mut buffer = [0_u8; 16 * 1024];
        loop {
            let count = match rustix::io::read(&self.file, &mut buffer) {
                // A stopped trace returns end of file.
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(RootError::from_io(&self.path, "read", &errno.into())),
            };
            let mut rest = buffer.get(..count).unwrap_or_default();
            while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let (line, behind) = rest.split_at(end);
                self.partial_line.extend_from_slice(line);
                each(&String::from_utf8_lossy(&self.partial_line));
                self.partial_line.clear();
                rest = behind.get(1..).unwrap_or_default();
            }
            self.partial_line.extend_from_slice(rest);
        }
    }
}
