//! The integration tests of `boot` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod comparison;
mod file_lines;
mod grub_mkconfig;
mod kernels;
mod shell_files;
mod support;
mod trees;
