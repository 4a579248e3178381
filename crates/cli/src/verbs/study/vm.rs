//! `study run --in vm`: every boot of a study is a virtual machine of its own, which QEMU of this machine runs. This machine is
//! not changed.

mod accelerator;
mod archive;
mod bench;
mod conduct;
mod session;

use super::directory::Directory;
use super::foresee::Written;
use super::{about, lock, outcome, record, remote, show, times};
use crate::{CommandError, Screen, Status};
use ::session::Session;
use ::study::Schedule;
use bench::Bench;
use clap::ValueEnum;
use guest::qemu::{self, MOST_CPUS};
use machine::parse_duration;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// On this machine
    Here,
    /// In virtual machines that QEMU runs on this machine, which is not changed
    Vm,
    /// On the machine that `--on` names
    #[value(skip)]
    Board,
}

/// Options of a study about where it runs.
#[derive(clap::Args)]
pub struct Args {
    /// Where it runs
    #[arg(long = "in", value_name = "WHERE", default_value = "here")]
    place: Where,
    /// With --in vm: the kernel (bzImage) of boots for which the study names none
    #[arg(long, value_name = "IMAGE")]
    kernel: Option<PathBuf>,
    /// With --in vm: CPUs of each machine [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_CPUS)))]
    vm_cpus: Option<u32>,
    /// With --in vm: memory of each machine [default: 512]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(128..=1 << 20))]
    vm_memory: Option<u32>,
    /// With --in vm: the static quietcore that measures there, of the same version [default: this one]
    #[arg(long, value_name = "FILE")]
    vm_binary: Option<PathBuf>,
    /// With --in vm: how long a machine may be silent beyond three times what a run takes [default: 4min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    vm_patience: Option<Duration>,
    /// Those of another machine.
    #[command(flatten)]
    pub board: remote::Args,
}

impl Args {
    /// Where the study runs.
    ///
    /// # Errors
    /// Options of virtual machines, or of another machine, for a study that does not run there.
    pub fn place(&self) -> Result<Where, CommandError> {
        let named = [
            ("--kernel", self.kernel.is_some()),
            ("--vm-cpus", self.vm_cpus.is_some()),
            ("--vm-memory", self.vm_memory.is_some()),
            ("--vm-binary", self.vm_binary.is_some()),
            ("--vm-patience", self.vm_patience.is_some()),
        ];
        let named = named.iter().find(|(_, is_there)| *is_there);
        if self.board.is_named()? {
            return match (self.place, named) {
                (Where::Here, None) => Ok(Where::Board),
                _ => Err(CommandError::usage(
                    "the study is to run in two places",
                    "--on names another machine, and virtual machines run on this one",
                    "leave out --on, or --in vm and its options",
                )),
            };
        }
        match (self.place, named) {
            (Where::Here, Some((option, _))) => Err(CommandError::usage(
                format!("{option} is an option of virtual machines"),
                "this study runs on this machine",
                "add --in vm, or leave it out",
            )),
            (place, _) => Ok(place),
        }
    }
}

/// Says what would run.
///
/// # Errors
/// What is missing here, and what is wrong with the study.
pub fn plan(written: Written, file: &Path, args: &Args, screen: &mut Screen) -> Result<(), CommandError> {
    let bench = Bench::set_up(args, &written)?;
    let foreseen = bench.foresee(written, file)?;
    let schedule = Schedule::new(&foreseen.study, []).with_restart(conduct::BOOTING);
    let boots = foreseen.study.boots.iter().zip(&bench.kernels);
    let mut text: String = boots
        .map(|(boot, kernel)| {
            let line = qemu::line(bench.accelerator, &boot.words_for(&foreseen.cpus));
            format!("  machine  Linux {}, {}\n", kernel.release, report::safe(&line))
        })
        .collect();
    text.push_str(&format!(
        "each of these in every repetition, with {}, one after the other; this machine is not changed\n",
        bench.text()
    ));
    let notes = foreseen
        .notes
        .iter()
        .chain(bench.note().iter())
        .cloned()
        .collect();
    show(&foreseen, &schedule, &text, notes, screen);
    Ok(())
}

/// Runs what is left of a study.
///
/// # Errors
/// What is missing here, what is wrong with the study, a directory of something else, and QEMU that cannot be started.
pub fn carry_out(
    session: &Session,
    written: Written,
    file: &Path,
    out: &Path,
    args: &Args,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Status, CommandError> {
    let bench = Bench::set_up(args, &written)?;
    let foreseen = bench.foresee(written, file)?;
    let _lock = match root::process::ids().0 {
        0 => Some(lock(session)?),
        // Who is not root has no place for a lock, and no study on this machine to disturb.
        _ => None,
    };
    screen.note(&foreseen.notes_text());
    if let Some(note) = bench.note() {
        screen.note(&format!("note: {note}\n"));
    }
    let directory = Directory::open(out, &foreseen, record(&foreseen))?;
    let mut schedule = Schedule::new(&foreseen.study, directory.done()?).with_restart(conduct::BOOTING);
    let all = schedule.order().len();
    if schedule.done() > 0 {
        screen.note(&format!("{} of {all} runs are there already\n", schedule.done()));
    }
    screen.note(&format!(
        "{} cells, {} each, in machines of {}; about {} left in all\n",
        foreseen.study.cells.len(),
        times(foreseen.study.repetitions),
        bench.text(),
        about(schedule.remaining())
    ));
    let ended = conduct::conduct(&bench, &foreseen, &directory, &mut schedule, stop, screen)?;
    let left = all - schedule.done();
    if left == 0 {
        outcome::Outcome::of(&directory)?.show(screen);
        return Ok(Status::Done);
    }
    for (what, why) in &ended.given_up {
        screen.note(&format!("not run: {what}: {why}\n"));
    }
    let why = match ended.ending {
        super::conduct::Ending::Interrupted => "interrupted; ",
        super::conduct::Ending::BudgetUsed => "the next run would not fit into the budget; ",
        super::conduct::Ending::Done => "",
    };
    screen.note(&format!(
        "{why}{left} runs are left; the same command goes on with them\n"
    ));
    Ok(Status::Failed)
}
