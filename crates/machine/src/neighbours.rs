//! Reads the files of programs that assign CPUs themselves: TuneD and the kubelet.

mod tuned;

use crate::reading::RootReader;
use crate::{CpuId, CpuSet, Topology};
use std::collections::BTreeMap;

/// TuneD, as far as its files show. Whether it runs can be seen from the tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// `/etc/tuned/active_profile`: one name, or several.
    pub profile: String,
    /// The file that sets `isolated_cores`, or is meant to: one of the profile, an included one, or `NAME-variables.conf`.
    pub variables: Option<String>,
    /// `isolated_cores` in it; `None` if it is not set, or set by an unknown formula.
    pub isolated_cores: Option<CpuSet>,
    /// Every file that was read for this, except `active_profile`.
    pub files: Vec<String>,
}

/// The kubelet's CPU manager: `/var/lib/kubelet/cpu_manager_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuManager {
    /// `none` or `static`.
    pub policy: String,
    /// CPUs of all containers without exclusive ones.
    pub shared: CpuSet,
    /// Exclusive CPUs of containers: pod, container, CPUs.
    pub exclusive: Vec<(String, String, CpuSet)>,
}

/// The file that the kubelet writes.
pub const CPU_MANAGER_STATE: &str = "/var/lib/kubelet/cpu_manager_state";

pub(crate) fn tuned(reader: &RootReader, topology: &Topology) -> Option<Tuned> {
    let profile = reader
        .value("/etc/tuned/active_profile")
        .filter(|profile| !profile.is_empty())?;
    let profiles = tuned::read(reader, &profile);
    let mut files = profiles.files;
    // Without the profiles' own files, as in older snapshots, the usual name is used.
    let by_name = || {
        profile.split_whitespace().find_map(|name| {
            // The name becomes part of a path.
            let is_plain = !name.contains('/') && name.len() < 100;
            let path = format!("/etc/tuned/{name}-variables.conf");
            let text = is_plain.then(|| reader.text(&path)).flatten()?;
            Some((path, text))
        })
    };
    let variables = match profiles.isolated_cores {
        Some((path, value)) => Some((path, format!("isolated_cores={value}"))),
        None => by_name(),
    };
    files.extend(variables.iter().map(|(path, _)| path.clone()));
    files.sort_unstable();
    files.dedup();
    let named = variables.as_ref().and_then(|(_, text)| parse_isolated_cores(text));
    if let (Some((path, text)), None) = (&variables, &named)
        && let Some(value) = isolated_cores_text(text).filter(|value| !value.is_empty())
    {
        let why =
            format!("isolated_cores={value} cannot be parsed as a list of CPUs, so what TuneD isolates is unknown");
        reader.note(path, &why);
    }
    let isolated_cores = named
        .map(|cores| match cores {
            IsolatedCores::Named(cpus) => cpus,
            IsolatedCores::AllBut(reserved) => all_but(reserved, topology),
        })
        .filter(|cpus| !cpus.is_empty());
    Some(Tuned {
        profile,
        variables: variables.map(|(path, _)| path),
        isolated_cores,
        files,
    })
}

/// The value of `isolated_cores`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsolatedCores {
    /// These CPUs.
    Named(CpuSet),
    /// All except the first N of each package: `${f:calc_isolated_cores:N}`; TuneD's own files have 1.
    AllBut(usize),
}

/// The text after the last `isolated_cores=`.
fn isolated_cores_text(text: &str) -> Option<&str> {
    let value = |line| {
        let rest = str::trim(line).strip_prefix("isolated_cores")?;
        Some(rest.trim_start().strip_prefix('=')?.trim())
    };
    text.lines().filter_map(value).next_back()
}

/// `isolated_cores` in a file of variables (`cpu-partitioning-variables.conf`); the last one counts.
#[must_use]
pub fn parse_isolated_cores(text: &str) -> Option<IsolatedCores> {
    let last = isolated_cores_text(text)?;
    if let Some(call) = last.strip_prefix("${f:calc_isolated_cores") {
        let argument = call.strip_suffix('}')?;
        let reserved = match argument.strip_prefix(':') {
            Some(number) => number.parse().ok()?,
            None if argument.is_empty() => 1,
            None => return None,
        };
        return Some(IsolatedCores::AllBut(reserved));
    }
    // The list may be quoted there.
    let list = CpuSet::parse_list(last.trim_matches(['"', '\'']));
    list.ok().map(IsolatedCores::Named)
}

