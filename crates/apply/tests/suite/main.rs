//! The integration tests of `apply`, in one program: a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boot_line;
mod boots;
mod by_hand;
mod crowd;
mod cycling;
mod every_step;
mod guarded;
mod hand_moves;
mod hotplug;
mod installing;
mod irqbalance;
mod keeping_busy;
mod kprobes;
mod latency;
mod mending;
mod named_sets;
mod newer_records;
mod not_ours;
mod refusals;
mod released_journals;
mod released_ledgers;
mod resizing;
mod several;
mod support;
mod threads;
mod threads_beside;
mod tracing;
mod under_systemd;
