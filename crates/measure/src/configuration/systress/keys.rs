//! Interprets the keys of systress's stanzas.

use super::super::{
    ConfigurationError, ConfigurationForm, ConfiguredProgram, ConfiguredSampler, CpuLoad, EndAction, MainSettings,
    MemoryLock, RunConfiguration, SamplerQuestion, SourceValue, command_line,
};
use super::{Stanza, SystressEntry};
use machine::{Nanos, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Default `period` of a timer thread: the article's one-minute runs have 60,000 samples.
const PERIOD: Duration = Duration::from_millis(1);

/// Default `stats.period`, the refresh interval of the screen. The article always sets it.
const REFRESH: Duration = Duration::from_secs(1);

/// Default `stats.histo_size`, the upper end of the histogram. The article always sets it.
const HISTOGRAM: Nanos = Nanos(1_000_000);

/// Converts the stanzas to a configuration.
pub(super) fn interpret(stanzas: &[Stanza]) -> Result<RunConfiguration, ConfigurationError> {
    let settings = MainSettings {
        cpus: None,
        refresh: REFRESH,
        cpu_load: CpuLoad::Hidden,
        memory: MemoryLock::Pageable,
        format: "systress".to_owned(),
    };
    let mut described = RunConfiguration::of(ConfigurationForm::Systress, settings);
    for (place, stanza) in stanzas.iter().enumerate() {
        let name = &stanza.name;
        let twin = |other: &&Stanza| other.kind == stanza.kind && other.index == stanza.index;
        if stanzas.iter().take(place).any(|other| twin(&other)) {
            return Err(refused(name, "is defined twice", "give each stanza its own index"));
        }
        if let Some(key) = twice(stanza) {
            return Err(refused(key, "is defined twice in this stanza", "keep one of them"));
        }
        match (stanza.kind, stanza.index) {
            ("main", None) => main(stanza, &mut described)?,
            ("timer_thread", Some(index)) => described.samplers.push(timer_thread(stanza, index)?),
            ("program", Some(_)) => described.programs.push(program(stanza)?),
            ("main", Some(_)) => return Err(refused(name, "has an index", "write main alone")),
            ("timer_thread" | "program", None) => {
                return Err(refused(name, "has no index", format!("write {}[0]", stanza.kind)));
            }
            _ => {
                return Err(refused(
                    name,
                    "is not a known stanza",
                    "the stanzas are main, timer_thread[N] and program[N]",
                ));
            }
        }
    }
    Ok(described)
}

fn twice<'a>(stanza: &'a Stanza) -> Option<&'a SourceValue<&'a str>> {
    let keys = || stanza.entries.iter().map(|entry| &entry.key);
    keys().enumerate().find_map(|(place, key)| {
        keys()
            .take(place)
            .any(|before| before.value == key.value)
            .then_some(key)
    })
}

fn main(stanza: &Stanza, described: &mut RunConfiguration) -> Result<(), ConfigurationError> {
    for entry in &stanza.entries {
        let main = &mut described.main;
        match entry.key.value {
            "cpu_affinity" => main.cpus = Some(required_value(entry)?),
            "stats.period" => main.refresh = time(entry)?,
            "stats.cpu_load" => {
                main.cpu_load = match required_value(entry)? {
                    all if all.value == "all" => CpuLoad::All,
                    some => CpuLoad::Of(some),
                }
            }
            "stats.format" => {
                main.format = match required_value(entry)?.value.as_str() {
                    "txt" => "systress".to_owned(),
                    "csv" => {
                        described.notes.push(
                            "stats.format csv: systress does not document its own columns; these are the columns of \
                             --format csv"
                                .to_owned(),
                        );
                        "csv".to_owned()
                    }
                    _ => return Err(refused_value(entry, "is not a format", "write txt or csv")),
                }
            }
            "memlock" if entry.value.value.is_empty() => main.memory = MemoryLock::Locked,
            "memlock" => return Err(refused_value(entry, "accepts no such value", "write memlock alone")),
            "dbg_level" => {
                let level: u32 = number(entry)?;
                if level > 0 {
                    described
                        .notes
                        .push(format!("dbg_level {level}: quietcore has no debug levels; see -v"));
                }
            }
            _ => {
                return Err(unknown(
                    entry,
                    "main",
                    "cpu_affinity, stats.period, stats.format, stats.cpu_load, memlock, dbg_level",
                ));
            }
        }
    }
    Ok(())
}

