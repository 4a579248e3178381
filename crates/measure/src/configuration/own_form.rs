//! Parses our own form: TOML with the terms of the command line.

use super::error::{ConfigurationError, Places};
use super::{
    After, BuiltIn, Configuration, CpuLoad, Form, Main, Memory, Program, Question, Sampler, Written,
    command_line,
};
use crate::load::LoadKind;
use machine::{Nanos, parse_duration};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

/// Default `interval` of a latency sampler, as on the command line.
const INTERVAL: Duration = Duration::from_millis(1);

/// Default `threshold` of a noise sampler, as on the command line.
const THRESHOLD: Duration = Duration::from_micros(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    main: Option<MainTable>,
    #[serde(default)]
    latency: Vec<Spanned<SamplerTable>>,
    #[serde(default)]
    noise: Vec<Spanned<SamplerTable>>,
    #[serde(default)]
    load: Vec<LoadTable>,
    #[serde(default)]
    program: Vec<Spanned<ProgramTable>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MainTable {
    cpus: Option<Spanned<String>>,
    refresh: Option<Time>,
    cpu_load: Option<Spanned<String>>,
    #[serde(default)]
    memory: MemoryWord,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MemoryWord {
    #[default]
    Pageable,
    Locked,
}

/// A sampler of either kind; which of the two times it may have is checked later.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplerTable {
    name: Option<Spanned<String>>,
    cpus: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    interval: Option<Spanned<Time>>,
    threshold: Option<Spanned<Time>>,
    #[serde(rename = "for")]
    lifetime: Option<Time>,
    histogram: Option<Time>,
    out: Option<PathBuf>,
    format: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadTable {
    kind: LoadKind,
    cpus: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTable {
    name: Option<Spanned<String>>,
    command: Spanned<Command>,
    cpus: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    cgroup: Option<Spanned<String>>,
    output: Option<PathBuf>,
    errors: Option<PathBuf>,
    #[serde(default)]
    after_success: AfterWord,
    #[serde(default)]
    after_failure: AfterWord,
    #[serde(rename = "for")]
    lifetime: Option<Time>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Line(String),
    Words(Vec<String>),
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AfterWord {
    #[default]
    Leave,
    Respawn,
    End,
}

impl From<AfterWord> for After {
    fn from(word: AfterWord) -> After {
        match word {
            AfterWord::Leave => After::Leave,
            AfterWord::Respawn => After::Respawn,
            AfterWord::End => After::End,
        }
    }
}

/// A duration with its unit, as text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Time(Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Time, String> {
        if !text.ends_with(|letter: char| letter.is_alphabetic()) {
            return Err(format!(
                "`{text}` has no unit: write it as 20 us, 1500 ms, 2 s or 1 min"
            ));
        }
        match parse_duration(&text)? {
            Duration::ZERO => Err(format!("`{text}` is no length of time")),
            time => Ok(Time(time)),
        }
    }
}

/// Reads a configuration in quietcore's own TOML.
pub(super) fn parse(text: &str) -> Result<Configuration, ConfigurationError> {
    let places = &Places::new(text);
    let document: Document = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or((0, 0), |span| places.at(span.start));
        let said = error.message().trim().replace('\n', "; ");
        ConfigurationError::at(
            at,
            said,
            "there are the tables [main], [[latency]], [[noise]], [[load]] and [[program]]; the README shows their keys",
        )
    })?;
    let written = |word: Spanned<String>| at(places, word);
    let mut described = Configuration {
        form: Form::Own,
        main: main(places, document.main.unwrap_or_default()),
        samplers: Vec::new(),
        loads: Vec::new(),
        programs: Vec::new(),
        notes: Vec::new(),
    };
    for (index, table) in document.latency.into_iter().enumerate() {
        described.samplers.push(sampler(
            places,
            Question::Latency { interval: INTERVAL },
            index,
            table,
        )?);
    }
    for (index, table) in document.noise.into_iter().enumerate() {
        described.samplers.push(sampler(
            places,
            Question::Noise { threshold: THRESHOLD },
            index,
            table,
        )?);
    }
    for table in document.load {
        described.loads.push(BuiltIn {
            kind: table.kind,
            cpus: table.cpus.map(written),
        });
    }
    for (index, table) in document.program.into_iter().enumerate() {
        described.programs.push(program(places, index, table)?);
    }
    Ok(described)
}