/// As TuneD computes it: CPUs of an unknown package belong to none.
fn all_but(reserved: usize, topology: &Topology) -> CpuSet {
    let mut packages: BTreeMap<i64, Vec<CpuId>> = BTreeMap::new();
    for cpu in &topology.cpus {
        if let Some(package) = cpu.package.filter(|package| *package >= 0) {
            packages.entry(package).or_default().push(cpu.id);
        }
    }
    packages
        .into_values()
        .flat_map(|cpus| cpus.into_iter().skip(reserved))
        .collect()
}

pub(crate) fn cpu_manager(reader: &RootReader) -> Option<CpuManager> {
    let text = reader.text(CPU_MANAGER_STATE)?;
    let state = parse_cpu_manager_state(&text);
    if state.is_none() {
        reader.note(CPU_MANAGER_STATE, &"it does not contain the CPU manager's state");
    }
    state
}

/// Parses the checkpoint: `{"policyName":"static","defaultCpuSet":"0-1","entries":{"POD":{"NAME":"2-3"}},"checksum":1}`.
#[must_use]
pub fn parse_cpu_manager_state(text: &str) -> Option<CpuManager> {
    let state: serde_json::Value = serde_json::from_str(text).ok()?;
    let list = |value: &serde_json::Value| CpuSet::parse_list(value.as_str()?).ok();
    let mut exclusive = Vec::new();
    for (pod, containers) in state["entries"].as_object().into_iter().flatten() {
        for (name, cpus) in containers.as_object().into_iter().flatten() {
            exclusive.push((pod.clone(), name.clone(), list(cpus)?));
        }
    }
    Some(CpuManager {
        policy: state["policyName"].as_str()?.to_owned(),
        shared: list(&state["defaultCpuSet"]).unwrap_or_default(),
        exclusive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_cores_of_tuned_are_parsed() {
        let check = |text: &str, expected: Option<&str>| {
            let found = parse_isolated_cores(text).map(|cores| match cores {
                IsolatedCores::Named(cpus) => cpus.to_string(),
                IsolatedCores::AllBut(reserved) => format!("all but {reserved}"),
            });
            assert_eq!(found.as_deref(), expected, "of {text:?}");
        };
        check(
            "# isolated_cores=2,4-7\n# isolated_cores=2-23\nisolated_cores=2-3\n",
            Some("2-3"),
        );
        check(" isolated_cores = 4\nno_balance_cores=5\n", Some("4"));
        check("isolated_cores=1\nisolated_cores=3\n", Some("3"));
        check("isolated_cores=${f:calc_isolated_cores:1}\n", Some("all but 1"));
        check("isolated_cores=${f:calc_isolated_cores}\n", Some("all but 1"));
        check("isolated_cores=${f:calc_isolated_cores:-1}\n", None);
        check("isolated_cores=${f:calc_isolated_cores:1\n", None);
        check("isolated_cores=${f:cpulist_invert:0}\n", None);
        check("isolated_cores=\"2,4-5\"\n", Some("2,4-5"));
        check("isolated_cores_x=1\n", None);
        check("", None);
    }

    #[test]
    fn the_state_of_the_cpu_manager_is_parsed() {
        let text = r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"0a-1b":{"web":"2-3"}},"checksum":7}"#;
        let state = parse_cpu_manager_state(text).unwrap();
        assert_eq!(
            (state.policy.as_str(), state.shared.to_string()),
            ("static", "0-1".to_owned())
        );
        let [(pod, name, cpus)] = state.exclusive.as_slice() else {
            panic!()
        };
        assert_eq!(
            (pod.as_str(), name.as_str(), cpus.to_string()),
            ("0a-1b", "web", "2-3".to_owned())
        );
        let none = parse_cpu_manager_state(r#"{"policyName":"none","defaultCpuSet":"","checksum":1}"#).unwrap();
        assert!(none.exclusive.is_empty() && none.shared.is_empty());
        for wrong in ["", "{}", "[]", r#"{"policyName":"static","entries":{"a":{"b":"x"}}}"#] {
            assert_eq!(parse_cpu_manager_state(wrong), None, "of {wrong:?}");
        }
    }
}
