//! What cells need of the boot line and of the kernel, and the axes `preemption` and `kernel`.

use crate::document::{Axes, ParseContext, StudyError};
use crate::levels::levels;
use machine::CpuSet;
use machine::cmdline::{Parameter, same_name};
use toml::Spanned;

/// The placeholder for the measured CPUs in a word.
pub(crate) const CPUS: &str = "{cpus}";

/// Models that `preempt=` accepts; `lazy` since 6.13 (`kernel/sched/core.c`, `sched_dynamic_mode`).
const MODELS: [&str; 4] = ["none", "voluntary", "full", "lazy"];

/// Maximum length of a kernel's name in the names of directories.
const LONGEST_KERNEL: usize = 60;

/// A boot of the machine that some cells need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// Words that it adds to the boot line of the machine; `{cpus}` is replaced by the measured CPUs.
    pub words: Vec<String>,
    /// The release or the path of a kernel; `None` is the kernel of the machine.
    pub kernel: Option<String>,
}

impl Boot {
    /// Whether it needs no change of the boot line or of the kernel.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.words.is_empty() && self.kernel.is_none()
    }

    /// Its words for these CPUs.
    #[must_use]
    pub fn words_for(&self, cpus: &CpuSet) -> Vec<String> {
        let cpus = cpus.to_string();
        self.words.iter().map(|word| word.replace(CPUS, &cpus)).collect()
    }

    /// A description for display.
    #[must_use]
    pub fn text(&self, cpus: &CpuSet) -> String {
        let words = match self.words.is_empty() {
            true => "the present boot line".to_owned(),
            false => self.words_for(cpus).join(" "),
        };
        match &self.kernel {
            Some(kernel) => format!("{words}, kernel {kernel}"),
            None => words,
        }
    }
}

/// Whether a level of the axis `kernel` is the path of an image, not a release.
#[must_use]
pub fn is_image(kernel: &str) -> bool {
    kernel.contains('/')
}

/// A level of the axis `kernel`.
pub(crate) struct KernelLevel {
    /// As written in the file.
    pub text: String,
    /// As part of a directory name.
    pub name: String,
}

/// The levels of the axis `preemption`; empty where the axis is missing.
pub(crate) fn preemptions(axes: &Axes, context: &ParseContext) -> Result<Vec<String>, StudyError> {
    let Some(axis) = &axes.preemption else {
        return Ok(Vec::new());
    };
    let levels = levels(Some(axis), "preemption", "the preemption model of the machine", context)?;
    for (word, line) in &levels {
        if !MODELS.contains(&word.as_str()) {
            let next = format!(
                "write some of {}; other kernels belong to the axis `kernel`",
                MODELS.join(", ")
            );
            return Err(StudyError::new(
                *line,
                format!("there is no preemption model `{word}`"),
                next,
            ));
        }
    }
    for word in context.isolations.values().flat_map(|named| &named.boot) {
        if same_name(&Parameter::parse(word.get_ref()).name, "preempt") {
            let line = context.line(&word.span());
            let next = "remove it: the axis `preemption` sets it";
            return Err(StudyError::new(line, "`preempt=` is already set by an axis", next));
        }
    }
    Ok(levels.into_iter().map(|(word, _)| word).collect())
}

/// The levels of the axis `kernel`; empty where the axis is missing.
pub(crate) fn kernels(axes: &Axes, context: &ParseContext) -> Result<Vec<KernelLevel>, StudyError> {
    let Some(axis) = &axes.kernel else {
        return Ok(Vec::new());
    };
    let mut kernels: Vec<KernelLevel> = Vec::new();
    for (text, line) in levels(Some(axis), "kernel", "the kernel of the machine", context)? {
        let file = text.rsplit('/').next().unwrap_or_default();
        // `-` separates the levels in the name of a cell.
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() || ".+".contains(letter) {
                letter
            } else {
                '_'
            }
        };
        let name: String = file.chars().map(plain).collect();
        if name.is_empty() || name.len() > LONGEST_KERNEL || name.starts_with('.') || text.chars().any(char::is_control)
        {
            let next = "write a release as `uname -r` prints it, or the path of a kernel";
            return Err(StudyError::new(
                line,
                format!("`{text}` is neither a kernel release nor a path"),
                next,
            ));
        }
        if let Some(same) = kernels.iter().find(|known| known.name == name) {
            let what = format!("`{text}` and `{}` would have the same directories", same.text);
            return Err(StudyError::new(line, what, "rename one of the files"));
        }
        kernels.push(KernelLevel { text, name });
    }
    Ok(kernels)
}

/// The words that an isolation needs on the boot line.
pub(crate) fn boot_words(words: &[Spanned<String>], context: &ParseContext) -> Result<Vec<String>, StudyError> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let line = context.line(&word.span());
        let word = word.get_ref();
        let refused = |what: String, next: &str| Err(StudyError::new(line, what, next));
        let name = Parameter::parse(word).name;
        if name.is_empty() || !word.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refused(
                format!("`{word}` is not a boot parameter"),
                "write each one in ASCII: boot = [\"nohz_full={cpus}\", \"rcu_nocbs={cpus}\"]",
            );
        }
        if word.replace(CPUS, "").contains(['{', '}']) {
            return refused(
                format!("`{word}` contains an unknown placeholder"),
                "write {cpus} for the measured CPUs",
            );
        }
        if name.starts_with("quietcore.") {
            return refused(format!("`{word}` is a parameter of quietcore itself"), "remove it");
        }
        if found
            .iter()
            .any(|known| same_name(&Parameter::parse(known).name, &name))
        {
            return refused(format!("`{name}` is listed twice"), "list every parameter once");
        }
        found.push(word.clone());
    }
    Ok(found)
}
