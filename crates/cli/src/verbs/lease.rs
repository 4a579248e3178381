//! `lease`: gives CPUs of the pool to an owner until it ends.

use crate::intent::{KindWord, ProfileWord};
use crate::plans;
use plan::Level;
use report::{LeaseReport, lease_next, lease_verdict};
use root::{Failure, Status};
use session::Session;
use session::leasing::{LeaseRequest, PendingLease};
use std::time::Duration;
use terminal::{Screen, StepLine};

/// Arguments of `lease`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["cpus", "count"]))]
pub struct Args {
    /// Lease these CPUs of the pool: 2-3, 0xc, core-of:3
    #[arg(long, value_name = "CPUS", conflicts_with_all = ["near", "kind"])]
    cpus: Option<String>,
    /// Lease this many CPUs of the pool, as whole cores
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Choose CPUs near a device or node: eth0, 0000:3b:00.0, node:1
    #[arg(long, value_name = "DEVICE")]
    near: Option<String>,
    /// Choose this kind of core
    #[arg(long, value_name = "KIND")]
    kind: Option<KindWord>,
    /// How much to change [default: the profile of the pool]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileWord>,
    /// Wait this long for CPUs; requests are served in order
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration, default_value = "0s")]
    wait: Duration,
    /// The lease ends with this: pid:N, unit:NAME, cgroup:PATH, container:ID, domain:NAME
    ///
    /// Here, a domain is a virtual machine of libvirt. `manual` is a lease that only `release` ends. An owner has one lease;
    /// the same request again returns it.
    #[arg(long = "for", value_name = "OWNER")]
    owner: String,
}

/// Runs the command.
///
/// # Errors
/// No pool, no such owner, no free CPUs in time, or a step of the isolation that failed; the machine is then unchanged.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let request = LeaseRequest {
        cpus: args.cpus.clone(),
        count: args.count,
        near: args.near.clone(),
        kind: args.kind.map(Into::into),
        profile: args.profile.map(Into::into),
    };
    let step = StepLine::start(&format!("leasing CPUs to {}", report::safe(&args.owner)), screen);
    let granted = PendingLease::new(session, &request, &args.owner, std::process::id())?.wait(args.wait)?;
    drop(step);
    let lease = &granted.lease;
    screen.json(&LeaseReport::new(
        lease,
        granted.origin,
        &granted.entries,
        &granted.findings,
    ));
    let verdict = lease_verdict(lease, granted.origin);
    let sections = [
        format!("{verdict}{}", lease_next(lease, granted.in_place.as_deref())),
        report::findings_text(&granted.findings, screen.detail(), screen.style()),
        plans::entries(&granted.entries, screen),
    ];
    let sections: Vec<&str> = sections.iter().map(|text| text.trim_start_matches('\n')).collect();
    let shown: Vec<&str> = sections.into_iter().filter(|text| !text.is_empty()).collect();
    screen.report(&verdict, &shown.join("\n"));
    let is_wrong = granted.findings.iter().any(|finding| finding.level == Level::Error);
    Ok(if is_wrong { Status::Failed } else { Status::Done })
}
