//! Runs the guests one after another, each for the remaining runs of one boot in one repetition. Failed runs are tried once
//! more; if they fail again, they are left for the next call, with the reason.

use super::bench::GuestRequirements;
use super::guest_session::{self, GuestEnd};
use crate::forecast::Forecast;
use crate::guest_side::INIT;
use crate::guest_task::{self, GuestMessage, GuestTask};
use crate::runs::{OpenStudy, RunsEnd, next_text};
use guest::Archive;
use guest::qemu::{self, GuestFiles};
use root::Failure;
use root::output::{self, Draft, OutputDurability, ReadAccess};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use study::{BootSession, RunPosition, RunSchedule};

/// The maximum number of attempts per boot and repetition in one call: emulated guests sometimes fail for no reason of their own.
const MAX_ATTEMPTS: usize = 2;

/// The assumed time to boot and power off a guest, until one was measured.
pub const BOOTING: Duration = Duration::from_secs(15);

/// How the guests ended.
pub struct GuestsEnd {
    /// Why no more guests run.
    pub ending: RunsEnd,
    /// What was abandoned, and why.
    pub given_up: Vec<(String, String)>,
}

/// Makes the remaining runs.
///
/// # Errors
/// QEMU cannot be started, or a result cannot be saved.
pub fn run_all(open: &OpenStudy, bench: &GuestRequirements, schedule: &mut RunSchedule) -> Result<GuestsEnd, Failure> {
    let OpenStudy {
        forecast,
        directory,
        stop,
        ..
    } = *open;
    let start = Instant::now();
    let dir = directory.guests();
    output::make_folder(&dir)?;
    let mut state = GuestsState::default();
    let done_before = schedule.runs_done();
    let ending = loop {
        if stop.load(Ordering::Relaxed) {
            break RunsEnd::Interrupted;
        }
        let Some((boot_session, mut runs)) = state.next(forecast, schedule) else {
            break RunsEnd::Done;
        };
        if let Some(budget) = forecast.study.budget {
            let left = budget
                .saturating_sub(start.elapsed())
                .saturating_sub(state.longest_boot.unwrap_or(BOOTING));
            let fit = left.as_nanos() / schedule.one().as_nanos().max(1);
            let fit = usize::try_from(fit).unwrap_or(usize::MAX);
            // At least one run, so that every call makes progress.
            if fit == 0 && schedule.runs_done() > done_before {
                break RunsEnd::BudgetUsed;
            }
            runs.truncate(fit.max(1));
        }
        let guest = Guest {
            open: *open,
            bench,
            dir: &dir,
            boot_session,
        };
        let end = guest.run(&runs, schedule, &mut state)?;
        if let GuestEnd::Stopped(why) = end {
            state.failed(&guest, why)?;
        } else if end == GuestEnd::Interrupted {
            break RunsEnd::Interrupted;
        } else {
            guest.clear()?;
        }
    };
    Ok(GuestsEnd {
        ending,
        given_up: state.given_up,
    })
}

/// What this call knows from its guests.
#[derive(Default)]
struct GuestsState {
    attempts: BTreeMap<BootSession, usize>,
    /// Boots of which a guest has started.
    up: BTreeSet<usize>,
    /// Boots that are not tried again, because none of their guests ever started.
    failed_boots: BTreeSet<usize>,
    /// Runs that are not tried again.
    refused: BTreeSet<RunPosition>,
    given_up: Vec<(String, String)>,
    longest_boot: Option<Duration>,
}

impl GuestsState {
    /// The next boot, and its runs.
    fn next(&self, forecast: &Forecast, schedule: &RunSchedule) -> Option<(BootSession, Vec<RunPosition>)> {
        let boot_session = |place: &RunPosition| BootSession {
            block: place.block,
            boot: forecast.study.cells.get(place.cell).map_or(0, |cell| cell.boot),
        };
        let is_open = |place: &RunPosition| {
            let at = boot_session(place);
            !self.refused.contains(place)
                && !self.failed_boots.contains(&at.boot)
                && self.attempts.get(&at).is_none_or(|tries| *tries < MAX_ATTEMPTS)
        };
        let left: Vec<RunPosition> = schedule.left().filter(is_open).collect();
        let first = boot_session(left.first()?);
        let together = left.into_iter().take_while(|place| boot_session(place) == first);
        Some((first, together.collect()))
    }

    /// Records that a guest failed.
    fn failed(&mut self, guest: &Guest, why: String) -> Result<(), Failure> {
        let BootSession { block, boot } = guest.boot_session;
        let tries = self.attempts.entry(guest.boot_session).or_default();
        *tries += 1;
        let is_last = *tries >= MAX_ATTEMPTS;
        let name = guest.name();
        output::write(&guest.file("why"), format!("{why}\n").as_bytes())?;
        let console = report::safe(&guest.file("console").display().to_string());
        guest.open.session.note(&format!(
            "the machine of {name} failed: {why}; its console is {console}\n"
        ));
        if !is_last {
            return Ok(());
        }
        if self.up.contains(&boot) {
            let what = format!("what is left of {} in repetition {}", guest.boot_text(), block + 1);
            self.given_up.push((what, why));
        } else {
            self.failed_boots.insert(boot);
            self.given_up
                .push((guest.boot_text(), format!("none of its machines started: {why}")));
        }
        Ok(())
    }
}

/// A guest before its start.
struct Guest<'a> {
    open: OpenStudy<'a>,
    bench: &'a GuestRequirements,
    dir: &'a Path,
    boot_session: BootSession,
}

