//! The study as a file: what is measured and every isolation, spelled out, so that a directory says what it was made from.

use super::levels::{Asks, Matrix};
use crate::What;
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
    /// The file of a study that answers.
    #[must_use]
    pub fn text(&self, matrix: &Matrix) -> String {
        let mut text = String::from(
            "# Made by `quietcore study which-knob`. bare is the partition alone, full the whole plan.\n",
        );
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
        let names: Vec<String> = std::iter::once("none".to_owned())
            .chain(matrix.levels.iter().map(|level| level.name.clone()))
            .collect();
        let _ = writeln!(
            text,
            "\n[axes]\nisolation = {}\nload = {}",
            list(&names),
            list(std::slice::from_ref(&self.load.kinds))
        );
        let profile = format!("{:?}", matrix.profile).to_lowercase();
        for level in &matrix.levels {
            let _ = writeln!(
                text,
                "\n[isolation.{}]\nprofile = {}",
                level.name,
                quoted(&profile)
            );
            let _ = writeln!(
                text,
                "with = {}\nwithout = {}",
                list(&level.with),
                list(&level.without)
            );
        }
        matrix
            .questions
            .iter()
            .for_each(|asks| text.push_str(&question(asks)));
        text
    }
}

fn question(asks: &Asks) -> String {
    let mut text = format!("\n[[which_knob]]\nknob = {}\n", quoted(&asks.knob));
    let mut pair = |key: &str, pair: &Option<[String; 2]>| {
        if let Some(pair) = pair {
            let _ = writeln!(text, "{key} = {}", list(pair));
        }
    };
    pair("alone", &asks.alone);
    pair("in_plan", &asks.in_plan);
    for (key, knobs) in [("needs", &asks.needs), ("along", &asks.along)] {
        if !knobs.is_empty() {
            let _ = writeln!(text, "{key} = {}", list(knobs));
        }
    }
    text
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\U{:08X}", u32::from(letter)),
        letter => letter.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}
