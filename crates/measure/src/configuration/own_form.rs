//! Parses our own form: TOML with the terms of the command line.

use super::error::{ConfigurationError, TextIndex};
use super::{
    BuiltInLoad, ConfigurationForm, ConfiguredProgram, ConfiguredSampler, CpuLoad, EndAction, MainSettings, MemoryLock,
    RunConfiguration, SamplerQuestion, SourceValue, command_line,
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
struct ConfigurationDocument {
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
    refresh: Option<DurationText>,
    cpu_load: Option<Spanned<String>>,
    #[serde(default)]
    memory: MemoryLock,
}

/// A sampler of either kind; which of the two times it may have is checked later.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplerTable {
    name: Option<Spanned<String>>,
    cpus: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    interval: Option<Spanned<DurationText>>,
    threshold: Option<Spanned<DurationText>>,
    #[serde(rename = "for")]
    lifetime: Option<DurationText>,
    histogram: Option<DurationText>,
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
    command: Spanned<CommandValue>,
    cpus: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    cgroup: Option<Spanned<String>>,
    output: Option<PathBuf>,
    errors: Option<PathBuf>,
    #[serde(default)]
    after_success: EndAction,
    #[serde(default)]
    after_failure: EndAction,
    #[serde(rename = "for")]
    lifetime: Option<DurationText>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CommandValue {
    Line(String),
    Words(Vec<String>),
}

/// A duration with its unit, as text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct DurationText(Duration);

impl TryFrom<String> for DurationText {
    type Error = String;

    fn try_from(text: String) -> Result<DurationText, String> {
        if !text.ends_with(|letter: char| letter.is_alphabetic()) {
            return Err(format!(
                "`{text}` has no unit: write it as 20 us, 1500 ms, 2 s or 1 min"
            ));
        }
        match parse_duration(&text)? {
            Duration::ZERO => Err(format!("`{text}` is not a length of time")),
            time => Ok(DurationText(time)),
        }
    }
}

/// Reads a configuration in quietcore's own TOML.
pub(super) fn parse(text: &str) -> Result<RunConfiguration, ConfigurationError> {
    let places = &TextIndex::new(text);
    let document: ConfigurationDocument = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or((0, 0), |span| places.at(span.start));
        let message = error.message().trim().replace('\n', "; ");
        ConfigurationError::at(
            at,
            message,
            "the tables are [main], [[latency]], [[noise]], [[load]] and [[program]]; the documentation page on \
             measuring describes their keys",
        )
    })?;
    let written = |word: Spanned<String>| at(places, word);
    let main = main(places, document.main.unwrap_or_default());
    let mut described = RunConfiguration::of(ConfigurationForm::Own, main);
    let latency = SamplerQuestion::Latency { interval: INTERVAL };
    let noise = SamplerQuestion::Noise { threshold: THRESHOLD };
    for (usual, tables) in [(latency, document.latency), (noise, document.noise)] {
        for (index, table) in tables.into_iter().enumerate() {
            described.samplers.push(sampler(places, usual, index, table)?);
        }
    }
    for table in document.load {
        described.loads.push(BuiltInLoad {
            kind: table.kind,
            cpus: table.cpus.map(written),
        });
    }
    for (index, table) in document.program.into_iter().enumerate() {
        described.programs.push(program(places, index, table)?);
    }
    Ok(described)
}

fn main(places: &TextIndex, table: MainTable) -> MainSettings {
    let written = |word: Spanned<String>| at(places, word);
    MainSettings {
        cpus: table.cpus.map(written),
        refresh: table.refresh.map_or(Duration::from_secs(1), |time| time.0),
        cpu_load: match table.cpu_load.map(written) {
            None => CpuLoad::Hidden,
            Some(word) if word.value == "all" => CpuLoad::All,
            Some(some) => CpuLoad::Of(some),
        },
        memory: table.memory,
        format: "json".to_owned(),
    }
}

fn program(
    places: &TextIndex,
    index: usize,
    table: Spanned<ProgramTable>,
) -> Result<ConfiguredProgram, ConfigurationError> {
    let written = |word: Spanned<String>| at(places, word);
    let name = named(places, table.span().start, "program", index);
    let table = table.into_inner();
    Ok(ConfiguredProgram {
        name: table.name.map_or(name, written),
        command: command(places, table.command)?,
        cpus: table.cpus.map(written),
        policy: table.policy.map(written),
        cgroup: table.cgroup.map(written),
        output: table.output,
        errors: table.errors,
        after_success: table.after_success,
        after_failure: table.after_failure,
        lifetime: table.lifetime.map(|time| time.0),
    })
}

/// `usual` is the default question.
fn sampler(
    places: &TextIndex,
    usual: SamplerQuestion,
    index: usize,
    table: Spanned<SamplerTable>,
) -> Result<ConfiguredSampler, ConfigurationError> {
    let start = table.span().start;
    let table = table.into_inner();
    let (word, question, misplaced) = match usual {
        SamplerQuestion::Latency { interval } => {
            let interval = table.interval.map_or(interval, |time| time.into_inner().0);
            ("latency", SamplerQuestion::Latency { interval }, table.threshold)
        }
        SamplerQuestion::Noise { threshold } => {
            let threshold = table.threshold.map_or(threshold, |time| time.into_inner().0);
            ("noise", SamplerQuestion::Noise { threshold }, table.interval)
        }
    };
    let name = named(places, start, word, index);
    if let Some(time) = misplaced {
        return Err(ConfigurationError::at(
            places.at(time.span().start),
            format!("this time has no effect in [[{word}]]"),
            "interval belongs to [[latency]], threshold to [[noise]]",
        ));
    }
    let written = |word: Spanned<String>| at(places, word);
    Ok(ConfiguredSampler {
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

fn command(places: &TextIndex, command: Spanned<CommandValue>) -> Result<SourceValue<Vec<String>>, ConfigurationError> {
    let (line, column) = places.at(command.span().start);
    let words = match command.into_inner() {
        CommandValue::Words(words) => Ok(words),
        // The TOML string starts with a quote; an escape in it shifts the column, never the line.
        CommandValue::Line(line) => command_line::split(&line).map_err(|(at, why)| (at + 1, why)),
    };
    match words {
        Ok(words) if words.first().is_none_or(String::is_empty) => Err(ConfigurationError::at(
            (line, column),
            "the command is empty",
            "write command = \"PROGRAM ARGUMENTS\"",
        )),
        Ok(value) => Ok(SourceValue { value, line, column }),
        Err((further, why)) => Err(ConfigurationError::at(
            (line, column + further),
            why,
            "close it, or write the command as a list: [\"sh\", \"-c\", \"...\"]",
        )),
    }
}

fn at(places: &TextIndex, word: Spanned<String>) -> SourceValue<String> {
    let (line, column) = places.at(word.span().start);
    SourceValue {
        value: word.into_inner(),
        line,
        column,
    }
}

/// The name of an entry that has none.
fn named(places: &TextIndex, offset: usize, kind: &str, index: usize) -> SourceValue<String> {
    let (line, column) = places.at(offset);
    SourceValue {
        value: format!("{kind}[{index}]"),
        line,
        column,
    }
}

fn nanos(time: DurationText) -> Nanos {
    Nanos(u64::try_from(time.0.as_nanos()).unwrap_or(u64::MAX))
}
