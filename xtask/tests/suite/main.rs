//! The integration tests of `xtask`, in one program: a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod house;
mod house_licences;
mod support;
mod test_files;
