//! The kernel's trace while somebody is watched: an instance of our own, emptied again and again.

use super::until::Stopper;
use super::{Args, tracing};
use crate::verbs::measure::instance::{Instance, found};
use crate::verbs::measure::refused::untraceable;
use crate::{CommandError, Status};
use machine::{CpuId, CpuSet, Machine};
use root::Root;
use rustix::time::{ClockId, clock_gettime};
use trace::{Catalogue, Recorder, Recording, Stays, TraceError, Way};

/// It.
pub struct Stream<'r> {
    root: &'r Root,
    /// What this kernel says of its events.
    pub known: Catalogue,
    /// Closed before the instance goes, also when something fails: the kernel keeps what somebody reads.
    recorder: Recorder,
    instance: Instance,
    failed: Option<TraceError>,
}

/// Whether a program is watched, whose threads come and go.
pub use tracing::Watched;

/// What was traced.
pub struct Traced {
    /// What this kernel says of its events.
    pub known: Catalogue,
    /// The events.
    pub recording: Recording,
}

impl Traced {
    /// Events that the kernel could not keep for a CPU.
    pub fn lost(&self, cpu: u32) -> u64 {
        let of = self.recording.cpus.iter().find(|of| of.cpu.0 == cpu);
        of.and_then(|of| of.stats.lost()).unwrap_or(0)
    }
}

impl<'r> Stream<'r> {
    /// Begins to trace.
    ///
    /// # Errors
    /// Whatever the kernel refuses.
    pub fn begin(
        args: &Args,
        root: &'r Root,
        machine: &Machine,
        cpus: &CpuSet,
        watched: Watched,
    ) -> Result<Stream<'r>, CommandError> {
        let tracefs = found()?;
        let top = tracefs.file(".");
        let known = trace::catalogue(root, &top, &tracing::events(watched)).map_err(untraceable)?;
        let wanted = tracing::wanted(&known.events, cpus, args.buffer, watched);
        let instance = Instance::begin(tracefs, &wanted)?;
        let online: Vec<CpuId> = machine.topology.online.iter().collect();
        let most = usize::try_from(args.memory << 20).unwrap_or(usize::MAX);
        let stays = match args.until {
            Some(_) => Stays::Last,
            None => Stays::First,
        };
        let recorder =
            Recorder::open(&instance.file("."), &online, known.layout, most, stays, Way::Read).map_err(untraceable)?;
        Ok(Stream {
            root,
            known,
            instance,
            recorder,
            failed: None,
        })
    }

    /// What stops the trace at the sample that ends the run. It has to be gone before [`Stream::end`].
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn stopper(&self) -> Result<Stopper, CommandError> {
        Ok(Stopper(root::descriptor::writable(&self.instance.file("tracing_on"))?))
    }

    /// Empties the buffers. Who calls this stands on other CPUs than those that are asked about.
    pub fn drain(&mut self) {
        if let Err(error) = self.recorder.drain() {
            self.failed.get_or_insert(error);
        }
    }

    /// Stops the trace, takes what is left in it, and takes it down.
    ///
    /// # Errors
    /// A buffer that could not be read, now or before; an instance that cannot be removed.
    pub fn end(mut self) -> Result<Traced, CommandError> {
        self.instance.stop()?;
        self.drain();
        let recording = self
            .recorder
            .finish(self.root, &self.instance.file("."))
            .map_err(untraceable)?;
        let comms = self.root.text(&self.instance.shared_file("saved_cmdlines"))?;
        self.known.description.saved_cmdlines = comms.unwrap_or_default();
        self.instance.take_down()?;
        match self.failed {
            Some(error) => Err(untraceable(error)),
            None => Ok(Traced {
                known: self.known,
                recording,
            }),
        }
    }
}

/// Whether counters may stand in for a trace that could not be begun: nobody else is in the way, and nothing of ours is
/// wrong.
pub fn can_do_without(error: &CommandError) -> bool {
    matches!(error.status, Status::Unable | Status::Denied)
}

/// Now, on the clock of the trace.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(now.tv_sec as i64) * 1_000_000_000 + part(now.tv_nsec as i64)
}
