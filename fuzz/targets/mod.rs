//! Every parser of foreign text or bytes as a function of bytes that must not panic, hang or eat the memory, and
//! what must hold of its answer. One file and one line each; `cargo fuzz` and the ordinary tests share them.

mod archives;
mod boot_files;
mod boot_lines;
mod cgroups;
mod counters;
mod cpu_expressions;
mod cpu_lists;
mod cpu_masks;
mod declared;
mod event_formats;
mod foreign_results;
mod interrupts;
mod journals;
mod kernel_config;
mod kernel_messages;
mod neighbours;
mod results;
mod snapshots;
mod softirqs;
mod tasks;
mod trace_files;
mod trace_text;
mod watch_recordings;

/// One parser, or several of one kind of file.
pub struct Target {
    /// Its name, also that of its file and of its binary.
    pub name: &'static str,
    /// Inputs that are well formed, or nearly.
    #[allow(dead_code)] // The fuzzer keeps a corpus of its own.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Tries one input.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    archives::TARGET,
    boot_files::TARGET,
    boot_lines::TARGET,
    cgroups::TARGET,
    counters::TARGET,
    cpu_expressions::TARGET,
    cpu_lists::TARGET,
    cpu_masks::TARGET,
    declared::TARGET,
    event_formats::TARGET,
    foreign_results::TARGET,
    interrupts::TARGET,
    journals::TARGET,
    kernel_config::TARGET,
    kernel_messages::TARGET,
    neighbours::TARGET,
    results::TARGET,
    snapshots::TARGET,
    softirqs::TARGET,
    tasks::TARGET,
    trace_files::TARGET,
    trace_text::TARGET,
    watch_recordings::TARGET,
];

/// Text as a `Root` gives it.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn owned(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}
