//! The measuring tools that are held against the truth: one line each in [`TOOLS`].

mod quietcore;
mod rt_tests;
mod sysjitter;

use super::seen::Seen;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The priority of every sampler that takes one.
pub(crate) const PRIORITY: &str = "80";
/// The period of every tool that sleeps.
pub(crate) const INTERVAL_NS: u64 = 1_000_000;

/// What a tool asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// How long is a thread stopped that never sleeps?
    Gaps,
    /// How late does a thread wake up?
    WakeUps,
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This project.
    Ours,
    /// In PATH, with what to do when it is not there.
    Peer(&'static str, &'static str),
}

/// One run of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The measured CPU.
    pub(crate) cpu: usize,
    /// The CPU of everything else.
    pub(crate) other: usize,
    /// How long the tool measures.
    pub(crate) seconds: u64,
    /// An empty folder for what it writes.
    pub(crate) folder: PathBuf,
}

/// One tool.
pub(crate) struct Tool {
    /// As the table says it.
    pub(crate) name: &'static str,
    /// What it asks.
    pub(crate) question: Question,
    /// What is started.
    pub(crate) program: Program,
    /// With these words.
    pub(crate) words: fn(&Run) -> Vec<String>,
    /// How its result is read, from its folder and what it printed.
    pub(crate) read: fn(&Run, printed: &str) -> Result<Seen, String>,
    /// From its start until it certainly measures.
    pub(crate) begins_after: Duration,
    /// How it cannot be treated as the others are; empty when it can.
    pub(crate) differs: &'static str,
}

const RT_TESTS: &str = "install Debian's package rt-tests: apt-get install rt-tests";

/// All of them. Ours come first for each question.
#[rustfmt::skip]
pub(crate) const TOOLS: &[Tool] = &[
    Tool { name: "ours noise", question: Question::Gaps, program: Program::Ours, words: quietcore::noise_words, read: quietcore::read_noise, begins_after: Duration::from_millis(600), differs: "" },
    Tool { name: "oslat", question: Question::Gaps, program: Program::Peer("oslat", RT_TESTS), words: rt_tests::oslat_words, read: rt_tests::read_oslat, begins_after: Duration::from_millis(1_700), differs: "bins of 1 us up to 1,024 us, one bin above; no time stamps" },
    Tool { name: "sysjitter", question: Question::Gaps, program: Program::Peer("sysjitter", "not packaged; build it from github.com/Xilinx-CNS/cns-sysjitter and put it in PATH"), words: sysjitter::sysjitter_words, read: sysjitter::read_sysjitter, begins_after: Duration::from_millis(1_700), differs: "no real-time priority (it hangs under one), memory not locked; its time stamps have no known zero" },
    Tool { name: "ours latency", question: Question::WakeUps, program: Program::Ours, words: quietcore::latency_words, read: quietcore::read_latency, begins_after: Duration::from_millis(600), differs: "" },
    Tool { name: "cyclictest", question: Question::WakeUps, program: Program::Peer("cyclictest", RT_TESTS), words: rt_tests::cyclictest_words, read: rt_tests::read_cyclictest, begins_after: Duration::from_millis(600), differs: "bins of 1 us" },
];

/// The words of a command line.
fn words(text: String) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A JSON file, or why there is none.
fn json(path: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
