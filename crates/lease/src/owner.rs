//! Resolves what a lease belongs to, and whether it still exists.

use crate::owner_absence::OwnerAbsence;
use crate::owner_cgroup;
use machine::{Cgroups, TaskKey};
use root::{Failure, Root, Status};
use serde::{Deserialize, Serialize};

/// The forms of an owner.
const OWNER_FORMS: &str = "pid:N, unit:NAME, cgroup:PATH, container:ID, domain:NAME, or manual";

/// Where libvirt writes the process of each running domain (`virPidFileBuildPath`).
const DOMAINS: &str = "/run/libvirt/qemu";

/// Letters of a shorter container identifier are likely to match another container.
const SHORTEST_CONTAINER: usize = 8;

/// What a lease belongs to: it ends with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// As the user wrote it: `pid:12`, `unit:sampler.service`.
    pub name: String,
    /// What it is on this machine.
    pub identity: OwnerIdentity,
}

/// What an owner is on this machine. Numbers and names are reused; an identity is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerIdentity {
    /// Nothing: the lease ends when it is released.
    Manual,
    /// A process.
    Process(TaskKey),
    /// A cgroup.
    Cgroup {
        /// Its directory.
        path: String,
        /// Inode of the directory.
        inode: u64,
    },
}

impl LeaseOwner {
    /// Finds an owner on a machine: `pid:N`, `unit:NAME`, `cgroup:PATH`, `container:ID`, `domain:NAME` or `manual`.
    ///
    /// # Errors
    /// Another form, and an owner that does not exist (status 4).
    pub fn find(text: &str, root: &Root, cgroups: &Cgroups) -> Result<LeaseOwner, Failure> {
        let gone = |why: OwnerAbsence| {
            Failure::unable(
                format!("there is no owner {}", plain(text)),
                why,
                "a lease needs an owner that exists now; `--for manual` needs none",
            )
        };
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let identity = match (kind, name) {
            ("manual", "") => OwnerIdentity::Manual,
            ("", _) | (_, "") => return Err(unknown(text)),
            ("pid", number) => {
                let pid = number.parse().map_err(|_| unknown(text))?;
                OwnerIdentity::Process(process(root, pid).map_err(gone)?)
            }
            ("domain", name) if !name.contains('/') => {
                let file = format!("{DOMAINS}/{name}.pid");
                let pid = root.readable_value(&file).and_then(|pid| pid.parse().ok());
                let pid = pid.ok_or_else(|| gone(OwnerAbsence::NoPidFile { file }))?;
                OwnerIdentity::Process(process(root, pid).map_err(gone)?)
            }
            ("cgroup", path) => {
                let found = owner_cgroup::by_path(root, cgroups, path);
                cgroup(root, found.map_err(gone)?).map_err(gone)?
            }
            ("unit", name) if !name.contains('/') => {
                let found = owner_cgroup::by_name(root, cgroups, &|dir| dir == name);
                cgroup(root, found.map_err(gone)?).map_err(gone)?
            }
            ("container", id) if is_container_id(id) => {
                let found = owner_cgroup::by_name(root, cgroups, &|dir| owner_cgroup::is_of_container(dir, id));
                cgroup(root, found.map_err(gone)?).map_err(gone)?
            }
            _ => return Err(unknown(text)),
        };
        Ok(LeaseOwner {
            name: text.to_owned(),
            identity,
        })
    }

