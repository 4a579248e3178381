//! The integration tests of `boot`, in one program: a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod comparison;
mod grub_mkconfig;
mod kernels;
mod shell_files;
mod shown;
mod support;
mod trees;
