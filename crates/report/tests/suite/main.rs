//! The integration tests of `report` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blame_pictures;
mod blaming;
mod check_steps;
mod differences;
mod escaping;
mod everything;
mod explained_paths;
mod gap_recordings;
mod heat_maps;
mod inspect;
mod live_gap_details;
mod live_zooming;
mod live_zooming_results;
mod predicting;
mod result_pictures;
mod stories;
mod study_pages;
mod support;
