//! Serves the daemon's metrics and writes the textfile in a separate thread, so that no scraper delays the watch.
//!
//! The thread exists only if `[watch]` requests one of the two. Counters are read on demand, at most once a second. The
//! daemon hands over its state; failures come back as lines for the log.

mod serving;

use crate::configuration::DaemonConfiguration;
use machine::CpuSet;
use observe::CounterSample;
use plan::declared::WatchSettings;
use root::output::{Draft, OutputDurability, ReadAccess};
use root::{Root, RootError, notification};
use serving::Server;
use session::Session;
use session::own_process::leave_cpus;
use session::seconds_now;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use watch::metrics::{ActivityTotals, ExpositionFormat, MetricsState, exposition};

/// The minimum time between two reads of the counters.
const FRESH: Duration = Duration::from_secs(1);

/// The minimum time between two reads of a measurement result, and its maximum size in bytes.
const RESULTS: (Duration, u64) = (Duration::from_secs(60), 16 << 20);

/// The time between attempts to bind a port.
const AGAIN: Duration = Duration::from_secs(10);

/// The maximum number of queued log lines.
const MOST_LINES: usize = 16;

/// The daemon's side.
#[derive(Default)]
pub struct Metrics {
    shared: Arc<SharedMetrics>,
    outlet: Option<Outlet>,
    /// Dropping this ends the thread.
    wake: Option<UnixStream>,
}

#[derive(Default)]
struct SharedMetrics {
    known: Mutex<MetricsState>,
    lines: Mutex<Vec<String>>,
}

/// Where metrics go, according to the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outlet {
    listen: Option<SocketAddr>,
    textfile: Option<String>,
    every: Duration,
    results: Option<String>,
}

impl Metrics {
    /// Starts, changes or stops outlets as the configuration requests. Returns lines for the log.
    pub fn follow(&mut self, session: &Session, configuration: &DaemonConfiguration) -> Vec<String> {
        let configured = Outlet::of(&configuration.watching);
        if configured == self.outlet {
            return Vec::new();
        }
        (self.outlet, self.wake) = (configured, None);
        let Some(outlet) = self.outlet.clone() else {
            return vec!["metrics are no longer served".to_owned()];
        };
        let mut lines = vec![outlet.text()];
        let (root, shared) = (session.shared_root(), Arc::clone(&self.shared));
        let started = UnixStream::pair().and_then(|(ours, wake)| {
            let thread = std::thread::Builder::new().name("metrics".to_owned());
            let exporter = MetricsExporter {
                root,
                outlet,
                shared,
                wake,
                gathered: MetricsSample::default(),
                port: CurrentError::default(),
                file: CurrentError::default(),
            };
            thread.spawn(move || exporter.run())?;
            Ok(ours)
        });
        match started {
            Ok(ours) => self.wake = Some(ours),
            // Reset, so that the next call tries again.
            Err(error) => {
                self.outlet = None;
                lines.push(format!("metrics cannot be served: {error}"));
            }
        }
        lines
    }

    /// Hands over the current state. Copies nothing if no outlet is active.
    pub fn know(&self, tell: impl FnOnce(&mut MetricsState)) {
        if self.outlet.is_some() {
            tell(&mut lock(&self.shared.known));
        }
    }

    /// Failures and recoveries since the last call.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.lines))
    }
}

impl Outlet {
    fn of(watching: &WatchSettings) -> Option<Outlet> {
        let is_enabled = watching.listen.is_some() || watching.textfile.is_some();
        is_enabled.then(|| Outlet {
            listen: watching.listen,
            textfile: watching.textfile.clone(),
            every: Duration::from_secs(watching.textfile_every_s),
            results: watching.results.clone(),
        })
    }

    fn text(&self) -> String {
        let port = self.listen.map(|address| match address.ip().is_loopback() {
            true => format!("served at http://{address}/metrics"),
            false => format!("served at http://{address}/metrics to every host that can reach it"),
        });
        let file = self.textfile.as_ref().map(|path| format!("written to {path}"));
        let both: Vec<String> = port.into_iter().chain(file).collect();
        format!("metrics will be {}", both.join(" and "))
    }
}

/// The thread's side.
struct MetricsExporter {
    root: Arc<Root>,
    outlet: Outlet,
    shared: Arc<SharedMetrics>,
    wake: UnixStream,
    gathered: MetricsSample,
    port: CurrentError,
    file: CurrentError,
}

/// The current error of an outlet or a source.
#[derive(Default)]
struct CurrentError(Option<String>);

/// Values read for metrics, and when.
#[derive(Default)]
struct MetricsSample {
    totals: ActivityTotals,
    read_at: Option<Instant>,
    measured: Option<formats::Recording>,
    measured_at: Option<Instant>,
    results: CurrentError,
    aside_of: CpuSet,
}

