//! Compares what is intended with the machine, finds what differs, and repairs it: `check`, `boot check` and their watchers.

pub mod boot_verdict;
pub mod counting;
pub mod examination;
pub mod intention;
pub mod repair;
