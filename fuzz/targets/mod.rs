//! Every parser of foreign text or bytes as a function of bytes that must not panic, hang or exhaust memory, with the
//! properties that must hold for its result. One file and one line each; `cargo fuzz` and the ordinary tests share
//! them.

mod archives;
mod arguments;
mod boot_files;
mod boot_lines;
mod boot_trees;
mod bus_replies;
mod cgroups;
mod counters;
mod cpu_expressions;
mod cpu_lists;
mod cpu_masks;
mod declared;
mod described;
mod event_formats;
mod foreign_results;
mod frames;
mod gap_recordings;
mod interrupts;
mod journals;
mod kernel_config;
mod kernel_messages;
mod ledgers;
mod machine_files;
mod neighbours;
mod packed_files;
mod proc_texts;
mod requests;
mod results;
mod ring_pages;
mod shell_files;
mod snapshots;
mod softirqs;
mod studies;
mod tasks;
mod trace_files;
mod trace_text;
mod watch_recordings;
mod watch_state;
mod webhook_answers;

/// One parser, or several of one kind of file.
pub struct FuzzTarget {
    /// Its name, also that of its file and of its binary.
    pub name: &'static str,
    /// Inputs that are well-formed, or nearly so.
    #[allow(dead_code)] // The fuzzer keeps a corpus of its own.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Tries one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[FuzzTarget] = &[
    archives::TARGET,
    arguments::TARGET,
    boot_files::TARGET,
    boot_lines::TARGET,
    boot_trees::TARGET,
    bus_replies::TARGET,
    cgroups::TARGET,
    counters::TARGET,
    cpu_expressions::TARGET,
    cpu_lists::TARGET,
    cpu_masks::TARGET,
    declared::TARGET,
    described::TARGET,
    event_formats::TARGET,
    foreign_results::TARGET,
    frames::TARGET,
    gap_recordings::TARGET,
    interrupts::TARGET,
    journals::TARGET,
    kernel_config::TARGET,
    kernel_messages::TARGET,
    ledgers::TARGET,
    machine_files::TARGET,
    neighbours::TARGET,
    packed_files::TARGET,
    proc_texts::TARGET,
    requests::TARGET,
    results::TARGET,
    ring_pages::TARGET,
    shell_files::TARGET,
    snapshots::TARGET,
    softirqs::TARGET,
    studies::TARGET,
    tasks::TARGET,
    trace_files::TARGET,
    trace_text::TARGET,
    watch_recordings::TARGET,
    watch_state::TARGET,
    webhook_answers::TARGET,
];

/// Converts bytes to text as `Root` does.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn owned(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

/// Separates the files of an input that contains several: a control character that none of them has.
const SEPARATOR: u8 = 0x1e;

fn sections(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == SEPARATOR)
}
