//! Options of `run` and `move` for placing tasks in a partition.

use session::comm_pattern::Pin;
use session::policy::{self, Policy};

/// How a program or a task is placed inside the partition.
#[derive(clap::Args, Clone, Debug)]
pub struct PlacementArgs {
    /// CPUs of the partition to use; all of them without it
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Policy: other, batch, idle, fifo:80, rr:50, deadline:100us/500us/1ms (runtime, deadline, period)
    #[arg(long, value_name = "POLICY", value_parser = policy::parse)]
    pub policy: Option<Policy>,
    /// Nice value, from -20 (takes most) to 19
    #[arg(long, value_name = "N", value_parser = policy::parse_nice, allow_hyphen_values = true)]
    pub nice: Option<i32>,
    /// Pin threads with such names: 'io*=2'; may be given several times, the first that matches counts
    #[arg(long, value_name = "GLOB=LIST", value_parser = Pin::parse)]
    pub pin: Vec<Pin>,
}
