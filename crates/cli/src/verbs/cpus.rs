//! `cpus`: prints a CPU expression in every notation.

use crate::reading::ReadingArgs;
use machine::CpuSet;
use report::CpusReport;
use root::{Failure, Status};
use session::Session;
use session::isolation;
use terminal::Screen;

/// Arguments of `cpus`.
#[derive(clap::Args)]
pub struct Args {
    /// A CPU expression, as every command takes it for CPUS: 2-3,8, 0xc, core-of:3
    ///
    /// A list (2-3,8), a mask (0xc, ff,ffffffff), N (the last CPU), `all`, or topology words (package:1, node:0, llc-of:7,
    /// core-of:3, online, performance), joined by commas. This command also takes a script of bitcalc ('#0-3 #2 xor'),
    /// where bare words are masks.
    #[arg(value_name = "CPUS", allow_hyphen_values = true)]
    expression: String,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let machine = session.machine();
    let cpus = match is_script(&args.expression) {
        true => of_script(&args.expression)?,
        false => isolation::cpus(&args.expression, &machine)?,
    };
    let report = CpusReport::new(&args.expression, &cpus, &machine.topology.online);
    screen.report(&format!("{cpus}\n"), &report.text());
    screen.json(&report);
    Ok(Status::Done)
}

/// No CPU expression contains blanks or starts like this.
fn is_script(expression: &str) -> bool {
    expression.trim().contains(' ') || expression.starts_with(['#', '&'])
}

#[cfg(not(feature = "compat"))]
fn of_script(_script: &str) -> Result<CpuSet, Failure> {
    Err(Failure::usage(
        "this quietcore cannot read scripts of bitcalc",
        "it was built without the feature `compat`",
        "write a list such as 2-3,7, or a mask",
    ))
}

#[cfg(feature = "compat")]
fn of_script(script: &str) -> Result<CpuSet, Failure> {
    use compat::bitcalc;
    bitcalc::evaluate(script)
        .and_then(|bits| bitcalc::cpus(&bits))
        .map_err(|why| {
            Failure::usage(
                "the script is not valid",
                report::safe(&why.to_string()),
                "write values and operators in postfix notation: '#0-3 #2 xor'; `quietcore bitcalc -h` lists them",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitcalc_scripts_are_distinguished_from_cpu_expressions() {
        for script in ["#1-3", "&4", "7f f and", "#0-3 #2 xor"] {
            assert!(is_script(script), "{script}");
        }
        for expression in ["1-3", "0xc", "all", "ff,ffffffff", "core-of:3", " 3 "] {
            assert!(!is_script(expression), "{expression}");
        }
        assert_eq!(of_script("#0-3 #2 xor").unwrap().to_string(), "0-1,3");
        assert!(of_script("1 2").is_err());
    }
}
