//! `plan`: every change that an isolation needs, as data, before anything is done.

use crate::intent::Wanted;
use crate::reading::Reading;
use crate::screen::{Form, Volume};
use crate::{CommandError, Screen, Status};
use machine::Machine;
use report::Length;

/// Arguments of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    reading: Reading,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = args.reading.open()?;
    let machine = Machine::read(&root).with_tasks(&root).with_interrupts(&root);
    let (_, plan) = args.wanted.plan(&machine, &root)?;
    let length = if screen.volume == Volume::Verbose {
        Length::Whole
    } else {
        Length::Short
    };
    match screen.form {
        Form::Json => screen.stream(|out| report::plan_json(&plan, out)),
        Form::Text => screen.text(&report::plan_text(&plan, length, screen.style())),
    }
    Ok(Status::Done)
}
