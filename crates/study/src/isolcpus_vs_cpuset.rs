//! The study of R. Koucha's article "Comparaison de deux méthodes d'isolation CPU" (2021) as a file: the boot parameter
//! `isolcpus` and a cpuset partition, idle and loaded, under several models of preemption or several kernels.

use crate::Experiment;
use crate::experiment::{list, quoted};
use std::fmt::Write as _;

/// Ways to isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Nothing is isolated: what both are held against.
    None,
    /// `isolcpus=` on the boot line.
    Isolcpus,
    /// A partition made at run time, without kernel threads, interrupts and timers of others, as the article's script makes it.
    Cpuset,
    /// Both.
    Both,
}

impl Isolation {
    /// Its level in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Isolation::None => "none",
            Isolation::Isolcpus => "isolcpus",
            Isolation::Cpuset => "cpuset",
            Isolation::Both => "both",
        }
    }

    /// What the file says of it; nothing for a word that every study knows.
    fn described(self) -> &'static str {
        match self {
            Isolation::None | Isolation::Isolcpus => "",
            Isolation::Cpuset => "\n[isolation.cpuset]\nprofile = \"balanced\"\n",
            Isolation::Both => "\n[isolation.both]\nprofile = \"balanced\"\nboot = [\"isolcpus={cpus}\"]\n",
        }
    }
}

/// What differs between the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// How it is isolated.
    pub isolations: Vec<Isolation>,
    /// Models for `preempt=`; none leaves it as the kernel has it.
    pub preemptions: Vec<String>,
    /// Kernels; none is the one that there is.
    pub kernels: Vec<String>,
}

/// The file of the study. Every cell is there idle, and with the experiment's load.
#[must_use]
pub fn text(experiment: &Experiment, levels: &Levels) -> String {
    let mut text = experiment.head("Made by `quietcore study isolcpus-vs-cpuset`.");
    let isolations: Vec<String> = levels
        .isolations
        .iter()
        .map(|one| one.word().to_owned())
        .collect();
    let _ = writeln!(
        text,
        "\n[axes]\nisolation = {}\nload = [\"idle\", {}]",
        list(&isolations),
        quoted(&experiment.load.kinds)
    );
    for (axis, words) in [("preemption", &levels.preemptions), ("kernel", &levels.kernels)] {
        if !words.is_empty() {
            let _ = writeln!(text, "{axis} = {}", list(words));
        }
    }
    levels
        .isolations
        .iter()
        .for_each(|one| text.push_str(one.described()));
    text
}
