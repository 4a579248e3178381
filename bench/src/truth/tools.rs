//! The measuring tools that are compared with the truth, one line each in [`TOOLS`].

mod quietcore;
mod rt_tests;
mod sysjitter;

use super::seen::ToolReading;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The priority of every sampler that accepts one.
pub(crate) const PRIORITY: &str = "80";
/// The period of every tool that sleeps.
pub(crate) const INTERVAL_NS: u64 = 1_000_000;

/// The question that a tool answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolQuestion {
    /// For how long does a thread that never sleeps lose the CPU?
    Gaps,
    /// How late does a thread wake up?
    WakeUps,
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolProgram {
    /// The program of this project.
    Quietcore,
    /// A program in PATH, with the action to take if it is missing.
    Peer(&'static str, &'static str),
}

/// One run of a tool.
#[derive(Clone, Debug)]
pub(crate) struct BenchRun {
    /// The measured CPU.
    pub(crate) cpu: usize,
    /// The CPU for everything else.
    pub(crate) other: usize,
    /// Duration of the measurement.
    pub(crate) seconds: u64,
    /// An empty folder for its files.
    pub(crate) folder: PathBuf,
}

/// One tool.
pub(crate) struct BenchTool {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The question that it answers.
    pub(crate) question: ToolQuestion,
    /// Its program.
    pub(crate) program: ToolProgram,
    /// Its arguments.
    pub(crate) words: fn(&BenchRun) -> Vec<String>,
    /// Reads its result from its folder and its output.
    pub(crate) read: fn(&BenchRun, printed: &str) -> Result<ToolReading, String>,
    /// Time from its start until it certainly measures.
    pub(crate) start_delay: Duration,
    /// How the tool has to be treated differently from the others; empty if it does not.
    pub(crate) differs: &'static str,
}

const RT_TESTS: &str = "install Debian's package rt-tests: apt-get install rt-tests";

/// All tools. Ours come first for each question.
#[rustfmt::skip]
pub(crate) const TOOLS: &[BenchTool] = &[
    BenchTool { name: "ours noise", question: ToolQuestion::Gaps, program: ToolProgram::Quietcore, words: quietcore::noise_words, read: quietcore::read_noise, start_delay: Duration::from_millis(600), differs: "" },
    BenchTool { name: "oslat", question: ToolQuestion::Gaps, program: ToolProgram::Peer("oslat", RT_TESTS), words: rt_tests::oslat_words, read: rt_tests::read_oslat, start_delay: Duration::from_millis(1_700), differs: "bins of 1 us up to 1,024 us, one bin above; no time stamps" },
    BenchTool { name: "sysjitter", question: ToolQuestion::Gaps, program: ToolProgram::Peer("sysjitter", "not packaged; build it from github.com/Xilinx-CNS/cns-sysjitter and put it in PATH"), words: sysjitter::sysjitter_words, read: sysjitter::read_sysjitter, start_delay: Duration::from_millis(1_700), differs: "no real-time priority (it hangs under one), memory not locked; its time stamps have no known zero" },
    BenchTool { name: "ours latency", question: ToolQuestion::WakeUps, program: ToolProgram::Quietcore, words: quietcore::latency_words, read: quietcore::read_latency, start_delay: Duration::from_millis(600), differs: "" },
    BenchTool { name: "cyclictest", question: ToolQuestion::WakeUps, program: ToolProgram::Peer("cyclictest", RT_TESTS), words: rt_tests::cyclictest_words, read: rt_tests::read_cyclictest, start_delay: Duration::from_millis(600), differs: "bins of 1 us" },
];

/// The words of a command line.
fn words(text: String) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Reads a JSON file. The error is the reason as text.
fn json(path: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