fn main(places: &Places, table: MainTable) -> Main {
    let written = |word: Spanned<String>| at(places, word);
    Main {
        cpus: table.cpus.map(written),
        refresh: table.refresh.map_or(Duration::from_secs(1), |time| time.0),
        cpu_load: match table.cpu_load.map(written) {
            None => CpuLoad::Hidden,
            Some(word) if word.value == "all" => CpuLoad::All,
            Some(some) => CpuLoad::Of(some),
        },
        memory: match table.memory {
            MemoryWord::Pageable => Memory::Pageable,
            MemoryWord::Locked => Memory::Locked,
        },
        format: "json".to_owned(),
    }
}

fn program(
    places: &Places,
    index: usize,
    table: Spanned<ProgramTable>,
) -> Result<Program, ConfigurationError> {
    let written = |word: Spanned<String>| at(places, word);
    let name = named(places, table.span().start, "program", index);
    let table = table.into_inner();
    Ok(Program {
        name: table.name.map_or(name, written),
        command: command(places, table.command)?,
        cpus: table.cpus.map(written),
        policy: table.policy.map(written),
        cgroup: table.cgroup.map(written),
        output: table.output,
        errors: table.errors,
        after_success: table.after_success.into(),
        after_failure: table.after_failure.into(),
        lifetime: table.lifetime.map(|time| time.0),
    })
}

/// `usual` is the default question.
fn sampler(
    places: &Places,
    usual: Question,
    index: usize,
    table: Spanned<SamplerTable>,
) -> Result<Sampler, ConfigurationError> {
    let start = table.span().start;
    let table = table.into_inner();
    let (word, question, misplaced) = match usual {
        Question::Latency { interval } => {
            let interval = table.interval.map_or(interval, |time| time.into_inner().0);
            ("latency", Question::Latency { interval }, table.threshold)
        }
        Question::Noise { threshold } => {
            let threshold = table.threshold.map_or(threshold, |time| time.into_inner().0);
            ("noise", Question::Noise { threshold }, table.interval)
        }
    };
    let name = named(places, start, word, index);
    if let Some(time) = misplaced {
        return Err(ConfigurationError::at(
            places.at(time.span().start),
            format!("this time has no meaning in [[{word}]]"),
            "interval belongs to [[latency]], threshold to [[noise]]",
        ));
    }
    let written = |word: Spanned<String>| at(places, word);
    Ok(Sampler {
        name: table.name.map_or(name, written),
        index: u32::try_from(index).unwrap_or(u32::MAX),
        question,
        cpus: table.cpus.map(written),
        policy: table.policy.map(written),
        lifetime: table.lifetime.map(|time| time.0),
        histogram: table.histogram.map(nanos),
        file: table.out,
        format: table.format.map(written),
    })
}

fn command(places: &Places, command: Spanned<Command>) -> Result<Written<Vec<String>>, ConfigurationError> {
    let (line, column) = places.at(command.span().start);
    let words = match command.into_inner() {
        Command::Words(words) => Ok(words),
        // The TOML string starts with a quote; an escape in it shifts the column, never the line.
        Command::Line(line) => command_line::split(&line).map_err(|(at, why)| (at + 1, why)),
    };
    match words {
        Ok(words) if words.first().is_none_or(String::is_empty) => Err(ConfigurationError::at(
            (line, column),
            "the command is empty",
            "write command = \"PROGRAM ARGUMENTS\"",
        )),
        Ok(value) => Ok(Written { value, line, column }),
        Err((further, why)) => Err(ConfigurationError::at(
            (line, column + further),
            why,
            "close it, or write the command as a list: [\"sh\", \"-c\", \"...\"]",
        )),
    }
}

fn at(places: &Places, word: Spanned<String>) -> Written<String> {
    let (line, column) = places.at(word.span().start);
    Written {
        value: word.into_inner(),
        line,
        column,
    }
}

/// The name of an entry that has none.
fn named(places: &Places, offset: usize, kind: &str, index: usize) -> Written<String> {
    let (line, column) = places.at(offset);
    Written {
        value: format!("{kind}[{index}]"),
        line,
        column,
    }
}

fn nanos(time: Time) -> Nanos {
    Nanos(u64::try_from(time.0.as_nanos()).unwrap_or(u64::MAX))
}