fn timer_thread(stanza: &Stanza, index: u32) -> Result<ConfiguredSampler, ConfigurationError> {
    let mut sampler = ConfiguredSampler {
        name: stanza.name.clone(),
        index,
        question: SamplerQuestion::Latency { interval: PERIOD },
        cpus: None,
        policy: policy(stanza)?,
        lifetime: None,
        histogram: Some(HISTOGRAM),
        file: Some(PathBuf::from(format!("timer_thread{index:02}.txt"))),
        format: None,
    };
    for entry in &stanza.entries {
        match entry.key.value {
            "cpu_affinity" => sampler.cpus = Some(required_value(entry)?),
            "sched.policy" | "sched.priority" => {}
            "period" => sampler.question = SamplerQuestion::Latency { interval: time(entry)? },
            "lifetime.duration" => sampler.lifetime = Some(time(entry)?),
            "stats.histo_size" => sampler.histogram = Some(nanos(time(entry)?)),
            "stats.filename" => sampler.file = Some(PathBuf::from(required_value(entry)?.value)),
            _ => {
                return Err(unknown(
                    entry,
                    "timer_thread",
                    "cpu_affinity, sched.policy, sched.priority, period, lifetime.duration, stats.histo_size, \
                     stats.filename",
                ));
            }
        }
    }
    Ok(sampler)
}

fn program(stanza: &Stanza) -> Result<ConfiguredProgram, ConfigurationError> {
    let mut program = ConfiguredProgram {
        name: stanza.name.clone(),
        command: SourceValue {
            value: Vec::new(),
            line: stanza.name.line,
            column: stanza.name.column,
        },
        cpus: None,
        policy: policy(stanza)?,
        cgroup: None,
        output: None,
        errors: None,
        after_success: EndAction::Leave,
        after_failure: EndAction::Leave,
        lifetime: None,
    };
    for entry in &stanza.entries {
        match entry.key.value {
            "cmdline" => program.command = command(entry)?,
            "cpu_affinity" => program.cpus = Some(required_value(entry)?),
            "sched.policy" | "sched.priority" => {}
            "cgroup" => program.cgroup = Some(required_value(entry)?),
            "output.out" => program.output = Some(PathBuf::from(required_value(entry)?.value)),
            "output.err" => program.errors = Some(PathBuf::from(required_value(entry)?.value)),
            "termination.ok" => program.after_success = after(entry)?,
            "termination.ko" => program.after_failure = after(entry)?,
            "lifetime.duration" => program.lifetime = Some(time(entry)?),
            _ => {
                return Err(unknown(
                    entry,
                    "program",
                    "cmdline, cpu_affinity, sched.policy, sched.priority, cgroup, output.out, output.err, \
                     termination.ok, termination.ko, lifetime.duration",
                ));
            }
        }
    }
    if program.command.value.is_empty() {
        return Err(refused(&stanza.name, "has no program", "add cmdline PROGRAM ARGUMENTS"));
    }
    Ok(program)
}

fn command(entry: &SystressEntry) -> Result<SourceValue<Vec<String>>, ConfigurationError> {
    let SourceValue { value, line, column } = required_value(entry)?;
    match command_line::split(&value) {
        Ok(words) => Ok(SourceValue {
            value: words,
            line,
            column,
        }),
        Err((at, why)) => Err(ConfigurationError::at(
            (line, column + at),
            why,
            "close the quote, or put a backslash before it",
        )),
    }
}

