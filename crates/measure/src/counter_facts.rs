//! Collects facts about the counter that the samplers do not read, before and after the window.

use crate::counter::kernel_rate::{self, Rate};
use crate::counter::offset::{self, Offset};
use crate::counter::{CounterSource, readable_in_user_space};
use crate::findings::note;
use crate::os::{self, step_onto};
use crate::sampler::SamplerJob;
use crate::{Environment, MeasurementKind, Note, NoteLevel};
use machine::{CpuId, CpuSet};
use root::Root;

/// The facts. What was not read is unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterFacts {
    /// The counter frequency that the kernel assumes.
    pub rate: Option<Rate>,
    /// Per lane: offset of its CPU's counter from that of a CPU that is not measured.
    pub offsets: Vec<Option<Offset>>,
    /// The clock source after the window; the environment has the one before it.
    pub clocksource: Option<String>,
    /// The kernel's message when it stopped trusting the TSC.
    pub distrust: Option<String>,
}

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// `tsc: Marking TSC unstable due to ...` (`mark_tsc_unstable`), `Marking clocksource 'tsc' as unstable because the
/// skew is too large` (`clocksource_watchdog`).
const DISTRUST: &[&str] = &["Marking TSC unstable", "Marking clocksource 'tsc"];

impl CounterFacts {
    /// Reads the facts before the window, while all threads are ready and sleep.
    pub(crate) fn before(job: &SamplerJob<'_>, root: &Root, environment: &Environment) -> CounterFacts {
        CounterFacts {
            rate: kernel_rate::rate(job.counter, root),
            offsets: offsets(job),
            clocksource: environment.clocksource.clone(),
            distrust: distrust(root),
        }
    }

    /// Reads them after the window: the kernel may have stopped trusting the counter during the measurement.
    pub(crate) fn after(&mut self, root: &Root) {
        let now = root.readable_value(CURRENT);
        if now != self.clocksource {
            self.distrust = distrust(root).or(self.distrust.take());
        }
        self.clocksource = now.or(self.clocksource.take());
    }

    /// Findings about the clock source.
    pub(crate) fn notes(&self, environment: &Environment, counter: CounterSource) -> Vec<Note> {
        let mut notes = Vec::new();
        if let (Some(then), Some(now)) = (&environment.clocksource, &self.clocksource)
            && then != now
        {
            notes.push(note(
                NoteLevel::Error,
                "clocksource_changed",
                now,
                format!(
                    "The kernel changed its clock source from {then} to {now} during the measurement{}.",
                    if counter == CounterSource::Monotonic || readable_in_user_space(now) {
                        ""
                    } else {
                        ": it no longer trusts the counter that the measurement used"
                    }
                ),
                "measure again with the present clock source",
            ));
        }
        if let Some(message) = &self.distrust {
            notes.push(note(
                NoteLevel::Warning,
                "tsc_unstable",
                "tsc",
                format!("The kernel does not trust the time-stamp counter: \"{message}\"."),
                "look for a BIOS update; `tsc=reliable` on the boot line only hides it",
            ));
        }
        notes
    }
}

fn distrust(root: &Root) -> Option<String> {
    let log = root.kernel_log().ok().flatten()?;
    let says_so = |line: &&String| DISTRUST.iter().any(|words| line.contains(words));
    log.iter().find(says_so).cloned()
}

/// Offsets from one CPU that is not measured to each measured one. All other threads sleep.
fn offsets(job: &SamplerJob<'_>) -> Vec<Option<Offset>> {
    let measured: CpuSet = job.lanes.iter().map(|lane| lane.cpu).collect();
    let place = unmeasured_cpu(&measured);
    let _here = place.and_then(|cpu| step_onto(&CpuSet::range(cpu.0, cpu.0)).ok());
    let offsets = job.lanes.iter().enumerate().map(|(number, lane)| {
        let (track, _) = job.shared.track(number)?;
        let offset = match (lane.kind, place) {
            (MeasurementKind::Noise, Some(cpu)) if _here.is_some() => offset::measure_offset(job.counter, track, cpu),
            _ => None,
        };
        offset::pass(track);
        offset
    });
    offsets.collect()
}

/// A usable CPU that is not measured.
fn unmeasured_cpu(measured: &CpuSet) -> Option<CpuId> {
    os::allowed().ok()?.minus(measured).first()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(clocksource: &str) -> Environment {
        Environment {
            clocksource: Some(clocksource.to_owned()),
            ..Environment::default()
        }
    }

    fn root(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    fn texts_and_levels(facts: &CounterFacts, environment: &Environment) -> Vec<(String, NoteLevel)> {
        let notes = facts.notes(environment, CounterSource::Tsc).into_iter();
        notes.map(|note| (note.id, note.level)).collect()
    }

    #[test]
    fn a_clocksource_change_during_the_run_is_an_error() {
        let log = "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n";
        let (_dir, root) = root(&[(CURRENT, "hpet\n"), (root::KERNEL_LOG, log)]);
        let before = environment("tsc");
        let mut facts = CounterFacts {
            clocksource: before.clocksource.clone(),
            ..CounterFacts::default()
        };
        assert!(texts_and_levels(&facts, &before).is_empty());
        facts.after(&root);
        let wanted = [
            ("clocksource_changed", NoteLevel::Error),
            ("tsc_unstable", NoteLevel::Warning),
        ];
        assert_eq!(
            texts_and_levels(&facts, &before),
            wanted.map(|(id, level)| (id.to_owned(), level))
        );
    }

    #[test]
    fn an_unchanged_clocksource_is_not_reported() {
        let (_dir, root) = root(&[
            (CURRENT, "tsc\n"),
            (root::KERNEL_LOG, "tsc: Detected 2600.000 MHz TSC\n"),
        ]);
        let before = environment("tsc");
        let mut facts = CounterFacts {
            clocksource: before.clocksource.clone(),
            distrust: distrust(&root),
            ..CounterFacts::default()
        };
        facts.after(&root);
        assert!(texts_and_levels(&facts, &before).is_empty(), "{facts:?}");
        let (_other, empty) = self::root(&[("/proc/nothing", "")]);
        facts.after(&empty);
        assert!(
            texts_and_levels(&facts, &before).is_empty(),
            "what cannot be read has not changed"
        );
    }
}
