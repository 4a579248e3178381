//! Builds the static binaries and runs the lab with them.

use crate::error::{Done, XtaskError, build_static, target_dir, top};
use crate::suite::Totals;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Runs the scenarios that fit the filter and shows their lines as they come.
///
/// # Errors
/// [`XtaskError`] when the lab cannot be built or started.
pub fn run(filter: &[&str]) -> Done<Totals> {
    let binaries = build_static(&["quietcore", "lab"])?;
    let failed = |error: std::io::Error| XtaskError::Program {
        program: "lab".into(),
        why: error.to_string(),
    };
    let mut child = Command::new(binaries.join("lab"))
        .arg("run")
        .args(filter)
        .current_dir(top())
        .env("QUIETCORE_BIN", binaries.join("quietcore"))
        .env("LAB_GUEST_BIN", binaries.join("lab-guest"))
        .env("LAB_OUT", target_dir().join("lab"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut totals = None;
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        let line = line.map_err(failed)?;
        match closing_line(&line) {
            Some(sums) => totals = Some(sums),
            None => println!("{line}"),
        }
    }
    child.wait().map_err(failed)?;
    // A lab that died says nothing; that is a failure, not an empty success.
    let totals = totals.unwrap_or(Totals {
        failed: 1,
        ..Totals::default()
    });
    println!(
        "      {} passed, {} failed, {} skipped, {} unstable",
        totals.passed, totals.failed, totals.skipped, totals.unstable
    );
    Ok(totals)
}

fn closing_line(line: &str) -> Option<Totals> {
    let mut parts = line.split(", ");
    let mut number = |word: &str| parts.next()?.strip_suffix(word)?.trim().parse().ok();
    Some(Totals {
        passed: number("passed")?,
        failed: number("failed")?,
        skipped: number("skipped")?,
        unstable: number("unstable")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closing_line_is_one() {
        assert_eq!(
            closing_line("3 passed, 1 failed, 2 skipped, 4 unstable"),
            Some(Totals {
                passed: 3,
                failed: 1,
                skipped: 2,
                unstable: 4
            })
        );
        assert_eq!(closing_line("ok    boots 6.1/v1  6.0 s  8 claims"), None);
    }
}
