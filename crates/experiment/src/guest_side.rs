//! Runs the part of a study inside a guest: makes the assigned runs as on any machine, and sends each result as soon as it
//! exists. PID 1 of the guest mounts file systems, starts that part, and powers off.

use crate::forecast::Forecast;
use crate::guest_task::{FILE, GuestIdentity, GuestMessage, GuestRefusal, GuestTask, MOST_BYTES, STUDY, WORDS};
use crate::{StudyFile, cooling, runs};
use guest::qemu::PORT;
use root::first::{self, Port};
use root::{Failure, Status, input};
use session::{Reporter, Session};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use study::RunPosition;

/// The path at which the kernel starts it.
pub const INIT: &str = "/init";

/// Whether this process is PID 1 of a guest with a task.
#[must_use]
pub fn is_init_of_a_guest() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == INIT) && Path::new(FILE).exists()
}

/// Runs the guest as PID 1. The machine is powered off at the end.
pub fn run_as_init(reporter: &dyn Reporter) -> Status {
    for error in first::mount_all() {
        reporter.note(&format!("{error}\n"));
    }
    match Command::new(INIT).args(WORDS).spawn() {
        Ok(child) => first::wait_for(child.id()),
        Err(error) => reporter.note(&format!("{INIT}: {error}\n")),
    }
    first::power_off();
    Status::Unable
}

/// Runs the guest's task.
///
/// # Errors
/// Without a task or a port, this is not a guest of a study.
pub fn run(session: &Session) -> Result<Status, Failure> {
    let not_here = |why: String| {
        Failure::usage(
            "this is not a guest of a study",
            why,
            "guests are created by `quietcore study run FILE --out DIR --in vm --vm-kernel IMAGE`",
        )
    };
    let bytes = input::bytes(Path::new(FILE), MOST_BYTES).map_err(|error| not_here(error.to_string()))?;
    let task: GuestTask = serde_json::from_slice(&bytes).map_err(|error| not_here(format!("{FILE}: {error}")))?;
    let stop = session::stop_flag();
    let port = Port::open(PORT)?;
    let mut study = StudyFile::read(Path::new(STUDY))?;
    study.measure_on(&task.cpus);
    let forecast = Forecast::unchecked(session, study, Path::new(STUDY))?;
    let kernel = &forecast.machine.kernel;
    let up = GuestIdentity {
        release: kernel.release.clone(),
        cmdline: kernel.cmdline.as_ref().map(|line| line.text.clone()),
    };
    port.send(&GuestMessage::Up(up).frame())?;
    for [block, cell] in task.runs {
        let place = RunPosition { block, cell };
        port.send(&GuestMessage::RunStarted(place).frame())?;
        let message = match one(session, &forecast, place, stop) {
            Ok(Some(bytes)) => GuestMessage::Result(place, bytes),
            Ok(None) => return Ok(Status::Failed),
            Err(error) => GuestMessage::Refused(
                place,
                GuestRefusal {
                    what: error.what,
                    why: error.why,
                },
            ),
        };
        port.send(&message.frame())?;
    }
    port.send(&GuestMessage::Done.frame())?;
    Ok(Status::Done)
}

/// Makes one run, if the cell is possible here. `None` if it was stopped.
fn one(
    session: &Session,
    forecast: &Forecast,
    place: RunPosition,
    stop: &AtomicBool,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(cell) = forecast.study.cells.get(place.cell) else {
        return Err(Failure::usage(
            "there is no such cell",
            format!("the study has {}", forecast.study.cells.len()),
            "give the guest its own study file",
        ));
    };
    forecast
        .possible(session, cell)
        .map_err(|why| Failure::usage(format!("{} is impossible in its guest", cell.name), why, ""))?;
    cooling::rest(forecast.study.cool_down, stop);
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    runs::run_one(session, forecast, cell, stop)
}
