//! `release`: ends leases.

use report::LeaseSummary;
use root::{Failure, Status};
use serde::Serialize;
use session::leasing::{ReleaseTarget, release};
use session::{EndedLease, Session};
use terminal::{Screen, StepLine};

/// Arguments of `release`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["id", "owner"]))]
pub struct Args {
    /// Number of the lease
    #[arg(value_name = "ID")]
    id: Option<u64>,
    /// Release what this owner has: pid:N, unit:NAME, cgroup:PATH, container:ID, domain:NAME, manual
    ///
    /// An owner without a lease is no error.
    #[arg(long = "for", value_name = "OWNER")]
    owner: Option<String>,
}

/// JSON of `release`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ReleaseJson {
    schema: &'static str,
    /// The leases that ended.
    released: Vec<ReleasedLeaseJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ReleasedLeaseJson {
    #[serde(flatten)]
    lease: LeaseSummary,
    /// Whether its partition is still there, because something could not be undone. The next command tries again.
    open: bool,
    /// What differs from the state before the lease, with the reason.
    remains: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// No such lease, text that is no owner, no permission, or a journal that cannot be read.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let target = match (&args.owner, args.id) {
        (Some(owner), _) => ReleaseTarget::Owner(owner.clone()),
        (None, id) => ReleaseTarget::Id(id.unwrap_or_default()),
    };
    session::stop_flag();
    let step = StepLine::start("releasing", screen);
    let ended = release(session, &target)?;
    drop(step);
    let json = |end: &EndedLease| ReleasedLeaseJson {
        lease: LeaseSummary::of(&end.lease, false),
        open: end.is_open,
        remains: end.remains.clone(),
    };
    screen.json(&ReleaseJson {
        schema: "quietcore.release/1",
        released: ended.iter().map(json).collect(),
    });
    let mut text: String = ended.iter().map(released_text).collect();
    if let (true, Some(owner)) = (ended.is_empty(), &args.owner) {
        text = format!("{} has no lease; nothing was changed.\n", report::safe(owner));
    }
    screen.verdict(&text);
    Ok(match ended.iter().all(|end| end.remains.is_empty()) {
        true => Status::Done,
        false => Status::Conflict,
    })
}

fn released_text(end: &EndedLease) -> String {
    let (id, cpus) = (end.lease.id, &end.lease.cpus);
    let mut text = match (end.is_open, end.remains.is_empty()) {
        (true, _) => {
            format!("Lease {id} of CPU {cpus} could not be undone completely; the next command tries again.\n")
        }
        (false, true) => format!("Lease {id} of CPU {cpus} is released; everything is as it was before.\n"),
        (false, false) => format!("Lease {id} of CPU {cpus} is released; everything else is as it was before.\n"),
    };
    let label = if end.is_open { "not undone" } else { "left alone" };
    for line in &end.remains {
        text.push_str(&format!("{label}: {line}\n"));
    }
    text
}
