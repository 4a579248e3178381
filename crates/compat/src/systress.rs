//! Implements `systress`: a run from its configuration file, with its screen and its text file. The options are those of
//! its manual page, as printed in the article on `isolcpus` and cpusets.

use crate::CompatOutcome;
use root::{Failure, Status};
use std::ffi::OsString;
use std::path::PathBuf;
use terminal::Screen;

const USAGE: &str = "\
usage: systress [-c|--cfg CFG_FILE] [-d DBG_LEVEL] [-h] [-V]

Runs the timer threads and programs of a configuration file, shows their latencies, and writes the statistics of each
to its file.

  -c, --cfg CFG_FILE  the configuration file
  -d DBG_LEVEL        accepted without effect: there are no debug levels
  -h                  shows this help
  -V                  shows the version
";

/// The name of the tool.
pub const NAME: &str = "systress";

/// Translates its command line to that of `quietcore measure run`.
pub fn translate(args: &[OsString], screen: &mut Screen) -> CompatOutcome {
    let status = match parse_arguments(args) {
        Ok(SystressInvocation::Help) => {
            screen.text(USAGE);
            Status::Done
        }
        Ok(SystressInvocation::Version) => {
            screen.text(&format!(
                "systress front end of quietcore {}\n",
                env!("CARGO_PKG_VERSION")
            ));
            Status::Done
        }
        Ok(SystressInvocation::Run(file)) => {
            let words = ["quietcore", "--color=never", "measure", "run", "--"].map(OsString::from);
            return CompatOutcome::Instead(words.into_iter().chain([file.into_os_string()]).collect());
        }
        Err(error) => screen.error(&error),
    };
    CompatOutcome::Finished(screen.final_status(status))
}

#[derive(Debug, PartialEq, Eq)]
enum SystressInvocation {
    Help,
    Version,
    Run(PathBuf),
}

fn parse_arguments(args: &[OsString]) -> Result<SystressInvocation, Failure> {
    let mut file = None;
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let text = word.to_string_lossy();
        let mut value = |name: &str| {
            let given = args.next().cloned();
            given.ok_or_else(|| wrong(&format!("{name} has no value")))
        };
        match text.as_ref() {
            "-h" | "--help" => return Ok(SystressInvocation::Help),
            "-V" | "--version" => return Ok(SystressInvocation::Version),
            "-c" | "--cfg" => file = Some(PathBuf::from(value(&text)?)),
            "-d" => {
                let level = value("-d")?;
                if level.to_string_lossy().parse::<u32>().is_err() {
                    return Err(wrong("-d needs a number"));
                }
            }
            other => match other.strip_prefix("--cfg=") {
                Some(path) if !path.is_empty() => file = Some(PathBuf::from(path)),
                _ => return Err(wrong(&format!("`{other}` is not an option"))),
            },
        }
    }
    file.filter(|file: &PathBuf| !file.as_os_str().is_empty())
        .map(SystressInvocation::Run)
        .ok_or_else(|| wrong("there is no configuration file: specify one with --cfg"))
}

fn wrong(why: &str) -> Failure {
    Failure::usage("the arguments of systress are not valid", why, "see systress -h")
}
