//! The integration tests of `study` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boots;
mod files;
mod isolcpus_vs_cpuset;
mod kernels;
mod schedules;
mod support;
mod which_knob;
