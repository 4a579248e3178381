//! Watches a machine until it is stopped: sources report changes, `check` runs again, and new and ended findings go to a log,
//! the journal, commands and metrics. Repairs lost settings if requested.

mod alerts;
mod configuration;
mod daemon;
mod folders;
mod leases;
mod live;
mod memory;
mod metrics;
mod observation;
mod observers;
mod outlets;
mod pacing;
mod repairs;
mod reporting;
mod rounds;
mod service;
mod sources;
mod threads;
mod webhook;

pub use daemon::{DaemonOptions, metrics_text, run};
pub use live::{LiveOptions, LiveSource};
#[cfg(feature = "schema")]
pub use memory::StateDocument;
pub use outlets::LOG;
pub use webhook::{NotAccepted, accepted as webhook_accepted};
