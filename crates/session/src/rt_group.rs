//! Detects `CONFIG_RT_GROUP_SCHED` limits: a cpu cgroup without real-time runtime refuses FIFO and RR tasks.
//!
//! The kernel returns EPERM when such a task requests the policy (`__sched_setscheduler`), and EINVAL when a real-time task
//! enters such a group (`cpu_cgroup_can_attach`). A v1 cpuset cgroup is not a cpu cgroup, so joining the partition first and
//! requesting the policy afterwards avoids the second.

use machine::{Machine, Version};
use root::Root;

/// A cpu cgroup that has no real-time runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRuntime {
    /// Its path in its hierarchy.
    pub cgroup: String,
    /// The file to write, if it exists (v1).
    pub file: Option<String>,
}

impl NoRuntime {
    /// The cpu cgroup that blocks a task from a real-time policy, if any.
    #[must_use]
    pub fn of(root: &Root, machine: &Machine, tid: u32) -> Option<NoRuntime> {
        let text = root.readable_text(&format!("/proc/{tid}/cgroup"))?;
        let mounts = &machine.cgroups.mounts;
        let v1 = mounts.iter().find(|(version, _, controllers)| {
            *version == Version::V1 && controllers.iter().any(|controller| controller == "cpu")
        });
        if let Some((_, mount, _)) = v1 {
            let cgroup = cpu_cgroup(&text)?;
            let file = format!("{mount}{}/cpu.rt_runtime_us", cgroup.trim_end_matches('/'));
            let runtime = root.readable_value(&file)?;
            return (runtime == "0").then_some(NoRuntime {
                cgroup,
                file: Some(file),
            });
        }
        // v2 has no file for it: no group below the root with the cpu controller has runtime.
        let config = machine.kernel.config.as_ref()?;
        let (_, mount, _) = mounts.iter().find(|(version, ..)| *version == Version::V2)?;
        let cgroup = machine::tasks::parse_cgroup_file(&text, Version::V2)?;
        let has_controller = |path: &str| matches!(root.kind(&format!("{mount}{path}/cpu.weight")), Ok(Some(_)));
        let configured = config.get("CONFIG_RT_GROUP_SCHED").is_some_and(|value| value == "y");
        (configured && cgroup != "/" && has_controller(&cgroup)).then_some(NoRuntime { cgroup, file: None })
    }

    /// Why the kernel refuses.
    #[must_use]
    pub fn why(&self) -> String {
        match &self.file {
            Some(file) => format!(
                "RT_GROUP_SCHED: cpu cgroup {} has no real-time runtime ({file} reads 0)",
                self.cgroup
            ),
            None => format!(
                "RT_GROUP_SCHED: on cgroup v2, a group with the cpu controller, such as {}, cannot contain real-time \
                 tasks",
                self.cgroup
            ),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn next(&self, tid: u32) -> String {
        match &self.file {
            Some(file) => {
                let top = file
                    .strip_suffix(&format!("{}/cpu.rt_runtime_us", self.cgroup.trim_end_matches('/')))
                    .unwrap_or("/sys/fs/cgroup/cpu");
                format!(
                    "`echo 100000 >{file}` gives it 10 % of real time, or `echo {tid} >{top}/tasks` moves the task out"
                )
            }
            None => {
                "remove `cpu` from cgroup.subtree_control above it, or move the task to a group without it".to_owned()
            }
        }
    }
}

/// The path of the v1 hierarchy with the cpu controller in a `cgroup` file.
fn cpu_cgroup(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers
            .split(',')
            .any(|controller| controller == "cpu")
            .then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_controller_is_not_confused_with_cpuset_or_cpuacct() {
        let text = "9:cpuset:/rt\n8:cpuacct:/no\n4:cpu,cpuacct:/user.slice\n0::/x\n";
        assert_eq!(cpu_cgroup(text).as_deref(), Some("/user.slice"));
        assert_eq!(cpu_cgroup("9:cpuset:/rt\n0::/x\n"), None);
    }

    #[test]
    fn the_message_names_the_file_and_the_command() {
        let group = NoRuntime {
            cgroup: "/a".to_owned(),
            file: Some("/cg/cpu/a/cpu.rt_runtime_us".to_owned()),
        };
        assert!(
            group.why().contains("/cg/cpu/a/cpu.rt_runtime_us reads 0"),
            "{}",
            group.why()
        );
        assert!(group.next(7).contains("echo 7 >/cg/cpu/tasks"), "{}", group.next(7));
    }
}
