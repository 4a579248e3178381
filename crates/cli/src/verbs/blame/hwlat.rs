//! `--hwlat`: when the watch is over, the kernel's hwlat tracer looks for time that the hardware takes.
//!
//! It stops interrupts on these CPUs for half of its time, so it runs only when asked, and after the probe: what it finds says
//! that such a thing happens on this machine, not which of the gaps it was. So no gap changes its name for it.

use super::clock;
use super::functions::tracer;
use crate::CommandError;
use crate::verbs::measure::instance::{Instance, found};
use crate::verbs::measure::refused::untraceable;
use apply::tracing::{Setting, Wanted};
use blame::{Hwlat, HwlatCpu};
use machine::{CpuId, CpuSet, Machine, Nanos};
use measure::Note;
use root::Root;
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace::{Recorder, Way};

/// As `available_tracers` calls it.
const TRACER: &str = "hwlat";
/// One record for each window, which is a second.
const BUFFER_KIB: u64 = 64;
const MEMORY: usize = 1 << 20;

/// What it found.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The tracer of the kernel; nothing where none ran.
    by: Option<&'static str>,
    /// Why none did.
    why: Option<String>,
    /// How long it ran, in nanoseconds.
    duration_ns: u64,
    /// The shortest time that counted as gone.
    threshold_ns: u64,
    /// Of each window, in microseconds, it looked for so many: `hwlat_detector/window` and `width`.
    window_us: Option<u64>,
    /// Its time with interrupts off.
    width_us: Option<u64>,
    cpus: Vec<HwlatCpu>,
    /// Its instance is still there, and why.
    #[serde(skip)]
    pub left_behind: Option<Note>,
}

/// Runs it. Whatever stands in its way is in what it tells: the answer stands without it.
pub fn run(root: &Root, machine: &Machine, cpus: &CpuSet, time: Duration, threshold: Duration) -> Told {
    // The kernel takes whole microseconds, and none would mean its own default.
    let threshold_us = u64::try_from(threshold.as_micros()).unwrap_or(u64::MAX).max(1);
    let mut told = Told {
        by: Some(TRACER),
        why: None,
        duration_ns: 0,
        threshold_ns: threshold_us.saturating_mul(1_000),
        window_us: None,
        width_us: None,
        cpus: Vec::new(),
        left_behind: None,
    };
    if let Err(error) = look(root, machine, cpus, time, threshold_us, &mut told) {
        told.by = None;
        told.why = Some(format!("{}: {}", error.what, error.why));
    }
    told
}

fn look(
    root: &Root,
    machine: &Machine,
    cpus: &CpuSet,
    time: Duration,
    threshold_us: u64,
    told: &mut Told,
) -> Result<(), CommandError> {
    let tracefs = found()?;
    tracer(root, &tracefs, TRACER, "CONFIG_HWLAT_TRACER")?;
    let catalogue = trace::catalogue(root, &tracefs.file("."), &[]).map_err(untraceable)?;
    let number = |name: &str| -> Result<Option<u64>, CommandError> {
        let text = root.value(&tracefs.file(&format!("hwlat_detector/{name}")))?;
        Ok(text.and_then(|text| text.parse().ok()))
    };
    (told.window_us, told.width_us) = (number("window")?, number("width")?);
    let mut instance = Instance::begin(found()?, &wanted(machine, cpus, threshold_us))?;
    let numbers: Vec<CpuId> = cpus.iter().collect();
    let mut recorder = Recorder::open(
        &instance.file("."),
        &numbers,
        catalogue.layout,
        MEMORY,
        0,
        Way::Read,
    )
    .map_err(untraceable)?;
    let (stop, begun) = (crate::changing::stop_flag(), Instant::now());
    while begun.elapsed() < time && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(
            time.saturating_sub(begun.elapsed())
                .min(Duration::from_millis(100)),
        );
    }
    told.duration_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    instance.stop()?;
    recorder.ends();
    recorder.drain(|| u64::MAX).map_err(untraceable)?;
    if let Some(mut hwlat) = Hwlat::new(&catalogue.formats, cpus.iter().map(|cpu| cpu.0)) {
        recorder.take(None, usize::MAX, |event| {
            hwlat.event(&event);
            ControlFlow::Continue(())
        });
        told.cpus = hwlat.finish();
    }
    // An instance with open files cannot be removed.
    drop(recorder);
    told.left_behind = instance.end();
    Ok(())
}

fn wanted(machine: &Machine, cpus: &CpuSet, threshold_us: u64) -> Wanted {
    let possible = machine
        .topology
        .possible
        .as_ref()
        .unwrap_or(&machine.topology.online);
    let mut own = vec![Setting::must(
        "tracing_cpumask",
        cpus.to_mask(possible.last().map_or(0, |cpu| cpu.0 + 1)),
    )];
    own.extend(clock::settings(None));
    own.push(Setting::may("buffer_size_kb", BUFFER_KIB.to_string()));
    own.push(Setting::must("tracing_on", "1"));
    own.push(Setting::must("current_tracer", TRACER));
    Wanted {
        shared: vec![
            // Without it one thread goes from CPU to CPU, and comes to each more rarely.
            Setting::may("hwlat_detector/mode", "per-cpu"),
            Setting::must("tracing_thresh", threshold_us.to_string()),
        ],
        own,
        ..Wanted::default()
    }
}

impl Told {
    /// For people.
    pub fn text(&self) -> String {
        if let Some(why) = &self.why {
            return format!("hwlat did not run: {why}\n");
        }
        let looked = match (self.width_us, self.window_us) {
            (Some(width_us), Some(window_us)) => format!(
                ", for {} of each {}",
                Nanos(width_us.saturating_mul(1_000)),
                Nanos(window_us.saturating_mul(1_000))
            ),
            _ => String::new(),
        };
        let (time, threshold) = (Nanos(self.duration_ns), Nanos(self.threshold_ns));
        let mut text = String::new();
        for cpu in &self.cpus {
            let nmis = match cpu.nmis {
                0 => "no NMI came meanwhile",
                _ => "NMIs came meanwhile and may have had some of it",
            };
            let _ = match cpu.samples {
                0 => writeln!(
                    text,
                    "hwlat on CPU {}: in {time} with interrupts off{looked} no {threshold} were gone: the hardware took nothing then",
                    cpu.cpu
                ),
                samples => writeln!(
                    text,
                    "hwlat on CPU {}: in {time} with interrupts off{looked} time was gone {} times in {samples} windows, at most {} at \
                     once: the hypervisor, the firmware (SMI) or the hardware takes time here; {nmis}",
                    cpu.cpu,
                    cpu.hits,
                    Nanos(cpu.max_ns)
                ),
            };
        }
        text
    }
}