    /// A process that is already known.
    #[must_use]
    pub fn of_process(key: TaskKey) -> LeaseOwner {
        LeaseOwner {
            name: format!("pid:{}", key.tid),
            identity: OwnerIdentity::Process(key),
        }
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// A read error other than its absence: it is then unknown.
    pub fn has_ended(&self, root: &Root) -> Result<bool, Failure> {
        match &self.identity {
            OwnerIdentity::Manual => Ok(false),
            OwnerIdentity::Process(key) => Ok(machine::tasks::has_ended(root, *key)?),
            OwnerIdentity::Cgroup { path, inode } => Ok(root.inode(path)? != Some(*inode)),
        }
    }

    /// Whether two leases of it would be one: every owner but `manual` has one lease.
    #[must_use]
    pub fn is_same(&self, other: &LeaseOwner) -> bool {
        self.identity != OwnerIdentity::Manual && self.identity == other.identity
    }
}

fn process(root: &Root, pid: u32) -> Result<TaskKey, OwnerAbsence> {
    let task = machine::tasks::read_one(root, pid).ok_or(OwnerAbsence::NoProcess { pid })?;
    if task.pid != pid {
        return Err(OwnerAbsence::Thread {
            tid: pid,
            pid: task.pid,
        });
    }
    match machine::tasks::has_ended(root, task.key)? {
        true => Err(OwnerAbsence::Ended { pid }),
        false => Ok(task.key),
    }
}

fn cgroup(root: &Root, path: String) -> Result<OwnerIdentity, OwnerAbsence> {
    match (root.inode(&path)?, root.kind(&path)?) {
        (Some(inode), _) => Ok(OwnerIdentity::Cgroup { path, inode }),
        // A captured machine has no inodes.
        (None, Some(_)) => Ok(OwnerIdentity::Cgroup { path, inode: 0 }),
        (None, None) => Err(OwnerAbsence::NoPath),
    }
}

/// Container identifiers are hexadecimal.
fn is_container_id(id: &str) -> bool {
    id.len() >= SHORTEST_CONTAINER && id.bytes().all(|letter| letter.is_ascii_hexdigit())
}

fn unknown(text: &str) -> Failure {
    Failure::new(
        Status::Usage,
        format!("`{}` is no owner", plain(text)),
        "it has none of the forms of an owner; a container has at least 8 hexadecimal digits",
        format!("write {OWNER_FORMS}"),
    )
}

/// Text of the user without control characters.
fn plain(text: &str) -> String {
    text.replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::Live;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    struct FakeMachine(tempfile::TempDir);

    impl FakeMachine {
        fn new() -> FakeMachine {
            let fake = FakeMachine(tempfile::tempdir().unwrap());
            fake.write(
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            );
            fake
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn thread(&self, pid: u32, tid: u32, (state, start_time): (char, u64)) {
            let zeros = " 0".repeat(30);
            let stat = format!("{tid} (p) {state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start_time}{zeros}\n");
            self.write(&format!("proc/{tid}/stat"), &stat);
            self.write(&format!("proc/{tid}/status"), &format!("Tgid:\t{pid}\n"));
        }

        fn process(&self, pid: u32, state: char, start_time: u64) {
            self.thread(pid, pid, (state, start_time));
        }

        fn cgroup(&self, path: &str) {
            std::fs::create_dir_all(self.0.path().join("sys/fs/cgroup").join(path)).unwrap();
        }

        fn root(&self) -> Root {
            Root::of(&Live::rehearsal(self.0.path()))
        }

        fn find(&self, text: &str) -> Result<LeaseOwner, Failure> {
            LeaseOwner::find(text, &self.root(), &Cgroups::read(&self.root()))
        }
    }

    #[test]
    fn a_process_ends_also_as_a_zombie_and_when_its_number_is_reused() {
        let fake = FakeMachine::new();
        fake.process(70, 'S', 500);
        let owner = fake.find("pid:70").unwrap();
        let ended = || owner.has_ended(&fake.root()).unwrap();
        assert!(!ended());
        fake.process(70, 'Z', 500);
        assert!(ended() && fake.find("pid:70").unwrap_err().why.contains("has ended"));
        // Its first thread has exited, and another one runs.
        for tid in [70, 72] {
            fake.write(&format!("proc/70/task/{tid}/stat"), "");
        }
        assert!(!ended() && fake.find("pid:70").is_ok());
        fake.process(70, 'S', 900);
        assert!(ended() && fake.find("pid:70").is_ok());
        std::fs::remove_dir_all(fake.0.path().join("proc/70")).unwrap();
        assert!(ended());
    }

    #[test]
    fn units_containers_and_domains_are_found() {
        let fake = FakeMachine::new();
        fake.cgroup("system.slice/sampler.service");
        fake.cgroup("user.slice/user-1.slice/user@1.service/app.slice/sampler.service");
        fake.cgroup(&format!("machine.slice/libpod-conmon-{ID}.scope"));
        fake.cgroup(&format!("machine.slice/libpod-{ID}.scope/container"));
        fake.process(80, 'S', 1);
        fake.write("run/libvirt/qemu/vm 1.pid", "80\n");
        let path = |text: &str| match fake.find(text).unwrap().identity {
            OwnerIdentity::Cgroup { path, .. } => path,
            other => format!("{other:?}"),
        };
        assert_eq!(
            path("unit:sampler.service"),
            "/sys/fs/cgroup/system.slice/sampler.service"
        );
        let scope = format!("/sys/fs/cgroup/machine.slice/libpod-{ID}.scope");
        assert_eq!(path(&format!("container:{ID}")), scope);
        assert_eq!(path(&format!("container:{}", &ID[..12])), scope);
        for text in ["cgroup:/system.slice", "cgroup:/sys/fs/cgroup/system.slice/"] {
            assert_eq!(path(text), "/sys/fs/cgroup/system.slice");
        }
        assert!(path("domain:vm 1").contains("80"));
        let owner = fake.find("unit:sampler.service").unwrap();
        assert!(owner.is_same(&fake.find("cgroup:/system.slice/sampler.service").unwrap()));
        assert!(!fake.find("manual").unwrap().is_same(&fake.find("manual").unwrap()));
        std::fs::remove_dir_all(fake.0.path().join("sys/fs/cgroup/system.slice")).unwrap();
        assert!(owner.has_ended(&fake.root()).unwrap());
    }

    #[test]
    fn owners_that_do_not_exist_or_cannot_be_read_are_refused() {
        let fake = FakeMachine::new();
        fake.cgroup("a/twice.scope");
        fake.cgroup("b/twice.scope");
        for text in [
            "",
            "me",
            "pid:",
            "pid:x",
            "pid:-1",
            "container:12",
            "container:/../../etc",
            "unit:a/b",
        ] {
            assert_eq!(fake.find(text).unwrap_err().status, Status::Usage, "{text}");
        }
        for (text, why) in [
            ("pid:7", "does not exist"),
            ("domain:vm", "/run/libvirt/qemu/vm.pid"),
            ("cgroup:/none", "no cgroup"),
            ("cgroup:/a/../b", "`..`"),
            ("cgroup:/", "never ends"),
            ("unit:none.service", "no cgroup"),
            ("unit:twice.scope", "2 cgroups"),
            ("container:0123456789ab", "no cgroup"),
        ] {
            let refused = fake.find(text).unwrap_err();
            assert!(
                refused.status == Status::Unable && refused.why.contains(why),
                "{text}: {refused:?}"
            );
        }
        fake.thread(70, 71, ('S', 5));
        assert!(fake.find("pid:71").unwrap_err().why.contains("a thread of process 70"));
    }
}
