//! The measurement of each cell, as text of the file: the head of every study that is generated for the user.

use measure::MeasurementKind;
use std::fmt::Write as _;

/// The measurement of each cell, as text of the file. The values are checked when the file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Latency, noise, or both.
    pub what: MeasurementKind,
    /// A CPU expression.
    pub cpus: String,
    /// How long a run measures.
    pub each: String,
    /// The policy of the sampler.
    pub policy: Option<String>,
    /// The period of the wake-ups.
    pub interval: Option<String>,
    /// The load during the measurement.
    pub load: LoadLevel,
    /// The number of runs of each cell.
    pub repetitions: usize,
    /// The seed of the random order.
    pub seed: u64,
    /// Maximum duration of one call.
    pub budget: Option<String>,
    /// Idle time before each run.
    pub cool_down: String,
}

/// A load and where it runs, as text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadLevel {
    /// `idle`, or kinds joined by `+`.
    pub kinds: String,
    /// `everywhere` or `others`.
    pub place: &'static str,
}

impl Experiment {
    /// The file up to its axes. It starts with a comment that says which program made it and what its levels mean.
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
        let _ = writeln!(text, "cpus = {}\nfor = {}", quoted(&self.cpus), quoted(&self.each));
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
