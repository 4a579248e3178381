//! `release`: ends leases.

use report::{LeaseSummary, ReleaseReport, ReleasedLease};
use root::{Failure, Status};
use session::Session;
use session::leasing::{ReleaseTarget, release};
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
    let released = ended.iter().map(|end| ReleasedLease {
        lease: LeaseSummary::of(&end.lease, end.owner),
        open: end.is_open,
        remains: end.remains.clone(),
    });
    let report = ReleaseReport::new(released.collect());
    screen.json(&report);
    let mut text = report.text();
    if let (true, Some(owner)) = (ended.is_empty(), &args.owner) {
        text = format!("{} has no lease; nothing was changed.\n", report::safe(owner));
    }
    screen.verdict(&text);
    Ok(match ended.iter().all(|end| end.remains.is_empty()) {
        true => Status::Done,
        false => Status::Conflict,
    })
}
