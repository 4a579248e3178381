//! How the simulated kernel reacts when `apply` writes to it.

use super::cgroups::AttachUnit;
use super::{ROOTS, Rules, SimKernel, io};
use apply::{BusError, BusyLoops, FormerPolicy, System};
use machine::{CpuSet, Policy};
use root::{Address, Ownership, Root, RootError, Tracefs};
use std::fs;
use std::time::Duration;

impl System for SimKernel {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&self, path: &str, value: &str) -> Result<(), RootError> {
        self.watching_domains(path, || {
            self.step(|_| {
                let place = self.live.locate(path);
                if !place.exists() {
                    return Err(io(path, libc::ENOENT));
                }
                if let Some(errno) = self.refusals.borrow().get(path) {
                    return Err(io(path, *errno));
                }
                let (dir, name) = path.rsplit_once('/').unwrap();
                match name {
                    "cgroup.type" => {
                        let group = dir.strip_prefix(self.mount_point()).unwrap();
                        self.make_threaded(group, value).map_err(|errno| io(path, errno))?;
                        self.render();
                    }
                    "tasks" | "cgroup.procs" | "cgroup.threads" => {
                        let group = dir.strip_prefix(self.mount_point()).unwrap();
                        let group = if group.is_empty() { "/" } else { group };
                        let moves = match name {
                            "cgroup.procs" => AttachUnit::Process,
                            _ => AttachUnit::Thread,
                        };
                        self.attach(value.parse().unwrap(), group, moves)
                            .map_err(|errno| io(path, errno))?;
                        self.render();
                    }
                    "cgroup.subtree_control" => {
                        let mut words: Vec<String> = self.get(path).split_whitespace().map(str::to_owned).collect();
                        words.retain(|word| word != &value[1..]);
                        if let Some(word) = value.strip_prefix('+') {
                            words.insert(0, word.to_owned());
                        }
                        self.put(path, &format!("{}\n", words.join(" ")));
                        self.hand_cpuset_files_down(dir);
                    }
                    "cpuset.cpus.partition" if self.cannot_be_partition(dir) && value != "member" => {
                        let why = "isolated invalid (Parent is not a partition root)\n";
                        self.put(path, why);
                    }
                    // The written word gets the brackets. An unknown word is refused.
                    "enabled" | "defrag" if self.get(path).contains('[') => {
                        let now = self.get(path).replace(['[', ']'], "");
                        let words: Vec<&str> = now.split_whitespace().collect();
                        if !words.contains(&value) {
                            return Err(io(path, libc::EINVAL));
                        }
                        let mark = |word: &&str| match *word == value {
                            true => format!("[{word}]"),
                            false => (*word).to_owned(),
                        };
                        let marked: Vec<String> = words.iter().map(mark).collect();
                        self.put(path, &format!("{}\n", marked.join(" ")));
                    }
                    // The hardware rounds down to steps.
                    "scaling_min_freq" => {
                        let wanted: u64 = value.parse().map_err(|_| io(path, libc::EINVAL))?;
                        self.put(path, &format!("{}\n", wanted / 100_000 * 100_000));
                    }
                    "kprobe_events" => {
                        let text = self.get(path);
                        let text = super::probes::written(&text, value).map_err(|errno| io(path, errno))?;
                        self.put(path, &text);
                    }
                    // This machine has no counter for the watchdog.
                    "nmi_watchdog" => return Err(io(path, libc::EACCES)),
                    _ => {
                        self.put(path, &format!("{value}\n"));
                        let group = dir.strip_prefix(self.mount_point()).unwrap_or("/");
                        match name {
                            // A partition takes CPUs from all cgroups, a list only from its own tasks.
                            "cpuset.cpus.partition" => {
                                self.follow_cpusets(|_| true);
                                self.tasks.borrow_mut().append(&mut self.unborn.borrow_mut());
                                self.render();
                            }
                            "cpuset.cpus" | "cpuset.cpus.exclusive" => self.follow_cpusets(|task| task.cgroup == group),
                            "online" => {
                                let number = dir.rsplit_once("/cpu").unwrap().1;
                                self.switch(number.parse().unwrap(), value);
                            }
                            _ => {}
                        }
                    }
                }
                Ok(())
            })
        })
    }

    fn keep_busy(&self, cpus: &CpuSet, list: &str) -> BusyLoops {
        self.request_busy_cpus(cpus, list);
        BusyLoops::default()
    }

    fn make_dir(&self, path: &str) -> Result<(), RootError> {
        self.step(|_| {
            self.live.make_dir(path)?;
            if path.contains("/instances/") {
                for name in ["tracing_on", "current_tracer", "trace_clock", "tracing_cpumask"] {
                    self.put(&format!("{path}/{name}"), "0\n");
                }
                return Ok(());
            }
            match self.rules {
                Rules::V1DropsPins | Rules::V1KeepsPins => self.v1_files(path, "", "", 0),
                Rules::V2 => {
                    for (name, value) in [
                        ("cpuset.cpus", ""),
                        ("cpuset.mems", ""),
                        ("cpuset.cpus.partition", "member"),
                        ("cgroup.type", "domain"),
                        ("cgroup.events", "populated 0"),
                    ] {
                        self.put(&format!("{path}/{name}"), &format!("{value}\n"));
                    }
                    self.put(&format!("{path}/cgroup.procs"), "");
                    self.put(&format!("{path}/cgroup.threads"), "");
                }
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        self.step(|_| {
            if path.contains("/instances/") {
                if let Some(errno) = self.refusals.borrow().get(path) {
                    return Err(io(path, *errno));
                }
                fs::remove_dir_all(self.live.locate(path)).unwrap();
                return Ok(());
            }
            let group = path.strip_prefix(self.mount_point()).unwrap();
            if self.tasks.borrow().iter().any(|task| task.cgroup == group) {
                return Err(io(path, libc::EBUSY));
            }
            let partition = self.get(&format!("{path}/cpuset.cpus.partition"));
            fs::remove_dir_all(self.live.locate(path)).unwrap();
            self.owners.borrow_mut().retain(|file, _| !file.starts_with(path));
            self.follow_cpusets(|_| super::is_partition_root(&partition));
            Ok(())
        })
    }

    fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError> {
        let owner = self.owners.borrow().get(path).copied();
        Ok(self.live.locate(path).exists().then_some(owner.unwrap_or(ROOTS)))
    }

    fn set_ownership(&self, path: &str, wanted: Ownership) -> Result<(), RootError> {
        // Two system calls: the process can be killed between them.
        self.step(|_| {
            let now = self.ownership(path)?.ok_or_else(|| io(path, libc::ENOENT))?;
            let given = Ownership {
                mode: now.mode,
                ..wanted
            };
            self.owners.borrow_mut().insert(path.to_owned(), given);
            Ok(())
        })?;
        self.step(|_| {
            self.owners.borrow_mut().insert(path.to_owned(), wanted);
            Ok(())
        })
    }

    fn tracefs(&self) -> Result<Option<Tracefs>, RootError> {
        self.live.tracefs()
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> Result<(), RootError> {
        self.step(|_| {
            let path = format!("/proc/{tid}");
            let group = {
                let tasks = self.tasks.borrow();
                let task = tasks
                    .iter()
                    .find(|task| task.tid == tid)
                    .ok_or_else(|| io(&path, libc::ESRCH))?;
                if task.flags & 0x0400_0000 != 0 {
                    return Err(io(&path, libc::EINVAL));
                }
                task.cgroup.clone()
            };
            let allowed = cpus.and(&self.effective(&group));
            if allowed.is_empty() {
                return Err(io(&path, libc::EINVAL));
            }
            for task in self.tasks.borrow_mut().iter_mut().filter(|task| task.tid == tid) {
                task.mask = allowed.clone();
                task.user_mask = Some(cpus.clone());
            }
            self.render();
            Ok(())
        })
    }

    fn demote(&self, tid: u32) -> Result<(), RootError> {
        self.step(|_| {
            self.policies.borrow_mut().remove(&tid);
            self.render();
            Ok(())
        })
    }

    fn set_policy(&self, tid: u32, policy: FormerPolicy) -> Result<(), RootError> {
        self.step(|_| {
            let number = match policy.policy {
                Policy::Fifo => 1,
                Policy::Rr => 2,
                _ => 0,
            };
            self.policies.borrow_mut().insert(tid, (number, policy.priority));
            self.render();
            Ok(())
        })
    }

    fn start_slice(&self, unit: &str, nodes: &CpuSet) -> Result<(), BusError> {
        self.answer_request(|| {
            let dir = format!("{}/{unit}", self.mount_point());
            self.put(&format!("/run/systemd/transient/{unit}"), "");
            self.put(&format!("{dir}/cpuset.cpus"), "\n");
            self.put(&format!("{dir}/cpuset.mems"), &format!("{nodes}\n"));
            self.put(&format!("{dir}/cpuset.cpus.partition"), "member\n");
            self.hand_down("+cpuset");
        })
    }

    fn stop_unit(&self, unit: &str) -> Result<(), BusError> {
        self.answer_request(|| {
            let file = self.live.locate(&format!("/run/systemd/transient/{unit}"));
            if file.exists() {
                fs::remove_file(file).unwrap();
                fs::remove_dir_all(self.live.locate(&format!("{}/{unit}", self.mount_point()))).unwrap();
                if !self.is_needed() {
                    self.hand_down("-cpuset");
                }
            }
        })
    }

    fn query_daemon(&self, addresses: &[Address], question: &str) -> Result<String, RootError> {
        if question == "setup" {
            return self.answer(addresses, question);
        }
        let mut answer = String::new();
        self.step(|_| {
            answer = self.answer(addresses, question)?;
            Ok(())
        })?;
        Ok(answer)
    }

    /// Time passes, so irqbalance scans.
    fn pause(&self, time: Duration) {
        if let Some(balancer) = self.balancer.borrow_mut().as_mut() {
            balancer.sleep(time);
        }
    }
}

impl SimKernel {
    /// Boots with a systemd that manages the control groups and accepts connections.
    pub fn under_systemd(self) -> SimKernel {
        self.put("/run/systemd/system/default.target", "");
        self.put("/run/systemd/transient/other.scope", "");
        self.put("/run/systemd/private", "");
        self
    }

    /// Simulates a request to systemd. Without a listening systemd it does nothing.
    fn answer_request(&self, act: impl FnOnce()) -> Result<(), BusError> {
        let errno = if self.live.locate("/run/systemd/private").exists() {
            0
        } else {
            libc::ECONNREFUSED
        };
        let done = self.step(|_| {
            if errno == 0 {
                act();
            }
            Ok(())
        });
        done.unwrap();
        match errno {
            0 => Ok(()),
            errno => Err(BusError::Unreachable {
                socket: "/run/systemd/private".to_owned(),
                errno,
            }),
        }
    }

    /// Returns whether another cgroup has CPUs of its own.
    fn is_needed(&self) -> bool {
        let top = self.live.locate(self.mount_point());
        let has_cpus = |entry: fs::DirEntry| {
            fs::read_to_string(entry.path().join("cpuset.cpus")).is_ok_and(|text| !text.trim().is_empty())
        };
        fs::read_dir(top).unwrap().flatten().any(has_cpus)
    }

    fn hand_down(&self, value: &str) {
        let path = format!("{}/cgroup.subtree_control", self.mount_point());
        let now = self.get(&path);
        let mut words: Vec<&str> = now.split_whitespace().filter(|word| *word != "cpuset").collect();
        if value == "+cpuset" {
            words.insert(0, "cpuset");
        }
        self.put(&path, &format!("{}\n", words.join(" ")));
    }
}