impl MetricsExporter {
    fn run(mut self) {
        let mut server: Option<Server> = None;
        let (mut listen_at, mut write_at) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            if let Some(address) = self.outlet.listen
                && server.is_none()
                && listen_at <= now
            {
                let opened = Server::open(address).map_err(|error| format!("{address} cannot be served: {error}"));
                listen_at = now + AGAIN;
                self.port.note(
                    &self.shared,
                    opened.as_ref().err().cloned(),
                    &format!("{address} is served"),
                );
                server = opened.ok();
            }
            if let Some(path) = self.outlet.textfile.clone()
                && write_at <= now
            {
                write_at = now + self.outlet.every;
                let text = self
                    .gathered
                    .give(&self.root, &self.outlet, &self.shared, ExpositionFormat::Text);
                let written = write(Path::new(&path), &text);
                self.file.note(
                    &self.shared,
                    written.err().map(|error| error.to_string()),
                    &format!("{path} is written"),
                );
            }
            let next_listen = (self.outlet.listen.is_some() && server.is_none()).then_some(listen_at);
            let next_write = self.outlet.textfile.is_some().then_some(write_at);
            let until = next_listen.into_iter().chain(next_write).min();
            let MetricsExporter {
                root,
                outlet,
                shared,
                wake,
                gathered,
                ..
            } = &mut self;
            let is_over = match &mut server {
                Some(server) => server.serve(wake.as_fd(), until, &mut |form| {
                    gathered.give(root, outlet, shared, form)
                }),
                None => {
                    let limit = until.map_or(AGAIN, |until| until.saturating_duration_since(Instant::now()));
                    notification::wait(&[wake.as_fd()], limit).first() == Some(&true)
                }
            };
            if is_over {
                return;
            }
        }
    }
}

impl CurrentError {
    /// Logs an error when it is new, and again when it ends.
    fn note(&mut self, shared: &SharedMetrics, error: Option<String>, good: &str) {
        let line = match (&self.0, &error) {
            (known, Some(error)) if known.as_ref() != Some(error) => {
                Some(format!("metrics: {error}; it is tried again"))
            }
            (Some(_), None) => Some(format!("metrics: {good} again")),
            _ => None,
        };
        self.0 = error;
        let mut lines = lock(&shared.lines);
        if lines.len() < MOST_LINES {
            lines.extend(line);
        }
    }
}

impl MetricsSample {
    /// The current text.
    fn give(&mut self, root: &Root, outlet: &Outlet, shared: &SharedMetrics, form: ExpositionFormat) -> String {
        let mut known = lock(&shared.known).clone();
        let isolated = known.cpus();
        let are_others = self.aside_of != isolated;
        if are_others {
            leave_cpus(root, &isolated);
            self.aside_of = isolated.clone();
        }
        if are_others || self.read_at.is_none_or(|at| at.elapsed() >= FRESH) {
            self.totals
                .add(&CounterSample::take(root), observe::timeslices(root), &isolated);
            self.read_at = Some(Instant::now());
        }
        if let Some(path) = &outlet.results
            && self.measured_at.is_none_or(|at| at.elapsed() >= RESULTS.0)
        {
            let read = measured(Path::new(path));
            self.results.note(
                shared,
                read.as_ref().err().map(ToString::to_string),
                &format!("{path} is read"),
            );
            self.measured = read.ok();
            self.measured_at = Some(Instant::now());
        }
        known.measured = self.measured.clone();
        if let Some(daemon) = &mut known.daemon {
            daemon.cpu_ns = u64::try_from(session::own_process::cpu_time().as_nanos()).unwrap_or(u64::MAX);
            daemon.resident_bytes = resident_bytes(root);
        }
        exposition(form, &known, &self.totals, seconds_now())
    }
}

/// The last measurement. A file that is still being written is incomplete.
fn measured(path: &Path) -> Result<formats::Recording, ResultsError> {
    let bytes = root::input::bytes(path, RESULTS.1)?;
    formats::read(&mut bytes.as_slice()).map_err(|error| ResultsError::Format(path.to_owned(), error))
}

/// Why the file with the last measurement cannot be used.
enum ResultsError {
    /// It cannot be read.
    Unreadable(RootError),
    /// Its content is no result.
    Format(PathBuf, formats::ReadError),
}

impl From<RootError> for ResultsError {
    fn from(error: RootError) -> ResultsError {
        ResultsError::Unreadable(error)
    }
}

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResultsError::Unreadable(error) => error.fmt(f),
            ResultsError::Format(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

/// The second number of `/proc/self/statm`, in pages.
fn resident_bytes(root: &Root) -> Option<u64> {
    let text = root.readable_text("/proc/self/statm")?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

fn write(path: &Path, text: &str) -> Result<(), RootError> {
    let mut draft = Draft::create(path, ReadAccess::All)?;
    draft.append(text.as_bytes())?;
    draft.place(OutputDurability::Cached)
}

/// Ignores poisoning: a half-done update by the other thread only leaves a number that is slightly old.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
