//! The part of a study that runs inside of a guest: the runs that it was given, each made as on any machine, each handed out as
//! soon as it is there.

use super::conduct;
use super::foresee::{self, Foreseen};
use super::task::{FILE, MOST_BYTES, Refusal, STUDY, Task, Told, Up};
use crate::{CommandError, Screen, Status};
use guest::qemu::PORT;
use root::first::Port;
use root::input;
use session::Session;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use study::Place;

/// Runs it.
///
/// # Errors
/// No task, no port: this is no guest of a study.
pub fn run(session: &Session, screen: &Screen) -> Result<Status, CommandError> {
    let not_here = |why: String| {
        CommandError::usage(
            "this is no guest of a study",
            why,
            "guests are made by `quietcore study run FILE --out DIR --in vm --kernel IMAGE`",
        )
    };
    let bytes = input::bytes(Path::new(FILE), MOST_BYTES).map_err(|error| not_here(error.to_string()))?;
    let task: Task = serde_json::from_slice(&bytes).map_err(|error| not_here(format!("{FILE}: {error}")))?;
    let stop = session::stop_flag();
    let port = Port::open(PORT)?;
    let mut written = foresee::study(Path::new(STUDY))?;
    written.measure_on(&task.cpus);
    let foreseen = Foreseen::unjudged(session, written, Path::new(STUDY))?;
    let kernel = &foreseen.machine.kernel;
    let up = Up {
        release: kernel.release.clone(),
        cmdline: kernel.cmdline.as_ref().map(|line| line.text.clone()),
    };
    port.send(&Told::Up(up).frame())?;
    for [block, cell] in task.runs {
        let place = Place { block, cell };
        port.send(&Told::Begins(place).frame())?;
        let told = match one(session, &foreseen, place, stop, screen) {
            Ok(Some(bytes)) => Told::Result(place, bytes),
            Ok(None) => return Ok(Status::Failed),
            Err(error) => Told::Refused(
                place,
                Refusal {
                    what: error.what,
                    why: error.why,
                },
            ),
        };
        port.send(&told.frame())?;
    }
    port.send(&Told::Done.frame())?;
    Ok(Status::Done)
}

/// One run, where the cell is possible here. `None` when somebody stopped it.
fn one(
    session: &Session,
    foreseen: &Foreseen,
    place: Place,
    stop: &AtomicBool,
    screen: &Screen,
) -> Result<Option<Vec<u8>>, CommandError> {
    let Some(cell) = foreseen.study.cells.get(place.cell) else {
        return Err(CommandError::usage(
            "there is no such cell",
            format!("the study has {}", foreseen.study.cells.len()),
            "give the guest its own study",
        ));
    };
    foreseen
        .possible(session, cell)
        .map_err(|why| CommandError::usage(format!("{} is impossible in its guest", cell.name), why, ""))?;
    conduct::rest(foreseen.study.cool_down, stop);
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    conduct::one(session, foreseen, cell, stop, screen)
}
