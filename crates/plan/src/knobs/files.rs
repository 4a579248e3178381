//! Finds the knob of a file, and the files that knobs plan from.
//!
//! A declaration writes a file as `/sys/block/DISK/queue/rq_affinity`: a single capital letter and `PID` stand for a number,
//! other words in capital letters for a name. A cgroup's name (`/sys/fs/cgroup/NAME/`) may contain slashes.

use super::{KNOBS, Knob};
use machine::capture::{CaptureExtent, ExtraCapture};

/// Files that the model of a machine contains: a plan does not read them again.
const IN_THE_MODEL: &[&str] = &[
    "/etc/",
    "/run/",
    "/proc/irq/",
    "/sys/fs/cgroup/",
    "/sys/devices/virtual/workqueue/cpumask",
];

/// The knobs that a file belongs to.
pub fn of_file(path: &str) -> impl Iterator<Item = &'static Knob> {
    KNOBS.iter().copied().filter(move |knob| knob.has_file(path))
}

impl Knob {
    /// Whether a path is one of its files: `/sys/devices/system/cpu/cpu3/online`, also by another name in sysfs.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        let mut files = self.files.iter().chain(self.related);
        files.any(|file| is_file(file, path))
    }
}

/// Patterns of `machine::settings` for what knobs plan from.
pub fn planned() -> impl Iterator<Item = String> {
    patterns(|knob| [knob.files, knob.reads])
}

/// Patterns of `machine::settings` for what a comparison of two machines needs: the settings that knobs set.
pub fn compared() -> impl Iterator<Item = String> {
    patterns(|knob| [knob.files, &[]])
}

/// What a snapshot contains so that plans and comparisons of it are those of the machine.
pub fn captured() -> impl Iterator<Item = ExtraCapture> {
    planned().map(|pattern| ExtraCapture {
        path: pattern.replace('#', "*"),
        keep: CaptureExtent::Matching,
    })
}

/// Files as patterns of `machine::settings`.
fn patterns(of: fn(&Knob) -> [&'static [&'static str]; 2]) -> impl Iterator<Item = String> {
    let files = KNOBS.iter().flat_map(move |knob| of(knob)).flatten();
    files
        .filter(|file| !IN_THE_MODEL.iter().any(|start| file.starts_with(start)))
        .map(|file| {
            let mut pattern = file.replace("/cpuN/", "/cpu#/");
            while let Some((before, _, after)) = placeholder(&pattern) {
                pattern = format!("{before}*{after}");
            }
            pattern
        })
}

/// Whether a declared file stands for this path.
#[must_use]
pub fn is_file(declared: &str, path: &str) -> bool {
    fits(declared, path) || by_class(path).is_some_and(|path| fits(declared, &path))
}

/// The usual spelling of a path below `/sys/devices`, which is where the links of `/sys/block` and `/sys/class` lead.
fn by_class(path: &str) -> Option<String> {
    if let Some(queue) = path.strip_prefix("/sys/bus/workqueue/devices/") {
        return Some(format!("/sys/devices/virtual/workqueue/{queue}"));
    }
    let device = path.strip_prefix("/sys/devices/")?;
    if let Some((number, file)) = device
        .strip_prefix("system/cpu/cpufreq/policy")
        .and_then(|policy| policy.split_once('/'))
    {
        return Some(format!("/sys/devices/system/cpu/cpu{number}/cpufreq/{file}"));
    }
    let below = |class| device.split_once(class).map(|(_, rest)| rest);
    let disk = below("/block/").map(|rest| format!("/sys/block/{rest}"));
    disk.or_else(|| below("/net/").map(|rest| format!("/sys/class/net/{rest}")))
}

fn fits(declared: &str, path: &str) -> bool {
    let Some((before, word, after)) = placeholder(declared) else {
        return declared == path;
    };
    let Some(rest) = path.strip_prefix(before) else {
        return false;
    };
    let is_number = word.len() == 1 || word == "PID";
    let has_levels = before == "/sys/fs/cgroup/";
    let belongs = |letter: char| match is_number {
        true => letter.is_ascii_digit(),
        false => letter != '/' || has_levels,
    };
    rest.char_indices()
        .take_while(|(_, letter)| belongs(*letter))
        .filter_map(|(start, letter)| rest.get(start + letter.len_utf8()..))
        .any(|rest| fits(after, rest))
}

/// The first word in capital letters, and the text before and after it.
fn placeholder(declared: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = declared.split_at(declared.find(|letter: char| letter.is_ascii_uppercase())?);
    let end = rest.find(|letter: char| !letter.is_ascii_uppercase());
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    Some((before, word, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_declared_knob_files() {
        let check = |declared: &str, path: &str, expected| {
            assert_eq!(is_file(declared, path), expected, "{declared} {path}");
        };
        let governor = "/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor";
        check(governor, "/sys/devices/system/cpu/cpu11/cpufreq/scaling_governor", true);
        check(
            governor,
            "/sys/devices/system/cpu/cpufreq/policy3/scaling_governor",
            true,
        );
        check(governor, "/sys/devices/system/cpu/cpu/cpufreq/scaling_governor", false);
        check(governor, "/sys/devices/system/cpu/cpux/cpufreq/scaling_governor", false);
        let queue = "/sys/class/net/IF/queues/rx-N/rps_cpus";
        check(queue, "/sys/class/net/eth0.2/queues/rx-12/rps_cpus", true);
        check(
            queue,
            "/sys/devices/pci0000:00/0000:00:02.0/net/eth0/queues/rx-0/rps_cpus",
            true,
        );
        check(queue, "/sys/class/net/a/b/queues/rx-0/rps_cpus", false);
        check(
            "/sys/block/DISK/queue/x",
            "/sys/devices/virtual/block/dm-0/queue/x",
            true,
        );
        let procs = "/sys/fs/cgroup/NAME/cgroup.procs";
        check(procs, "/sys/fs/cgroup/a.slice/b/cgroup.procs", true);
        check(procs, "/sys/fs/cgroup/cgroup.procs", false);
        check("/run/x/irqbalancePID.sock", "/run/x/irqbalance7.sock", true);
    }
}
