//! Waits for CPUs of the pool, in the order of the requests.

use super::grant::{GrantedLease, LeaseAttempt, attempt};
use super::pool::LeasePool;
use crate::{ChangeLock, Session, seconds_now, stop_flag};
use lease::{LeaseOwner, LeaseRegistry, LeaseRequest, WaitingRequest};
use machine::Cgroups;
use report::LeaseOrigin;
use root::{Failure, Status};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between two looks at the queue. A look reads two small files.
const INTERVAL: Duration = Duration::from_millis(100);

/// Interval between attempts to end the lease of an owner that has ended.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);

/// The first of the queue tries at least this often: a CPU that comes online changes no file of ours.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The registry, and the size of the journal, which changes with every partition.
type ObservedState = (Option<LeaseRegistry>, Option<u64>);

/// A request for a lease that is not granted yet.
pub struct PendingLease<'s> {
    session: &'s Session,
    request: WaitingRequest,
    /// What the last attempt in the queue saw; `None` outside the queue.
    last_attempt: Option<ObservedState>,
}

/// What to do if CPUs are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfBusy {
    /// Take a place in the queue, or keep it.
    Queue,
    /// Leave the queue.
    GiveUp,
}

impl<'s> PendingLease<'s> {
    /// A request of a client for an owner. The client is the process that waits: if it ends, its place in the queue is lost.
    ///
    /// # Errors
    /// No pool, and an owner that does not exist.
    pub fn new(
        session: &'s Session,
        request: &LeaseRequest,
        owner: &str,
        client: u32,
    ) -> Result<PendingLease<'s>, Failure> {
        let root = session.root();
        let owner = LeaseOwner::find(owner, root, &Cgroups::read(root))?;
        LeasePool::declared(session, &session.machine())?.ok_or_else(LeasePool::missing)?;
        let client = machine::tasks::read_stat(root, client).map(|task| task.key);
        let client = client.ok_or_else(|| {
            Failure::unable(
                "it is unknown which process waits for the lease",
                "/proc does not list it",
                "mount /proc",
            )
        })?;
        Ok(PendingLease {
            session,
            request: WaitingRequest {
                client,
                owner,
                request: request.clone(),
                since_s: seconds_now(),
                until_s: u64::MAX,
            },
            last_attempt: None,
        })
    }

    /// Tries to get the lease.
    ///
    /// # Errors
    /// The owner has ended or has another lease, a request that the pool can never meet, and the errors of `apply`; the
    /// machine is then in its former state. The request has left the queue.
    pub fn attempt(&mut self, if_busy: IfBusy) -> Result<LeaseAttempt, Failure> {
        let changing = match (if_busy, &self.last_attempt) {
            (IfBusy::Queue, Some(_)) => self.session.lock_if_free()?,
            _ => Some(self.session.lock()?),
        };
        let Some(changing) = changing else {
            return Ok(LeaseAttempt::Later("another command changes the machine".to_owned()));
        };
        let outcome = attempt(&changing, &self.request);
        match (&outcome, if_busy) {
            (Ok(LeaseAttempt::Later(_)), IfBusy::Queue) => self.enter(&changing)?,
            // The grant has removed the request from the queue.
            (Ok(LeaseAttempt::Granted(granted)), _) if granted.origin == LeaseOrigin::Granted => {
                self.last_attempt = None
            }
            _ => self.leave(&changing)?,
        }
        outcome
    }

    /// Tries to get the lease until that succeeds, the time is over, or the user wants to stop.
    ///
    /// # Errors
    /// As [`PendingLease::attempt`], and no CPUs in time (status 5).
    pub fn wait(mut self, limit: Duration) -> Result<GrantedLease, Failure> {
        let (stop, end) = (stop_flag(), Instant::now() + limit);
        self.request.until_s = seconds_now().saturating_add(limit.as_secs()).saturating_add(1);
        let mut is_reported = false;
        loop {
            let is_last = Instant::now() >= end;
            let why = match self.attempt(if is_last { IfBusy::GiveUp } else { IfBusy::Queue })? {
                LeaseAttempt::Granted(granted) => return Ok(*granted),
                LeaseAttempt::Later(why) => why,
            };
            if is_last {
                let next = match limit.is_zero() {
                    true => "`quietcore leases` shows what has them; --wait 10s waits for them",
                    false => "`quietcore leases` shows what has them",
                };
                return Err(Failure::conflict("no CPUs can be leased now", why, next));
            }
            if !std::mem::replace(&mut is_reported, true) {
                self.session.note(&format!("note: waiting for CPUs: {why}\n"));
            }
            self.pause(end, stop);
            if stop.load(Ordering::Relaxed) {
                self.leave(&self.session.lock()?)?;
                return Err(Failure::new(
                    Status::Failed,
                    "interrupted",
                    "nothing was leased",
                    "run it again when you want",
                ));
            }
        }
    }

    /// Takes its place at the end of the queue, unless it has one.
    fn enter(&mut self, changing: &ChangeLock) -> Result<(), Failure> {
        let mut registry = LeaseRegistry::read(changing.state())?;
        if !registry.has_request(&self.request) {
            registry.waiting.push(self.request.clone());
            registry.write(changing.state())?;
        }
        self.last_attempt = Some(self.observed_state());
        Ok(())
    }

    fn leave(&mut self, changing: &ChangeLock) -> Result<(), Failure> {
        if self.last_attempt.take().is_none() {
            return Ok(());
        }
        let mut registry = LeaseRegistry::read(changing.state())?;
        registry.remove_request(&self.request);
        registry.write(changing.state())
    }

    /// Waits until another attempt is worthwhile.
    fn pause(&self, end: Instant, stop: &AtomicBool) {
        let start = Instant::now();
        let root = self.session.root();
        while Instant::now() < end && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(INTERVAL.min(end.saturating_duration_since(Instant::now())));
            let state = self.observed_state();
            let Some(registry) = &state.0 else { return };
            let mut queue = registry.clone();
            queue.drop_ended_requests(root, seconds_now());
            if queue.requests_before(&self.request) > 0 {
                continue;
            }
            let is_ended = |owner: &LeaseOwner| owner.has_ended(root) == Ok(true);
            // A lease that the last attempt could not end has ended too: it is not tried all the time.
            let is_free = registry.leases.iter().any(|lease| is_ended(&lease.owner));
            let is_worthwhile = is_free && start.elapsed() >= SHORTEST_PAUSE;
            if self.last_attempt.as_ref() != Some(&state) || is_worthwhile || start.elapsed() >= LONGEST_PAUSE {
                return;
            }
        }
    }

    fn observed_state(&self) -> ObservedState {
        let Ok(Some(state)) = self.session.state() else {
            return (None, None);
        };
        let registry = LeaseRegistry::read(&*state).ok();
        (registry, state.size("journal").ok().flatten())
    }
}
