//! The integration tests of `quietcore` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boot_check;
mod boot_owners;
mod boot_refusals;
mod boot_trees;
mod boot_verdict;
mod cases;
mod comparing;
mod comparing_sets;
mod cset;
mod cures;
mod declaring;
mod explaining;
mod exports;
mod intentions;
mod live_blaming;
mod live_blaming_programs;
mod live_blaming_tracers;
mod live_blaming_until;
mod live_blaming_untraced;
mod live_breaking;
mod live_check_unprivileged;
mod live_described;
mod live_flat_memory;
mod live_leftovers;
mod live_limits;
mod live_measuring;
mod live_metrics;
mod live_recording;
mod live_scraped;
mod live_studying;
mod live_studying_remote;
mod live_studying_vm;
mod live_watch_daemon;
mod live_watch_full_disk;
mod live_watch_storms;
mod live_watch_unit;
mod live_watching;
mod live_which_knob;
mod lost_output;
mod matrix;
mod old_kernels;
mod partrt;
mod placing;
mod proving;
mod reference;
mod results_of_others;
mod study_plans;
mod support;
mod traces;
