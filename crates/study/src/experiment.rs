//! What is measured in each cell, in the words of the file: the head of every study that is written for the user.

use crate::document::What;
use std::fmt::Write as _;

/// What is measured in each cell, in the words of the file. They are judged when the file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Latency, noise, or both.
    pub what: What,
    /// An expression for the CPUs.
    pub cpus: String,
    /// How long a run measures.
    pub each: String,
    /// The policy of the sampler.
    pub policy: Option<String>,
    /// The period of the wake-ups.
    pub interval: Option<String>,
    /// What runs beside it.
    pub load: Load,
    /// How often each cell is run.
    pub repetitions: usize,
    /// From which the order is drawn.
    pub seed: u64,
    /// The longest time that one call may take.
    pub budget: Option<String>,
    /// How long the machine is left alone before each run.
    pub cool_down: String,
}

/// A load and where it runs, in the words of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// `idle`, or kinds with `+` between them.
    pub kinds: String,
    /// `everywhere` or `others`.
    pub place: &'static str,
}

impl Experiment {
    /// The file until its axes. Who made it, and what its levels mean, stands on top.
    pub(crate) fn head(&self, about: &str) -> String {
        let mut text = format!("# {about}\n");
        let _ = writeln!(text, "repetitions = {}\nseed = {}", self.repetitions, self.seed);
        let _ = writeln!(text, "cool_down = {}", quoted(&self.cool_down));
        let maybe = |key: &str, value: &Option<String>| match value {
            Some(value) => format!("{key} = {}\n", quoted(value)),
            None => String::new(),
        };
        text.push_str(&maybe("budget", &self.budget));
        let _ = writeln!(text, "load_on = {}", quoted(self.load.place));
        let _ = writeln!(text, "\n[measure]\nwhat = {}", quoted(self.what.word()));
        let _ = writeln!(
            text,
            "cpus = {}\nfor = {}",
            quoted(&self.cpus),
            quoted(&self.each)
        );
        text.push_str(&maybe("policy", &self.policy));
        text.push_str(&maybe("interval", &self.interval));
        text
    }
}

/// A list of texts.
pub(crate) fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A basic string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\U{:08X}", u32::from(letter)),
        letter => letter.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}