/// The two keys as one word in the grammar of the command line.
fn policy(stanza: &Stanza) -> Result<Option<SourceValue<String>>, ConfigurationError> {
    let find = |key: &str| stanza.entries.iter().find(|entry| entry.key.value == key);
    let Some(policy) = find("sched.policy") else {
        return match find("sched.priority") {
            Some(alone) => Err(refused(
                &alone.key,
                "needs a policy",
                "add sched.policy FIFO or sched.policy RR",
            )),
            None => Ok(None),
        };
    };
    let word = required_value(policy)?;
    let name = word.value.to_ascii_lowercase();
    let text = match (name.as_str(), find("sched.priority")) {
        ("other" | "batch" | "idle", None) => name,
        ("other" | "batch" | "idle", Some(priority)) => match number::<u32>(priority)? {
            0 => name,
            _ => {
                return Err(refused_value(
                    priority,
                    "is not a priority of this policy",
                    "leave it out",
                ));
            }
        },
        ("fifo" | "rr", Some(priority)) => match number::<u32>(priority)? {
            level @ 1..=99 => format!("{name}:{level}"),
            _ => {
                return Err(refused_value(
                    priority,
                    "is not a real-time priority",
                    "write a number from 1 to 99",
                ));
            }
        },
        ("fifo" | "rr", None) => {
            return Err(refused_value(
                policy,
                "has no priority",
                "add sched.priority, from 1 to 99",
            ));
        }
        _ => {
            return Err(refused_value(
                policy,
                "is not a policy",
                "write FIFO, RR, OTHER, BATCH or IDLE",
            ));
        }
    };
    Ok(Some(SourceValue { value: text, ..word }))
}

fn after(entry: &SystressEntry) -> Result<EndAction, ConfigurationError> {
    match required_value(entry)?.value.as_str() {
        "RESPAWN" => Ok(EndAction::Respawn),
        _ => Err(refused_value(
            entry,
            "is not an action for the end of a program",
            "write RESPAWN, or leave the line out if the program should not restart",
        )),
    }
}

fn time(entry: &SystressEntry) -> Result<Duration, ConfigurationError> {
    let stated = required_value(entry)?;
    let text = stated.value.as_str();
    if !text.ends_with(|letter: char| letter.is_alphabetic()) {
        return Err(refused_value(
            entry,
            "has no unit",
            "write it as 20 us, 1500 ms, 2 s or 1 min",
        ));
    }
    match parse_duration(text) {
        Ok(time) if time.is_zero() => Err(refused_value(
            entry,
            "is not a length of time",
            "write a value above zero",
        )),
        Ok(time) => Ok(time),
        Err(why) => Err(ConfigurationError::at(
            (entry.value.line, entry.value.column),
            why,
            "write it as 20 us, 1500 ms, 2 s or 1 min",
        )),
    }
}

fn number<T: std::str::FromStr>(entry: &SystressEntry) -> Result<T, ConfigurationError> {
    required_value(entry)?
        .value
        .parse()
        .map_err(|_| refused_value(entry, "is not a number", "write a whole number"))
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// The value of a key that requires one.
fn required_value(entry: &SystressEntry) -> Result<SourceValue<String>, ConfigurationError> {
    match entry.value.value {
        "" => Err(refused(
            &entry.key,
            "has no value",
            "write it after the key, on the same line",
        )),
        value => Ok(SourceValue {
            value: value.to_owned(),
            line: entry.value.line,
            column: entry.value.column,
        }),
    }
}

fn unknown(entry: &SystressEntry, stanza: &str, known: &str) -> ConfigurationError {
    refused(
        &entry.key,
        format!("is not a known key of {stanza}"),
        format!("the keys are {known}"),
    )
}

fn refused<T: std::fmt::Display>(
    what: &SourceValue<T>,
    why: impl std::fmt::Display,
    next: impl Into<String>,
) -> ConfigurationError {
    ConfigurationError::at((what.line, what.column), format!("`{}` {why}", what.value), next)
}

fn refused_value(entry: &SystressEntry, why: &str, next: &str) -> ConfigurationError {
    refused(&entry.value, why, next)
}
