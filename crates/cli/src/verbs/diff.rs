//! `diff`: shows what changed between two snapshots, or between one and now.

use crate::reading::captured;
use plan::diff::MachineReading;
use root::{Failure, Origin, Status};
use session::Session;
use session::isolation::cpus;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `diff`.
#[derive(clap::Args)]
pub struct Args {
    /// The earlier snapshot: an archive, or a directory
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later snapshot [default: this machine as it is now]
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    /// CPUs that matter [default: those that are isolated in one of the two]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let before = reading(&captured(session, &args.before)?);
    let after = match &args.after {
        Some(path) => reading(&captured(session, path)?),
        None => reading(session),
    };
    let matter = args
        .cpus
        .as_deref()
        .map(|expression| cpus(expression, &after.machine))
        .transpose()?;
    let diff = plan::diff::diff(&before, &after, matter.as_ref());
    screen.json(&report::diff_json(&diff));
    let text = report::diff_text(&diff, screen.detail(), screen.style());
    screen.report(&report::diff_verdict(&diff), &text);
    Ok(Status::Done)
}

fn reading(session: &Session) -> MachineReading {
    let root = session.root();
    MachineReading {
        machine: session.machine().with_tasks_and_interrupts(root),
        settings: machine::settings::read(root, plan::knobs::compared()),
        own_pid: (root.origin() == Origin::Live).then(std::process::id),
    }
}
