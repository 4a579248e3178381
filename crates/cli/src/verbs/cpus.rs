//! `cpus`: a CPU expression in every notation.

use crate::reading::Reading;
use crate::{CommandError, Screen, Status, intent};
use machine::Machine;
use report::CpusReport;

/// Arguments of `cpus`.
#[derive(clap::Args)]
pub struct Args {
    /// A list (2-3,8), a mask (0xc, ff,ffffffff), `N`, `all`, or topology words (package:1, node:0, llc-of:7,
    /// core-of:3, online, performance), joined by commas
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expression: String,
    #[command(flatten)]
    reading: Reading,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = args.reading.open()?;
    let machine = Machine::read(&root);
    let cpus = intent::cpus(&args.expression, &machine)?;
    let report = CpusReport::new(&args.expression, &cpus, &machine.topology.online);
    screen.text(&report.text());
    screen.json(&report);
    Ok(Status::Done)
}
