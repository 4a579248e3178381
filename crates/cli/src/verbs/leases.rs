//! `leases`: shows the pool, the leases and the requests that wait.

use report::{LeaseSummary, LeasesReport, PoolSummary, WaitingSummary};
use root::{Failure, Status};
use session::{Session, leasing};
use terminal::Screen;

/// Arguments of `leases`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// No permission, a declared pool that cannot be used, or files that cannot be read.
pub fn run(_args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let list = leasing::list(session)?;
    let pool = list.pool.map(|pool| PoolSummary {
        cpus: pool.cpus,
        free: list.free,
        profile: pool.profile,
        reserve: pool.reserve,
    });
    let leases = list.leases.iter().map(|(lease, owner)| LeaseSummary::of(lease, *owner));
    let report = LeasesReport::new(pool, leases.collect(), list.waiting.iter().map(WaitingSummary::from));
    screen.document(&report.text());
    screen.json(&report);
    Ok(Status::Done)
}
