//! Four clients request, wait for, lose and release leases in 10,000 random steps; clients, owners and commands are killed.
//! A CPU never has two owners, the pool is never exceeded, requests are served in order, and the pool is restored.

use crate::support::lease_machine::LeaseMachine;
use crate::support::rehearsal::{Rules, set};
use lease::LeaseRequest;
use report::OwnerState;
use session::leasing::{IfBusy, LeaseAttempt, PendingLease, ReleaseTarget, list, release};
use std::collections::BTreeMap;

const POOL: &str = "[pool]\ncpus = \"1-3\"\nprofile = \"minimal\"\n";
const STEPS: usize = 10_000;
const CLIENTS: usize = 4;

/// splitmix64: the same steps in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % limit
    }

    /// A number of steps after which a command is killed, in one of four cases.
    fn death(&mut self) -> Option<usize> {
        (self.below(4) == 0).then(|| 1 + usize::try_from(self.below(24)).unwrap())
    }
}

/// What a client does.
struct Client<'m> {
    pid: u32,
    /// The owner of its request, and the request if it waits.
    pending: Option<(Owner, PendingLease<'m>)>,
}

/// An owner: a process, or none for `manual`.
type Owner = Option<u32>;

/// What the model knows.
struct Model<'m> {
    machine: &'m LeaseMachine,
    dice: Dice,
    clients: Vec<Client<'m>>,
    /// The leases that must exist, with their owners.
    leases: BTreeMap<u64, Owner>,
    /// The owners that were started.
    owners: Vec<u32>,
    /// Clients in the order in which they entered the queue.
    queue: Vec<u32>,
    granted: usize,
    restored: usize,
    killed: usize,
    queued: usize,
}

