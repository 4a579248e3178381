//! A whole run described in a file, so that it can be repeated: what samples where, for how long, under which load.
//!
//! Two forms, told apart by their content: our own TOML, and systress's stanzas, as the article on `isolcpus` and
//! cpusets shows them. Pure: text to a description. CPU expressions and policies stay text, in the grammar of the
//! command line, with the place where they stand: what they mean is settled on a machine.
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
use std::path::PathBuf;
use std::time::Duration;

/// A file above this size is refused, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// Something, and where it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// What stands there.
    pub value: T,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// In which words a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Our TOML.
    Own,
    /// systress's stanzas.
    Systress,
}

/// A run as a configuration file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The form it was written in.
    pub form: Form,
    /// The conductor.
    pub main: Main,
    /// What samples, in the order of the file. Never empty.
    pub samplers: Vec<Sampler>,
    /// Built-in loads.
    pub loads: Vec<BuiltIn>,
    /// Programs that run beside.
    pub programs: Vec<Program>,
    /// What was understood but has no meaning here, in words.
    pub notes: Vec<String>,
}

/// The thread that starts everything and draws the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Main {
    /// Where it runs, as a CPU expression.
    pub cpus: Option<Written<String>>,
    /// How often the screen is drawn again.
    pub refresh: Duration,
    /// Whose load the screen shows.
    pub cpu_load: CpuLoad,
    /// What becomes of its memory.
    pub memory: Memory,
    /// How the statistics are written where a sampler does not say.
    pub format: String,
}

/// Whose load the screen shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CpuLoad {
    /// Nobody's.
    #[default]
    Hidden,
    /// Every CPU's, and all together.
    All,
    /// These CPUs', as an expression, and all together.
    Of(Written<String>),
}

/// What becomes of the conductor's memory. The samplers' is always locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// It may be swapped.
    #[default]
    Pageable,
    /// It stays in memory (`mlockall`).
    Locked,
}

/// What a sampler asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How late does it wake up?
    Latency {
        /// The period.
        interval: Duration,
    },
    /// How often is it stopped?
    Noise {
        /// The shortest gap that counts.
        threshold: Duration,
    },
}

/// One sampler, or one on each of several CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// `timer_thread[0]`, or the name that the file gives.
    pub name: Written<String>,
    /// Its number among those of its kind: what systress prints as `Index`.
    pub index: u32,
    /// What it asks.
    pub question: Question,
    /// Where, as a CPU expression.
    pub cpus: Option<Written<String>>,
    /// `fifo:99`, `other`: the grammar of `--policy`.
    pub policy: Option<Written<String>>,
    /// How long; `None` until it is interrupted.
    pub lifetime: Option<Duration>,
    /// Upper end of the histogram that a foreign format prints.
    pub histogram: Option<Nanos>,
    /// Where its statistics go; `None` writes none.
    pub file: Option<PathBuf>,
    /// In which format, by the names of `--format`; `None` is [`Main::format`].
    pub format: Option<Written<String>>,
}

/// A load of quietcore's own that runs beside the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// Which.
    pub kind: LoadKind,
    /// Where, as a CPU expression; `None` is every CPU that nothing is measured on.
    pub cpus: Option<Written<String>>,
}

/// What happens when a program has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    #[default]
    Leave,
    /// It is started again, so that the load stays the same.
    Respawn,
    /// The run ends.
    End,
}

/// A program that runs beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// `program[0]`, or the name that the file gives.
    pub name: Written<String>,
    /// The program and its arguments; never empty.
    pub command: Written<Vec<String>>,
    /// Where, as a CPU expression.
    pub cpus: Option<Written<String>>,
    /// `other`, `fifo:10`: the grammar of `--policy`.
    pub policy: Option<Written<String>>,
    /// The cgroup that it is started in, as a path below the cpuset hierarchy (`/rt`).
    pub cgroup: Option<Written<String>>,
    /// Where its standard output goes; `None` is ours.
    pub output: Option<PathBuf>,
    /// Where its standard error goes; `None` is ours.
    pub errors: Option<PathBuf>,
    /// After exit status 0.
    pub after_success: After,
    /// After any other end.
    pub after_failure: After,
    /// When it is ended, counted from its start.
    pub lifetime: Option<Duration>,
}

/// Reads a description in either form.
///
/// # Errors
/// What is wrong first, with its line and column.
pub fn parse(bytes: &[u8]) -> Result<Configuration, ConfigurationError> {
    if bytes.len() > MOST_BYTES {
        return Err(ConfigurationError::of_file(
            format!("the file has more than {MOST_BYTES} bytes"),
            "name the file that describes the run",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(before);
        ConfigurationError::at(
            error::Places::new(&before).at(before.len()),
            "there is a byte that is not UTF-8 text",
            "write the file as plain text",
        )
    })?;
    let described = if systress::looks_like(text) {
        systress::parse(text)?
    } else {
        own_form::parse(text)?
    };
    if described.samplers.is_empty() {
        let wanted = match described.form {
            Form::Own => "[[latency]] or [[noise]]",
            Form::Systress => "timer_thread[0] { ... }",
        };
        return Err(ConfigurationError::of_file(
            "nothing in this file measures",
            format!("add {wanted}"),
        ));
    }
    Ok(described)
}
