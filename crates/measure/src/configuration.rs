//! Parses a file that describes a whole run, so that it can be repeated: samplers, CPUs, durations and load.
//!
//! There are two forms, distinguished by their content: our own TOML, and systress's stanzas as shown in the article on
//! `isolcpus` and cpusets. Parsing has no side effects. CPU expressions and policies remain text, in the grammar of the
//! command line, with their position in the file. They are resolved on the target machine.
//!
//! ```toml
//! [main]
//! cpus = "0-6"
//! refresh = "1500 ms"
//! cpu_load = "all"
//!
//! [[latency]]
//! cpus = "7"
//! policy = "fifo:99"
//! for = "1 min"
//!
//! [[program]]
//! command = "find / -type d -print"
//! cpus = "0-6"
//! after_success = "respawn"
//! ```

mod command_line;
mod error;
mod own_form;
mod systress;

pub use error::ConfigurationError;

use crate::load::LoadKind;
use machine::Nanos;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum file size, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A value and its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceValue<T> {
    /// The value.
    pub value: T,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationForm {
    /// Our TOML.
    Own,
    /// systress's stanzas.
    Systress,
}

/// A run, as described by a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunConfiguration {
    /// Its form.
    pub form: ConfigurationForm,
    /// The conductor.
    pub main: MainSettings,
    /// The samplers, in the order of the file. Never empty.
    pub samplers: Vec<ConfiguredSampler>,
    /// Built-in loads.
    pub loads: Vec<BuiltInLoad>,
    /// Programs that run beside the measurement.
    pub programs: Vec<ConfiguredProgram>,
    /// Settings that were parsed but have no effect here.
    pub notes: Vec<String>,
}

impl RunConfiguration {
    /// A run without samplers, loads and programs yet.
    fn of(form: ConfigurationForm, main: MainSettings) -> RunConfiguration {
        RunConfiguration {
            form,
            main,
            samplers: Vec::new(),
            loads: Vec::new(),
            programs: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// The thread that starts everything and draws the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MainSettings {
    /// Its CPUs, as a CPU expression.
    pub cpus: Option<SourceValue<String>>,
    /// The refresh interval of the screen.
    pub refresh: Duration,
    /// The CPUs whose load the screen shows.
    pub cpu_load: CpuLoad,
    /// Whether its memory is locked.
    pub memory: MemoryLock,
    /// The default format of the statistics.
    pub format: String,
}

/// The CPUs whose load the screen shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CpuLoad {
    /// No CPU.
    #[default]
    Hidden,
    /// Every CPU, and the total.
    All,
    /// These CPUs, as an expression, and the total.
    Of(SourceValue<String>),
}

/// Whether the conductor's memory is locked. The samplers' memory is always locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryLock {
    /// It may be swapped.
    #[default]
    Pageable,
    /// It stays in memory (`mlockall`).
    Locked,
}

/// The question of a sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplerQuestion {
    /// How late does it wake up?
    Latency {
        /// The period.
        interval: Duration,
    },
    /// How often is it interrupted?
    Noise {
        /// The shortest gap that counts.
        threshold: Duration,
    },
}

/// One sampler, or one on each of several CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredSampler {
    /// `timer_thread[0]`, or the name from the file.
    pub name: SourceValue<String>,
    /// Its number among those of its kind: the `Index` that systress prints.
    pub index: u32,
    /// Its question.
    pub question: SamplerQuestion,
    /// Its CPUs, as a CPU expression.
    pub cpus: Option<SourceValue<String>>,
    /// `fifo:99`, `other`: the grammar of `--policy`.
    pub policy: Option<SourceValue<String>>,
    /// Its lifetime; `None` runs until it is interrupted.
    pub lifetime: Option<Duration>,
    /// Upper end of the histogram that a foreign format prints.
    pub histogram: Option<Nanos>,
    /// The file for its statistics; `None` writes none.
    pub file: Option<PathBuf>,
    /// The format, by the names of `--format`; `None` uses [`MainSettings::format`].
    pub format: Option<SourceValue<String>>,
}

/// A built-in load of quietcore that runs during the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltInLoad {
    /// The kind of load.
    pub kind: LoadKind,
    /// Its CPUs, as a CPU expression; `None` is every CPU that is not measured.
    pub cpus: Option<SourceValue<String>>,
}

/// What happens after a program has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndAction {
    /// Nothing.
    #[default]
    Leave,
    /// It is restarted, so that the load remains constant.
    Respawn,
    /// The run ends.
    End,
}

/// A program that runs beside the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredProgram {
    /// `program[0]`, or the name from the file.
    pub name: SourceValue<String>,
    /// The program and its arguments; never empty.
    pub command: SourceValue<Vec<String>>,
    /// Its CPUs, as a CPU expression.
    pub cpus: Option<SourceValue<String>>,
    /// `other`, `fifo:10`: the grammar of `--policy`.
    pub policy: Option<SourceValue<String>>,
    /// The cgroup in which it starts, as a path below the cpuset hierarchy (`/rt`).
    pub cgroup: Option<SourceValue<String>>,
    /// The file for its standard output; `None` inherits ours.
    pub output: Option<PathBuf>,
    /// The file for its standard error; `None` inherits ours.
    pub errors: Option<PathBuf>,
    /// Action after exit status 0.
    pub after_success: EndAction,
    /// Action after any other end.
    pub after_failure: EndAction,
    /// When it is terminated, counted from its start.
    pub lifetime: Option<Duration>,
}

/// Parses a description in either form.
///
/// # Errors
/// The first problem, with its line and column.
pub fn parse(bytes: &[u8]) -> Result<RunConfiguration, ConfigurationError> {
    if bytes.len() > MOST_BYTES {
        return Err(ConfigurationError::of_file(
            format!("the file is larger than {MOST_BYTES} bytes"),
            "choose the file that describes the run",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(before);
        ConfigurationError::at(
            error::TextIndex::new(&before).at(before.len()),
            "it contains a byte that is not UTF-8 text",
            "write the file as plain text",
        )
    })?;
    let described = if systress::looks_like(text) {
        systress::parse(text)?
    } else {
        own_form::parse(text)?
    };
    if described.samplers.is_empty() {
        let expected = match described.form {
            ConfigurationForm::Own => "[[latency]] or [[noise]]",
            ConfigurationForm::Systress => "timer_thread[0] { ... }",
        };
        return Err(ConfigurationError::of_file(
            "no section of this file measures",
            format!("add {expected}"),
        ));
    }
    Ok(described)
}
