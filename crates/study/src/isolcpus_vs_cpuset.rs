//! Writes the study of R. Koucha's article "Comparaison de deux méthodes d'isolation CPU" (2021) as a file: the boot
//! parameter `isolcpus` and a cpuset partition, idle and loaded, under several preemption models or several kernels.

use crate::Experiment;
use crate::experiment::{list, quoted};
use std::fmt::Write as _;

/// Ways to isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IsolationVariant {
    /// Nothing is isolated: the baseline of both methods.
    None,
    /// `isolcpus=` on the boot line.
    Isolcpus,
    /// A partition made at run time, without other kernel threads, interrupts and timers, as the article's script makes it.
    Cpuset,
    /// Both.
    Both,
}

impl IsolationVariant {
    /// Its level in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            IsolationVariant::None => "none",
            IsolationVariant::Isolcpus => "isolcpus",
            IsolationVariant::Cpuset => "cpuset",
            IsolationVariant::Both => "both",
        }
    }

    /// Its definition in the file; `None` for a predefined isolation.
    fn described(self) -> &'static str {
        match self {
            IsolationVariant::None | IsolationVariant::Isolcpus => "",
            IsolationVariant::Cpuset => "\n[isolation.cpuset]\nprofile = \"balanced\"\n",
            IsolationVariant::Both => "\n[isolation.both]\nprofile = \"balanced\"\nboot = [\"isolcpus={cpus}\"]\n",
        }
    }
}

/// The axes of the study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The isolation methods.
    pub isolations: Vec<IsolationVariant>,
    /// Models for `preempt=`; empty keeps the kernel's default.
    pub preemptions: Vec<String>,
    /// Kernels; empty is the running kernel.
    pub kernels: Vec<String>,
}

/// The file of the study. Every isolation is measured idle and with the experiment's load.
#[must_use]
pub fn text(experiment: &Experiment, levels: &Levels) -> String {
    let mut text = experiment.head("Written by `quietcore study isolcpus-vs-cpuset`.");
    let isolations: Vec<String> = levels.isolations.iter().map(|one| one.word().to_owned()).collect();
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
    levels.isolations.iter().for_each(|one| text.push_str(one.described()));
    text
}
