//! Writes the study as a file. Every isolation is spelled out, so that the directory documents how it was made.

use super::levels::{LevelQuestion, Matrix};
use crate::experiment::{Experiment, list, quoted};
use std::fmt::Write as _;

impl Experiment {
    /// The file of a study that tests knobs.
    #[must_use]
    pub fn text(&self, matrix: &Matrix) -> String {
        let mut text =
            self.head("Written by `quietcore study which-knob`. bare is only the partition, full the whole plan.");
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
            let _ = writeln!(text, "\n[isolation.{}]\nprofile = {}", level.name, quoted(&profile));
            let _ = writeln!(text, "with = {}\nwithout = {}", list(&level.with), list(&level.without));
        }
        matrix
            .questions
            .iter()
            .for_each(|level_question| text.push_str(&question(level_question)));
        text
    }
}

fn question(level_question: &LevelQuestion) -> String {
    let mut text = format!("\n[[which_knob]]\nknob = {}\n", quoted(&level_question.knob));
    let mut pair = |key: &str, pair: &Option<[String; 2]>| {
        if let Some(pair) = pair {
            let _ = writeln!(text, "{key} = {}", list(pair));
        }
    };
    pair("alone", &level_question.alone);
    pair("in_plan", &level_question.in_plan);
    for (key, knobs) in [("needs", &level_question.needs), ("along", &level_question.along)] {
        if !knobs.is_empty() {
            let _ = writeln!(text, "{key} = {}", list(knobs));
        }
    }
    text
}
