//! `inspect`: shows the hardware and the current isolation.

use crate::reading::ReadingArgs;
use report::{InspectView, PartDetail};
use root::{Failure, Origin, Status};
use session::Session;
use session::isolation::existing_cpus;
use terminal::{OutputFormat, Screen, Volume};

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,
    /// Show the tasks that may run, and do run, on the isolated CPUs or --cpus
    #[arg(long)]
    tasks: bool,
    /// Show the interrupts that may fire, and did fire, on the isolated CPUs or --cpus
    #[arg(long)]
    irqs: bool,
    /// Show only these CPUs
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let root = session.root();
    let mut machine = session.machine();
    // The text output marks busy CPUs, so it needs the tasks in every case but one.
    if args.tasks || (screen.form == OutputFormat::Text && !args.irqs) {
        machine = machine.with_tasks(root);
    }
    if args.irqs {
        machine = machine.with_interrupts(root);
    }
    let cpus = args
        .cpus
        .as_deref()
        .map(|expression| existing_cpus(expression, &machine))
        .transpose()?;
    let part = |is_requested: bool| match (is_requested, screen.volume) {
        (false, _) => PartDetail::Left,
        (true, Volume::Verbose) => PartDetail::Whole,
        (true, _) => PartDetail::Shortened,
    };
    let own_pid = (root.origin() == Origin::Live).then(std::process::id);
    let view = InspectView {
        tasks: part(args.tasks),
        interrupts: part(args.irqs),
        cpus,
        own_pid,
    };
    match screen.form {
        OutputFormat::Json => screen.stream(|out| report::inspect_json(&machine, &view, out)),
        OutputFormat::Text => screen.document(&report::inspect_text(&machine, &view, screen.style())),
    }
    Ok(Status::Done)
}
