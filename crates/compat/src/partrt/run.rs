//! Implements `partrt run`: runs a program in a partition. The process places itself and executes the program in its place.

use super::names::{self, PartrtTarget};
use super::{ParsedOption, PartrtError, getopts, mask, outside, wrong};
use machine::{CpuSet, Machine};
use root::{Failure, Status};
use session::partition;
use session::policy::{self, SchedulingPolicy};
use session::{ChangeLock, Session};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The parsed command line.
#[derive(Debug, Default)]
struct PartrtRunOptions {
    cpus: Option<CpuSet>,
    policy: Option<SchedulingPolicy>,
    partition: String,
    /// The number of words of the command.
    command: usize,
}

/// Runs it; returns only if the program could not be started. `exact` are the same words as raw bytes.
///
/// # Errors
/// Wrong options, no such partition, a refused placement, a program that cannot be started.
pub fn run(session: &Session, words: &[String], exact: &[OsString]) -> Result<(), PartrtError> {
    let request = PartrtRunOptions::parse(words)?;
    let nowhere = || {
        let name = report::safe(&request.partition);
        PartrtError::Message(format!("Could not find cpuset partition: {name}"))
    };
    let changing = session.lock_existing()?.ok_or_else(nowhere)?;
    let root = session.root();
    let machine = session.machine();
    let place = names::find(session, &changing, &machine, &request.partition)?.ok_or_else(nowhere)?;
    let command = exact
        .get(exact.len().saturating_sub(request.command)..)
        .unwrap_or_default();
    if command.is_empty() {
        return Err(PartrtError::Message("No command to execute".to_owned()));
    }
    if let Some(cpus) = request.cpus.as_ref().filter(|cpus| !cpus.is_subset(place.cpus())) {
        return Err(outside(cpus, &request.partition));
    }
    match &place {
        PartrtTarget::Partition(partition) => {
            partition::join(&changing, &machine, partition, request.cpus.as_ref(), &[])?;
        }
        PartrtTarget::Rest(_) => join_rest(&changing, &machine, request.cpus.as_ref())?,
    }
    drop(changing);
    if let Some(policy) = request.policy {
        policy.set_for(0).map_err(|errno| {
            let (why, next) = policy.refused(errno, root, &machine, std::process::id());
            Failure::new(Status::Denied, "the kernel refused the policy", why, next)
        })?;
    }
    Err(partition::become_program(command, &BTreeMap::new()).into())
}

impl PartrtRunOptions {
    fn parse(words: &[String]) -> Result<PartrtRunOptions, PartrtError> {
        let mut request = PartrtRunOptions::default();
        let (found, rest) = getopts(":c:f:hor:", words);
        let realtime = |word: &str, priority: Option<String>| {
            let text = format!("{word}:{}", priority.unwrap_or_default());
            policy::parse(&text).map_err(PartrtError::Message)
        };
        for one in found {
            match one {
                ParsedOption::Option('h', _) => return Err(PartrtError::Usage),
                ParsedOption::Option('c', Some(text)) => request.cpus = mask(&text)?,
                ParsedOption::Option('f', priority) => request.policy = Some(realtime("fifo", priority)?),
                ParsedOption::Option('r', priority) => request.policy = Some(realtime("rr", priority)?),
                ParsedOption::Option('o', _) => {
                    request.policy = Some(policy::parse("other").map_err(PartrtError::Message)?)
                }
                other => return Err(wrong(&other, "")),
            }
        }
        let missing = || PartrtError::Message("Missing mandatory partition name".to_owned());
        let (partition, command) = rest.split_first().ok_or_else(missing)?;
        request.partition = Some(partition.clone())
            .filter(|name| !name.is_empty())
            .ok_or_else(missing)?;
        request.command = command.len();
        Ok(request)
    }
}

/// Moves to where everything else runs: on v1 its cpuset; on v2 out of the partition that this process may be in,
/// otherwise nowhere. The mask is the program's own, as with taskset.
fn join_rest(changing: &ChangeLock, machine: &Machine, cpus: Option<&CpuSet>) -> Result<(), Failure> {
    let to = names::way_out(changing, machine, std::process::id())?;
    if let Some(partition) = to {
        partition::join(changing, machine, &partition, None, &[])?;
    }
    let Some(cpus) = cpus else { return Ok(()) };
    root::sched::set_affinity(0, &cpus.words()).map_err(|errno| {
        let why = std::io::Error::from_raw_os_error(errno).to_string();
        Failure::new(Status::Unable, "the program cannot be pinned", why, "leave out -c")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let message = |failed| match failed {
            PartrtError::Usage => "usage".to_owned(),
            PartrtError::Message(message) | PartrtError::NotStarted(_, message) => message,
        };
        let wanted = PartrtRunOptions::parse(&words).map_err(message)?;
        let cpus = wanted.cpus.map_or_else(|| "-".to_owned(), |cpus| cpus.to_string());
        let policy = wanted.policy.map(|policy| policy.to_former_policy(0));
        let policy = policy.map_or_else(|| "-".to_owned(), |kept| format!("{:?}:{}", kept.policy, kept.priority));
        Ok(format!("{} {cpus} {policy} {}", wanted.partition, wanted.command))
    }

    #[test]
    fn command_lines_of_run_are_parsed() {
        for (line, wanted) in [
            ("-c 0x8 rt cyclictest -n -i 10000 -l 10000", "rt 3 - 6"),
            ("-f 80 rt cmd", "rt - Fifo:80 1"),
            ("-r 50 rt cmd", "rt - Rr:50 1"),
            ("-o rt cmd", "rt - Other:0 1"),
            ("-c 0 nrt cmd -c 1", "nrt - - 3"),
            ("rt", "rt - - 0"),
        ] {
            assert_eq!(parse(line).as_deref(), Ok(wanted), "{line}");
        }
        for (line, message) in [
            ("", "Missing mandatory partition name"),
            ("-f 80", "Missing mandatory partition name"),
            ("-f", "Invalid option: -f missing mandatory argument"),
            ("-q rt cmd", "Invalid option: q "),
            ("-f 0 rt cmd", "`fifo` needs a priority from 1 to 99, as in fifo:80"),
            ("-h", "usage"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()), "{line}");
        }
        assert!(
            parse("-c xyz rt cmd")
                .unwrap_err()
                .starts_with("Error while parsing mask")
        );
    }
}
