//! Whoever is looked at while they run: a command that we start and place, or a stretch of time, and the CPUs it happens on.
//! `blame` and `trace` do the same with it until it is over.

pub mod attend;
pub mod child;
pub mod offline;
pub mod place;
