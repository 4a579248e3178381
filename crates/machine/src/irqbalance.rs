//! Finds the socket of irqbalance, the daemon that distributes interrupts, and parses its answers.
//!
//! Source: version 1.9.2 of Debian 12, and its manual page (irqbalance(1), section API). The answer to `setup` is
//! `SLEEP 10 [IRQ n LOAD n DIFF n CLASS n ...] BANNED 00000008`: seconds between two scans, banned interrupts, banned
//! CPUs. `settings cpus LIST` replaces the banned CPUs (one word, as a list with commas and ranges).
//! `settings cpus NULL` restores those found at start. Both take effect at the next scan; from then on `BANNED` shows them.

mod arguments;
mod configured;
mod file_names;
mod service;

use crate::reading::RootReader;
use crate::{CpuSet, Task, TaskKey};
use root::{Address, Root};
use std::collections::BTreeSet;

pub use configured::{ConfiguredBan, UnknownIrqbalanceRule};
pub(crate) use configured::{configured, environment_files, unjudged};
pub(crate) use service::patterns as unit_patterns;

/// The answer of irqbalance to `setup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Seconds between two scans of the interrupts.
    pub interval_s: u64,
    /// CPUs that get no interrupt, as of its last scan.
    pub banned: CpuSet,
}

/// Directory of its sockets.
const SOCKETS: &str = "/run/irqbalance";
/// The list of abstract socket names, which have no file.
const ABSTRACT: &str = "/proc/net/unix";

/// Parses an answer to `setup`; `None` for text in another format.
#[must_use]
pub fn parse_setup(answer: &str) -> Option<Setup> {
    let after = |word: &str| {
        let mut words = answer.split_whitespace().skip_while(move |one| *one != word);
        words.nth(1)
    };
    Some(Setup {
        interval_s: after("SLEEP")?.parse().ok()?,
        banned: CpuSet::parse_mask(after("BANNED")?).ok()?,
    })
}

/// The socket addresses of the irqbalance with this process number: a file; or an abstract name if it could create none
/// (and before 1.5), which some versions pad with zeros.
#[must_use]
pub fn addresses(pid: u32) -> [Address; 3] {
    let name = socket_name(pid);
    let whole = format!("{name:\0<107}");
    [
        Address::File(format!("{SOCKETS}/{name}")),
        Address::Abstract(name),
        Address::Abstract(whole),
    ]
}

/// The name of its socket.
pub(crate) fn socket_name(pid: u32) -> String {
    format!("irqbalance{pid}.sock")
}

/// Whether this process still is that daemon.
#[must_use]
pub fn is_running(root: &Root, daemon: TaskKey) -> bool {
    crate::tasks::read_one(root, daemon.tid).is_some_and(|task| task.key == daemon && task.state != 'Z')
}

/// The interrupts that the running irqbalance never places, by its command line: those of `--banirq`, and of PCI
/// devices whose driver is named by `--banmod`. Empty if the command line cannot be read.
#[must_use]
pub fn left_alone(root: &Root, daemon: &Task) -> BTreeSet<u32> {
    arguments::left_alone(root, daemon.pid)
}

/// The file that holds its command line.
pub(crate) fn command_line(pid: u32) -> String {
    format!("/proc/{pid}/cmdline")
}

/// The names of all sockets of irqbalance, with or without a file.
pub(crate) fn sockets(reader: &RootReader) -> Vec<String> {
    let is_it = |name: &str| name.starts_with("irqbalance") && name.ends_with(".sock");
    let entries = reader.entries(SOCKETS).unwrap_or_default();
    let mut names: Vec<String> = entries
        .into_iter()
        .map(|entry| entry.name)
        .filter(|name| is_it(name))
        .collect();
    if names.is_empty() {
        reader.lines(ABSTRACT, &mut |line| {
            let text = String::from_utf8_lossy(line);
            let name = text
                .rsplit_once(" @")
                .map(|(_, name)| name.trim_end_matches(['@', '\n']));
            names.extend(name.filter(|name| is_it(name)).map(str::to_owned));
        });
    }
    names
}

/// The CPUs that it bans by itself: those of its environment, else those of the boot line. `None` if the environment
/// cannot be read.
#[must_use]
pub fn own_bans(root: &Root, daemon: TaskKey) -> Option<CpuSet> {
    let environment = root.text(&format!("/proc/{}/environ", daemon.tid)).ok()??;
    let set = |name: &str| {
        let mut variables = environment.split('\0');
        variables.find_map(|variable| {
            variable
                .strip_prefix(name)?
                .strip_prefix('=')
                .filter(|text| !text.is_empty())
        })
    };
    if let Some(mask) = set("IRQBALANCE_BANNED_CPUS") {
        return CpuSet::parse_mask(mask).ok();
    }
    if let Some(list) = set("IRQBALANCE_BANNED_CPULIST") {
        return CpuSet::parse_list(list).ok();
    }
    let reader = RootReader::new(root);
    let of = |name: &str| {
        reader
            .list(&format!("/sys/devices/system/cpu/{name}"))
            .unwrap_or_default()
    };
    Some(of("isolated").or(&of("nohz_full")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setup_answers_are_parsed() {
        let check = |text: &str, expected: Option<(u64, &str)>| {
            let setup = parse_setup(text).map(|setup| (setup.interval_s, setup.banned.to_string()));
            assert_eq!(setup, expected.map(|(s, list)| (s, list.to_owned())), "of {text:?}");
        };
        check("SLEEP 10 BANNED 00000000", Some((10, "")));
        check(
            "SLEEP 10 IRQ 24 LOAD 0 DIFF 3 CLASS 5 BANNED 00000001,00000008",
            Some((10, "3,32")),
        );
        check("SLEEP 10 BANNED ", None);
        check("BANNED 8", None);
        check("SLEEP x BANNED 8", None);
        check("", None);
    }

    #[test]
    fn socket_addresses_depend_on_the_pid() {
        let [file, plain, whole] = addresses(412);
        assert_eq!(file.text(), "/run/irqbalance/irqbalance412.sock");
        assert_eq!(
            (plain.text(), whole.text()),
            ("@irqbalance412.sock".to_owned(), "@irqbalance412.sock".to_owned())
        );
        assert!(matches!(whole, Address::Abstract(name) if name.len() == 107));
    }
}
