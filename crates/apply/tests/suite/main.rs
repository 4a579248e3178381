//! The integration tests of `apply` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boot_line;
mod boots;
mod busy_cpus;
mod by_hand;
mod cycling;
mod every_step;
mod foreign_changes;
mod guarded;
mod hand_moves;
mod hotplug;
mod in_place;
mod installing;
mod irqbalance;
mod kprobes;
mod latency;
mod lease_model;
mod leases;
mod named_sets;
mod newer_records;
mod refusals;
mod released_journals;
mod released_ledgers;
mod repairs;
mod resizing;
mod several;
mod support;
mod threads;
mod threads_beside;
mod tracing;
mod under_systemd;
mod unpinned_tasks;
