//! A simulated irqbalance: answers like version 1.9.2, and applies a received list at its next scan.

use super::{SimKernel, SimTask, io, set};
use machine::CpuSet;
use root::{Address, RootError};
use std::time::Duration;

/// The daemon.
pub struct Balancer {
    /// The pid of the daemon.
    pub pid: u32,
    /// The banned CPUs from its environment at the start.
    pub own: CpuSet,
    /// The list that another program sent; `None` for its own list.
    pub received_ban: Option<CpuSet>,
    /// The list in use since its last scan.
    pub banned: CpuSet,
    /// Whether the daemon is stopped.
    pub mute: bool,
    /// The time since its last scan.
    pub slept: Duration,
}

/// The time from one scan to the next.
const INTERVAL: Duration = Duration::from_secs(10);

impl Balancer {
    pub fn sleep(&mut self, time: Duration) {
        self.slept += time;
        if self.slept >= INTERVAL {
            self.apply_bans();
        }
    }

    pub fn apply_bans(&mut self) {
        self.slept = Duration::ZERO;
        self.banned = self.received_ban.clone().unwrap_or_else(|| self.own.clone());
    }
}

impl SimKernel {
    /// Starts the daemon with CPUs that it bans by itself.
    pub fn balance(&self, pid: u32, own: &str) {
        if let Some(former) = self.balancer.borrow_mut().take() {
            self.tasks.borrow_mut().retain(|task| task.tid != former.pid);
            std::fs::remove_dir_all(self.live.locate(&format!("/proc/{}", former.pid))).unwrap();
        }
        self.tasks.borrow_mut().push(SimTask {
            tid: pid,
            pid,
            ppid: 1,
            comm: "irqbalance",
            flags: 0,
            mask: set("0-3"),
            user_mask: None,
            cgroup: "/".to_owned(),
        });
        self.render();
        self.put(&format!("/run/irqbalance/irqbalance{pid}.sock"), "");
        self.put(
            &format!("/proc/{pid}/environ"),
            &format!("A=b\0IRQBALANCE_BANNED_CPULIST={own}\0"),
        );
        *self.balancer.borrow_mut() = Some(Balancer {
            pid,
            own: set(own),
            received_ban: None,
            banned: set(own),
            mute: false,
            slept: Duration::ZERO,
        });
    }

    pub(super) fn answer(&self, addresses: &[Address], question: &str) -> Result<String, RootError> {
        let mut balancer = self.balancer.borrow_mut();
        let path = addresses[0].text();
        let is_it = |it: &&mut Balancer| path == format!("/run/irqbalance/irqbalance{}.sock", it.pid);
        let Some(it) = balancer.as_mut().filter(is_it) else {
            return Err(io(&path, libc::ENOENT));
        };
        if it.mute {
            return Err(io(&path, libc::ETIMEDOUT));
        }
        match question.strip_prefix("settings cpus ") {
            None => {
                return Ok(format!("SLEEP {} BANNED {}", INTERVAL.as_secs(), it.banned.to_mask(32)));
            }
            Some("NULL") => it.received_ban = None,
            Some(list) => it.received_ban = Some(set(list)),
        }
        Ok(String::new())
    }
}
