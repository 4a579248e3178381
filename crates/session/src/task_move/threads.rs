//! Moves single threads on cgroup v2: what prevents it, what it costs their process, and how they return.

use super::selection::MoveSelection;
use super::{MoveDirection, Mover};
use apply::threads::{self, CgroupLimit, ThreadMoveObstacle};
use apply::{MovePurpose, MoveUnit, PlannedMove, TaskOrigins, ThreadMove};
use machine::{Task, Version};
use plan::{Finding, FindingId, Level};
use std::collections::BTreeMap;

impl Mover<'_> {
    /// Why a single thread cannot be moved in. If it can, its cost is reported once per process.
    pub(super) fn obstacle(&mut self, one: &MoveSelection) -> Option<String> {
        let task = one.tasks.first()?;
        let ground = self.ground();
        match threads::threshold(&ground, task.key.tid, &self.partition.path) {
            ThreadMoveObstacle::Open => None,
            ThreadMoveObstacle::Populated => Some(format!(
                "on cgroup v2 a single thread can move only to a threaded cgroup, and a cgroup that contains tasks \
                 cannot become threaded; recreate the partition with its programs inside: quietcore apply --resize \
                 --threaded {}",
                self.partition.arguments
            )),
            ThreadMoveObstacle::Leaves { cgroup, limits } => {
                let has_chosen = limits.iter().any(CgroupLimit::is_chosen);
                if has_chosen && !self.options.out_of_limits {
                    return Some(format!(
                        "its whole process ({}) would have to leave {} for the root cgroup, where these limits do not \
                         apply: {}; add --out-of-limits to allow that, or move the whole process: quietcore move --pid \
                         {}",
                        task.pid,
                        report::safe(&cgroup),
                        text(&limits),
                        task.pid
                    ));
                }
                self.report_lost_limits(task, &cgroup, &limits);
                None
            }
        }
    }

    fn report_lost_limits(&mut self, task: &Task, cgroup: &str, limits: &[CgroupLimit]) {
        let subject = format!("process {}", task.pid);
        if self.findings.iter().any(|finding| finding.subject == subject) {
            return;
        }
        let lost = match limits {
            [] => "it had no limits there".to_owned(),
            limits => format!("during that time these limits do not apply to it: {}", text(limits)),
        };
        let level = match limits.iter().any(CgroupLimit::is_chosen) {
            true => Level::Warning,
            false => Level::Info,
        };
        let message = format!(
            "the process as a whole is in the root cgroup while threads of it are in partition {}; it came from \
             {cgroup}; {lost}",
            self.partition_name()
        );
        self.findings.push(
            Finding::new(level, FindingId::PROCESS_WAITS_OUTSIDE, subject, message)
                .fix("`quietcore move --back` of its last thread, or `quietcore undo`, returns it to that cgroup"),
        );
    }

    /// Whether only pins and policies remain: all of it is in, or (on the way out) none of it.
    pub(super) fn is_there(&self, one: &MoveSelection) -> bool {
        let mut tasks = one.tasks.iter().map(|task| self.is_inside(task.key.tid));
        match (self.partition.version, self.way) {
            (Version::V1, MoveDirection::In) => self.is_inside(one.leader),
            (Version::V1, MoveDirection::Out) => !self.is_inside(one.leader),
            (Version::V2, MoveDirection::In) => tasks.all(|inside| inside),
            (Version::V2, MoveDirection::Out) => !tasks.any(|inside| inside),
        }
    }

    /// The moves out of a threaded partition. The last thread of a process returns the process to its original cgroup; until
    /// then its threads wait in the domain cgroup.
    pub(super) fn outgoing(&self, leaving: &[MoveSelection], homes: &TaskOrigins) -> Vec<PlannedMove> {
        let ground = self.ground();
        let mut processes: BTreeMap<u32, Vec<&Task>> = BTreeMap::new();
        for task in leaving.iter().flat_map(|one| &one.tasks) {
            if self.is_inside(task.key.tid) {
                processes.entry(task.pid).or_default().push(task);
            }
        }
        let mut parcels = Vec::new();
        for (pid, tasks) in processes {
            let tids: Vec<u32> = tasks.iter().map(|task| task.key.tid).collect();
            let place = |task: &Task| homes.of(&ground, task, &self.partition.path, &self.outside());
            let passenger = |task: &Task| {
                let (_, pin, former) = place(task);
                ThreadMove {
                    tid: task.key.tid,
                    pin,
                    policy: self.intended_policy(task).or(former),
                }
            };
            if threads::has_others_inside(&ground, pid, &tids) {
                let domain = threads::domain_dir(&ground, &self.partition.path);
                parcels.extend(tasks.iter().map(|task| PlannedMove {
                    tid: task.key.tid,
                    unit: MoveUnit::Thread,
                    stay: match place(task).0 == domain {
                        true => MovePurpose::Belongs,
                        false => MovePurpose::Waits,
                    },
                    to: domain.clone(),
                    tasks: vec![passenger(task)],
                    later: Vec::new(),
                }));
                continue;
            }
            let Some(to) = tasks.first().map(|task| place(task).0) else {
                continue;
            };
            let mut all: Vec<ThreadMove> = tasks.iter().map(|task| passenger(task)).collect();
            let waiting = threads::threads_of(self.root, pid).into_iter();
            all.extend(waiting.filter(|tid| !tids.contains(tid)).map(|tid| ThreadMove {
                tid,
                pin: None,
                policy: None,
            }));
            parcels.push(PlannedMove {
                tid: pid,
                unit: MoveUnit::Process,
                to,
                tasks: all,
                later: Vec::new(),
                stay: MovePurpose::Belongs,
            });
        }
        parcels
    }
}

fn text(limits: &[CgroupLimit]) -> String {
    let each = limits.iter().map(|limit| {
        let value = limit.value.lines().next().unwrap_or_default();
        report::safe(&format!("{} is {value}", limit.path))
    });
    each.collect::<Vec<_>>().join(", ")
}
