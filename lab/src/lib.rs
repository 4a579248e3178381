//! Boots real Debian kernels in QEMU with the static binary, runs scenarios, and checks the records that they send.
//!
//! A scenario is one file in [`scenarios`] and one line in its list. The host side boots a guest per cell (scenario x
//! kernel x cgroup layout). The guest side is `guest/init.sh` and the `lab-guest` binary. Scenarios check counters and
//! placement but never latencies, because an emulator's time is not real time.

pub mod accelerator;
pub mod apt;
pub mod bench;
pub mod clock;
pub mod debian;
pub mod disk;
pub mod error;
pub mod initramfs;
pub mod kernels;
pub mod packages;
pub mod perf;
pub mod random;
pub mod records;
pub mod runner;
pub mod scenario;
pub mod scenarios;
pub mod shape;
pub mod tracefs;
pub mod truth;
pub mod unpack;
pub mod userland;
pub mod verdict;
pub mod vm;
pub mod vmlinux;

pub use error::LabError;
