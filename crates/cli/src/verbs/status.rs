//! `status`: what is isolated by what and since when, the last check, and what to type next. `quietcore` alone prints it too.

use crate::reading::ReadingArgs;
use report::{MachineStatus, StatusRow};
use root::{Failure, Origin, Status};
use session::{LastCheck, Session};
use terminal::Screen;
use verify::intention::every_isolation;

/// Arguments of `status`.
#[derive(clap::Args, Default)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Runs the command.
///
/// # Errors
/// A captured machine that cannot be opened, and a declaration file that cannot be parsed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let opened = args.reading.open(session)?;
    let session: &Session = &opened;
    let machine = session.machine();
    let intention = every_isolation(session, &machine)?;
    let since = session.in_force_since();
    let isolations: Vec<StatusRow> = intention
        .isolations
        .iter()
        .map(|isolation| StatusRow {
            isolation,
            since_s: since
                .iter()
                .find(|(intent, _)| intent.name == isolation.intent.name && isolation.means.isolates())
                .map(|(_, since)| *since),
        })
        .collect();
    // A check before the last change, or of other CPUs, says nothing about what is active now.
    let latest = since.iter().map(|(_, since)| *since).max().unwrap_or(0);
    let isolated = intention.cpus().minus(&intention.not_isolated()).to_string();
    let is_current = |check: &LastCheck| check.at_s >= latest && check.cpus == isolated && !isolated.is_empty();
    let check = session.last_check().filter(is_current);
    let status = MachineStatus {
        online: &machine.topology.online,
        isolations,
        last_check: check
            .as_ref()
            .map(|check| (check.at_s, check.verdict.as_str(), check.errors, check.warnings)),
        is_change_unfinished: session.is_change_under_way(),
        unseen: &intention.unseen,
        needs_root: !intention.unseen.is_empty() && session.root().origin() == Origin::Live,
    };
    screen.json(&report::status_json(&status));
    let text = report::status_text(&status, screen.style());
    screen.report(&report::status_verdict(&status), &text);
    Ok(Status::Done)
}
