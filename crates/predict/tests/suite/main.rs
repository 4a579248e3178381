//! Tests of predictions on made watches.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod changes;
mod coverage;
mod refusals;
mod support;
