//! The integration tests of `plan` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::cast_possible_truncation)]

mod boot_check;
mod boot_lines;
mod choosing;
mod declared;
mod diff;
mod finding_rows;
mod knob_captures;
mod knobs;
