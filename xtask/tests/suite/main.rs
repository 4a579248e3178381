//! The integration tests of `xtask` in one binary, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crate_order;
mod cycles;
mod documents;
mod functions;
mod house;
mod house_errors;
mod house_licences;
mod live_packages;
mod module_paths;
mod module_tokens;
mod schemas;
mod support;
mod templates;
mod terms;
mod test_files;
mod words;