impl<'m> Model<'m> {
    fn new(machine: &'m LeaseMachine, seed: u64) -> Model<'m> {
        let client = |_| Client {
            pid: machine.start_process(),
            pending: None,
        };
        Model {
            machine,
            dice: Dice(seed),
            clients: (0..CLIENTS).map(client).collect(),
            leases: BTreeMap::new(),
            owners: Vec::new(),
            queue: Vec::new(),
            granted: 0,
            restored: 0,
            killed: 0,
            queued: 0,
        }
    }

    fn step(&mut self) {
        let client = usize::try_from(self.dice.below(CLIENTS as u64)).unwrap();
        match self.dice.below(10) {
            0..=5 => self.attempt(client),
            6 => self.release(),
            7 => self.end_owner(),
            8 => self.kill_client(client),
            _ => drop(self.machine.session.lock().unwrap()),
        }
        self.end_unused_owners();
        self.machine.session.refresh();
        self.check();
    }

    /// Ends owners that have no lease and no request, so that processes do not accumulate.
    fn end_unused_owners(&mut self) {
        let waiting = self.clients.iter().filter_map(|client| client.pending.as_ref()?.0);
        let used: Vec<u32> = self.leases.values().copied().flatten().chain(waiting).collect();
        let unused = self.owners.extract_if(.., |pid| !used.contains(pid));
        for pid in unused.filter(|pid| self.machine.has_process(*pid)) {
            self.machine.end_process(pid);
        }
    }

    /// A client makes a request, or tries again. The command may be killed, and its client with it.
    fn attempt(&mut self, client: usize) {
        let machine = self.machine;
        if self.clients[client].pending.is_none() {
            let owner = (self.dice.below(4) > 0).then(|| machine.start_process());
            self.owners.extend(owner);
            let name = owner.map_or("manual".to_owned(), |pid| format!("pid:{pid}"));
            let request = match self.dice.below(4) {
                0 => LeaseRequest {
                    cpus: Some((1 + self.dice.below(3)).to_string()),
                    ..LeaseRequest::default()
                },
                one => LeaseRequest {
                    count: Some(if one == 3 { 2 } else { 1 }),
                    ..LeaseRequest::default()
                },
            };
            let pending = PendingLease::new(&machine.session, &request, &name, self.clients[client].pid).unwrap();
            self.clients[client].pending = Some((owner, pending));
        }
        let if_busy = if self.dice.below(4) == 0 {
            IfBusy::GiveUp
        } else {
            IfBusy::Queue
        };
        let death = self.dice.death().unwrap_or(usize::MAX);
        let (owner, mut pending) = self.clients[client].pending.take().unwrap();
        let before = list(&machine.session).unwrap().leases.len();
        let mut outcome = None;
        if machine.killed_after(death, || outcome = Some(pending.attempt(if_busy))) {
            self.killed += 1;
            drop(machine.session.lock().unwrap());
            // The next command has undone what was granted; others may have lost their owner.
            assert!(list(&machine.session).unwrap().leases.len() <= before);
            self.leases
                .retain(|_, owner| owner.is_none_or(|pid| self.machine.has_process(pid)));
            return self.replace_client(client);
        }
        let own = self.clients[client].pid;
        match outcome.unwrap() {
            Ok(LeaseAttempt::Granted(granted)) => {
                let first = self.queue.first().copied();
                assert!(
                    first.is_none_or(|first| first == own),
                    "{own} is served before {first:?}"
                );
                self.queue.retain(|pid| *pid != own);
                self.leases.insert(granted.lease.id, owner);
                self.granted += 1;
            }
            Ok(LeaseAttempt::Later(_)) if if_busy == IfBusy::Queue => {
                if !self.queue.contains(&own) {
                    self.queue.push(own);
                }
                self.clients[client].pending = Some((owner, pending));
            }
            Ok(LeaseAttempt::Later(_)) => self.queue.retain(|pid| *pid != own),
            Err(error) => {
                assert!(error.why.contains("has ended"), "{error:?}");
                self.queue.retain(|pid| *pid != own);
            }
        }
    }

    /// A lease is released by its number or its owner. The command may be killed.
    fn release(&mut self) {
        let Some((&id, &owner)) = self.leases.iter().next() else {
            return;
        };
        let target = match owner.filter(|_| self.dice.below(2) == 0) {
            Some(pid) => ReleaseTarget::Owner(format!("pid:{pid}")),
            None => ReleaseTarget::Id(id),
        };
        let death = self.dice.death().unwrap_or(usize::MAX);
        let machine = self.machine;
        let mut ended = Vec::new();
        let is_killed = machine.killed_after(death, || ended = release(&machine.session, &target).unwrap());
        if is_killed {
            self.killed += 1;
            drop(machine.session.lock().unwrap());
            let left: Vec<u64> = machine.registry().leases.iter().map(|lease| lease.id).collect();
            self.leases.retain(|id, _| left.contains(id));
            return;
        }
        assert!(
            ended.iter().any(|end| end.lease.id == id && end.remains.is_empty()),
            "{ended:?}"
        );
        self.leases.remove(&id);
    }

    /// The owner of a lease, or of a request that waits, ends.
    fn end_owner(&mut self) {
        let waiting = self.clients.iter().filter_map(|client| client.pending.as_ref()?.0);
        let owners: Vec<u32> = self.leases.values().copied().flatten().chain(waiting).collect();
        let Some(pid) = owners.get(usize::try_from(self.dice.below(4)).unwrap()).copied() else {
            return;
        };
        if self.machine.has_process(pid) {
            self.machine.end_process(pid);
        }
        self.leases.retain(|_, owner| *owner != Some(pid));
        // Its request leaves the queue with the next command.
        for client in &self.clients {
            if client.pending.as_ref().is_some_and(|(owner, _)| *owner == Some(pid)) {
                self.queue.retain(|waiting| *waiting != client.pid);
            }
        }
    }

    fn kill_client(&mut self, client: usize) {
        self.machine.end_process(self.clients[client].pid);
        self.replace_client(client);
    }

    fn replace_client(&mut self, client: usize) {
        let pid = self.clients[client].pid;
        if self.machine.has_process(pid) {
            self.machine.end_process(pid);
        }
        self.queue.retain(|waiting| *waiting != pid);
        self.clients[client] = Client {
            pid: self.machine.start_process(),
            pending: None,
        };
    }

    fn check(&mut self) {
        // Reading it checks that no CPU has two owners.
        let isolated = self.machine.isolated();
        assert!(isolated.is_subset(&set("1-3")), "{isolated}");
        let listed = list(&self.machine.session).unwrap();
        let live = listed.leases.iter().filter(|(_, owner)| *owner == OwnerState::Alive);
        let live: Vec<u64> = live.map(|(lease, _)| lease.id).collect();
        assert!(
            self.leases.keys().eq(live.iter()),
            "{:?} instead of {:?}",
            live,
            self.leases
        );
        let waiting: Vec<u32> = listed.waiting.iter().map(|one| one.client.tid).collect();
        assert_eq!(waiting, self.queue);
        self.queued += usize::from(waiting.len() > 1);
        if isolated.is_empty() {
            self.machine.assert_restored("no lease is active");
            self.restored += 1;
        }
    }
}

/// Half of the steps.
fn run_model(rules: Rules, seed: u64) {
    let machine = LeaseMachine::boot(rules, POOL);
    let mut model = Model::new(&machine, seed);
    for _ in 0..STEPS / 2 {
        model.step();
    }
    for id in std::mem::take(&mut model.leases).into_keys() {
        release(&machine.session, &ReleaseTarget::Id(id)).unwrap();
    }
    drop(machine.session.lock().unwrap());
    machine.assert_restored("at the end");
    // The model did what it is for.
    let counts = (model.granted, model.killed, model.restored, model.queued);
    let least = (300, 50, 50, 300);
    let enough = counts.0 > least.0 && counts.1 > least.1 && counts.2 > least.2 && counts.3 > least.3;
    assert!(enough, "{rules:?}: {counts:?}");
}

#[test]
fn random_steps_on_v2_never_give_a_cpu_two_owners() {
    run_model(Rules::V2, 1);
}

#[test]
fn random_steps_on_v1_never_give_a_cpu_two_owners() {
    run_model(Rules::V1KeepsPins, 2);
}