impl Guest<'_> {
    /// Its name in messages and files: repetition and boot.
    fn name(&self) -> String {
        format!(
            "repetition {}, boot {}",
            self.boot_session.block + 1,
            self.boot_session.boot + 1
        )
    }

    fn boot_text(&self) -> String {
        let boot = self.open.forecast.study.boots.get(self.boot_session.boot);
        let text = boot.map_or_else(String::new, |boot| boot.text(&self.open.forecast.cpus));
        format!("boot {} ({})", self.boot_session.boot + 1, report::safe(&text))
    }

    fn file(&self, what: &str) -> PathBuf {
        let BootSession { block, boot } = self.boot_session;
        self.dir.join(format!("{}-{}.{what}", block + 1, boot + 1))
    }

    /// Removes the files of a guest that did everything; only its results stay.
    fn clear(&self) -> Result<(), Failure> {
        for what in ["console", "why"] {
            output::remove(&self.file(what))?;
        }
        Ok(())
    }

    fn run(
        &self,
        runs: &[RunPosition],
        schedule: &mut RunSchedule,
        state: &mut GuestsState,
    ) -> Result<GuestEnd, Failure> {
        let study = &self.open.forecast.study;
        let (Some(kernel), Some(boot)) = (
            self.bench.kernels.get(self.boot_session.boot),
            study.boots.get(self.boot_session.boot),
        ) else {
            return Ok(GuestEnd::Stopped("the study has no such boot".to_owned()));
        };
        let line = qemu::line(self.bench.accelerator, &boot.words_for(&self.open.forecast.cpus));
        self.open
            .session
            .note(&format!("{}: Linux {}, {line}\n", self.name(), kernel.release));
        let initramfs = self.write_initramfs(runs)?;
        let console = self.file("console");
        let files = GuestFiles {
            kernel: &kernel.path,
            initramfs: &initramfs,
            console: &console,
        };
        let arguments = qemu::start(self.bench.accelerator, self.bench.sizes, &files, &line);
        let one_run = study.each.saturating_add(study.cool_down);
        let silence = one_run.saturating_mul(3).saturating_add(self.bench.patience);
        let started = Instant::now();
        let mut run_start = Instant::now();
        let end = guest_session::boot(&arguments, &console, silence, self.open.stop, &mut |message| {
            match message {
                GuestMessage::Up(up) => {
                    if let Some(why) = self.wrong(&up.release, up.cmdline.as_deref(), &kernel.release) {
                        return Err(other_machine(&why));
                    }
                    state.up.insert(self.boot_session.boot);
                    state.longest_boot = state.longest_boot.max(Some(started.elapsed()));
                }
                GuestMessage::RunStarted(place) => {
                    run_start = Instant::now();
                    self.open.session.note(&next_text(study, schedule, place));
                }
                GuestMessage::Result(place, bytes) if runs.contains(&place) => {
                    self.open.directory.save(place, &bytes)?;
                    schedule.finish(place, run_start.elapsed());
                }
                GuestMessage::Refused(place, refusal) if runs.contains(&place) => {
                    state.refused.insert(place);
                    let name = study.cells.get(place.cell).map_or("", |cell| &cell.name);
                    let what = format!("{name}, repetition {}", place.block + 1);
                    let why = report::safe(&format!("{}: {}", refusal.what, refusal.why));
                    state.given_up.push((what, why));
                }
                GuestMessage::Result(..) | GuestMessage::Refused(..) | GuestMessage::Done => {}
            }
            Ok(())
        });
        output::remove(&initramfs)?;
        end
    }

    /// Writes the archive with the program and its runs.
    fn write_initramfs(&self, runs: &[RunPosition]) -> Result<PathBuf, Failure> {
        let path = self.file("initramfs");
        let task = GuestTask {
            cpus: self.open.forecast.cpus.to_string(),
            runs: runs.iter().map(|place| [place.block, place.cell]).collect(),
        };
        let mut draft = Draft::create(&path, ReadAccess::All)?;
        draft.append(&archive(&self.bench.program, &task, &self.open.forecast.bytes))?;
        draft.place(OutputDurability::Cached)?;
        Ok(path)
    }

    /// Why a guest is not what its boot requires.
    fn wrong(&self, release: &Option<String>, line: Option<&str>, expected: &str) -> Option<String> {
        if release.as_deref() != Some(expected) {
            let release = release.as_deref().unwrap_or("unknown");
            return Some(format!("it runs Linux {release}, and its image contains {expected}"));
        }
        let study = &self.open.forecast.study;
        study.wrong_line(
            self.boot_session.boot,
            &self.open.forecast.cpus,
            line.unwrap_or_default(),
        )
    }
}

fn other_machine(why: &str) -> Failure {
    Failure::unable(
        "a virtual machine is not as intended",
        report::safe(why),
        "check the study's boot parameters and the image of the kernel",
    )
}

/// The archive that the kernel unpacks. It is not compressed: an emulated processor decompresses slower than QEMU reads.
fn archive(program: &[u8], task: &GuestTask, study: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    for dir in ["dev", "proc", "sys", "run", "tmp", "root", "var", "var/lib", "study"] {
        archive.dir(dir);
    }
    archive.program(INIT, program);
    archive.file(guest_task::STUDY, study);
    archive.file(guest_task::FILE, &serde_json::to_vec(task).unwrap_or_default());
    archive.finish()
}
