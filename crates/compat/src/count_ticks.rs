//! Implements `count_ticks`: counts the ticks of a CPU, or of a partition's CPUs, during a command or between two calls.
//!
//! The original traces a kernel function that has been renamed since. This one reads the counters of the CPU's own timer
//! interrupt (`LOC`, `arch_timer`), which the kernel maintains anyway: nothing is enabled, and nothing disturbs the CPU.
//! The counts include other timers that fire on that CPU.

use super::partrt::names;
use machine::{CpuId, CpuSet, Machine};
use observe::{Class, CounterSample, activity, of_interrupt};
use root::{Failure, Root, RootError, Status, output};
use session::Session;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use terminal::Screen;

const USAGE: &str = "\
usage:
count_ticks --help
count_ticks --cpu <cpu> --start
count_ticks --cpu <cpu> [ --file <file name> | --batch ] --end
count_ticks --cpu <cpu> [ --file <file name> | --batch ] <command>

Counts the ticks of a CPU, or of several, by the interrupts of their local timers (the row LOC of /proc/interrupts).

options:
-h | --help   shows this help
-c | --cpu <cpu>  the CPUs: a number, a list, or the name of a partition (mandatory)
-s | --start  starts counting, for a later --end
-e | --end    ends the count and prints it
-f | --file <file name> writes the count of each CPU to a file
-b | --batch  prints only the number

The exit status is that of the command.
";

/// The file in which `--start` saves the counters for `--end`.
const STARTED: &str = "count_ticks";

/// Runs it. Errors go to standard error after the program's name, with exit status 1.
pub fn run(args: &[OsString], session: &Session, screen: &mut Screen) -> Status {
    let ended = match CountTicksOptions::parse(args) {
        Ok(None) => {
            screen.text(USAGE);
            return Status::Done;
        }
        Ok(Some(wanted)) => wanted.run(session, screen),
        Err(message) => Err(CountError::Usage(message)),
    };
    ended.unwrap_or_else(|error| {
        screen.note(&format!("count_ticks: {error}\n"));
        Status::Failed
    })
}

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
enum CountError {
    /// A wrong command line.
    #[error("{0}")]
    Usage(String),
    /// The value of `--cpu` names no CPUs.
    #[error("Invalid argument to the --cpu ({})", report::safe(.0))]
    Cpu(String),
    /// These CPUs are offline.
    #[error("CPU {0} is not online")]
    Offline(CpuSet),
    /// This CPU went offline during the count.
    #[error("CPU {0} went offline during the count")]
    WentOffline(CpuId),
    /// `/proc/interrupts` has no row of this machine's timers.
    #[error("no row of /proc/interrupts counts the ticks of this machine")]
    NoRow,
    /// `--start` was not called on this boot.
    #[error("no count was started since this boot: start one with --start")]
    NotStarted,
    /// The counters that `--start` saved cannot be parsed.
    #[error("{}/{} cannot be read: {}", root::state::RUN_DIR, STARTED, .0)]
    Saved(serde_json::Error),
    /// The counters cannot be written down.
    #[error("{0}")]
    Unsaved(serde_json::Error),
    /// A file cannot be used.
    #[error("{}", in_a_line(.0))]
    File(Failure),
    /// The program cannot be started.
    #[error("{}: {}", .0.to_string_lossy(), .1)]
    Program(OsString, std::io::Error),
}

impl From<RootError> for CountError {
    fn from(error: RootError) -> CountError {
        CountError::File(error.into())
    }
}

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct CountTicksOptions {
    cpu: String,
    phase: CountPhase,
    file: Option<String>,
    form: TickOutput,
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CountPhase {
    Start,
    End,
    #[default]
    Whole,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TickOutput {
    #[default]
    Sentence,
    Batch,
}

impl CountTicksOptions {
    /// `None` if the user requested help.
    fn parse(args: &[OsString]) -> Result<Option<CountTicksOptions>, String> {
        let mut request = CountTicksOptions::default();
        let (mut cpu, mut start, mut end) = (None, false, false);
        let mut rest = args;
        if rest.is_empty() {
            return Ok(None);
        }
        while let Some((word, after)) = rest.split_first() {
            let word = word.to_string_lossy();
            if !word.starts_with('-') {
                break;
            }
            rest = after;
            let mut value = || {
                let missing = || format!("Option {word} requires an argument");
                let (value, after) = rest.split_first().ok_or_else(missing)?;
                let value = value.to_string_lossy().into_owned();
                if value.is_empty() || value.starts_with('-') {
                    return Err(missing());
                }
                rest = after;
                Ok(value)
            };
            match word.as_ref() {
                "-h" | "--help" => return Ok(None),
                "-s" | "--start" => start = true,
                "-e" | "--end" => end = true,
                "-b" | "--batch" => request.form = TickOutput::Batch,
                "-c" | "--cpu" => cpu = Some(value()?),
                "-f" | "--file" => request.file = Some(value()?),
                _ => return Err(format!("Invalid option {}", report::safe(&word))),
            }
        }
        request.cpu = cpu.ok_or("The --cpu option is mandatory")?;
        request.command = command(rest);
        request.phase = match (start, end) {
            (true, true) => return Err("Do not use both --start and --end".to_owned()),
            (true, false) => CountPhase::Start,
            (false, true) => CountPhase::End,
            (false, false) => CountPhase::Whole,
        };
        match (request.phase, rest.is_empty()) {
            (CountPhase::Whole, true) => Err("Missing command".to_owned()),
            (CountPhase::Whole, false) | (_, true) => Ok(Some(request)),
            (_, false) => {
                let words: Vec<_> = rest.iter().map(|word| word.to_string_lossy()).collect();
                Err(format!(
                    "No command ({}) should be supplied",
                    report::safe(&words.join(" "))
                ))
            }
        }
    }

    fn run(&self, session: &Session, screen: &mut Screen) -> Result<Status, CountError> {
        let root = session.root();
        let machine = session.machine();
        let cpus = cpus(session, &self.cpu, &machine)?;
        match self.phase {
            CountPhase::Start => {
                let sample = serde_json::to_vec(&take(root)).map_err(CountError::Unsaved)?;
                let changing = session.lock().map_err(CountError::File)?;
                changing.state().replace(STARTED, &sample)?;
                Ok(Status::Done)
            }
            CountPhase::End => {
                let after = take(root);
                self.report(&started(session)?, &after, &cpus, screen)?;
                Ok(Status::Done)
            }
            CountPhase::Whole => {
                let before = take(root);
                let status = spawn(&self.command)?;
                self.report(&before, &take(root), &cpus, screen)?;
                Ok(status)
            }
        }
    }

    fn report(
        &self,
        before: &CounterSample,
        after: &CounterSample,
        cpus: &CpuSet,
        screen: &mut Screen,
    ) -> Result<(), CountError> {
        let counts = ticks(before, after, cpus)?;
        if let Some(file) = &self.file {
            let rows: String = counts.iter().map(|(cpu, ticks)| format!("{cpu} {ticks}\n")).collect();
            output::write(Path::new(file), format!("# cpu ticks\n{rows}").as_bytes())?;
        }
        let ticks: u64 = counts.iter().map(|(_, ticks)| ticks).sum();
        screen.text(&match self.form {
            TickOutput::Batch => format!("{ticks}\n"),
            TickOutput::Sentence => format!("{ticks} ticks occurred\n"),
        });
        Ok(())
    }
}

/// The words of the command. A single word with blanks is a whole command line, as in the original.
fn command(words: &[OsString]) -> Vec<OsString> {
    match words {
        [line] => match line.to_str() {
            Some(line) => line.split_whitespace().map(OsString::from).collect(),
            None => words.to_vec(),
        },
        _ => words.to_vec(),
    }
}

/// The CPUs from a number, a list, or the name of a partition.
fn cpus(session: &Session, text: &str, machine: &Machine) -> Result<CpuSet, CountError> {
    let invalid = || CountError::Cpu(text.to_owned());
    let cpus = match CpuSet::parse_list(text) {
        Ok(cpus) => cpus,
        Err(_) => {
            let rows = names::all(machine, &session.in_force_because());
            let row = rows.iter().find(|(name, _)| name == text).ok_or_else(invalid)?;
            CpuSet::parse_list(&row.1).map_err(|_| invalid())?
        }
    };
    let silent = cpus.minus(&machine.topology.online);
    match (cpus.is_empty(), silent.is_empty()) {
        (true, _) => Err(invalid()),
        (false, false) => Err(CountError::Offline(silent)),
        (false, true) => Ok(cpus),
    }
}

/// The current timer counters only: a large machine has very many others.
fn take(root: &Root) -> CounterSample {
    let mut sample = CounterSample::take(root);
    if let Some(table) = &mut sample.interrupts {
        table
            .rows
            .retain(|name, row| of_interrupt(name, &row.what) == Class::Tick);
    }
    CounterSample {
        at_ns: sample.at_ns,
        interrupts: sample.interrupts,
        ..CounterSample::default()
    }
}

/// Ticks of each CPU between two samples.
fn ticks(before: &CounterSample, after: &CounterSample, cpus: &CpuSet) -> Result<Vec<(u32, u64)>, CountError> {
    let seen = activity(before, after);
    let of = |cpu: CpuId| {
        let row = seen.cpus.iter().find(|row| row.cpu == cpu);
        let row = row.ok_or(CountError::WentOffline(cpu))?;
        let ticks = row.ticks.ok_or(CountError::NoRow)?;
        Ok((cpu.0, ticks))
    };
    cpus.iter().map(of).collect()
}

/// Reads and removes the counters that `--start` saved.
fn started(session: &Session) -> Result<CounterSample, CountError> {
    let state = session.state()?.ok_or(CountError::NotStarted)?;
    let kept = state.read(STARTED)?.ok_or(CountError::NotStarted)?;
    let sample = serde_json::from_slice(&kept).map_err(CountError::Saved)?;
    state.remove(STARTED)?;
    Ok(sample)
}

fn spawn(command: &[OsString]) -> Result<Status, CountError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CountError::Usage("Missing command".to_owned()));
    };
    let status = std::process::Command::new(program).args(arguments).status();
    let status = status.map_err(|error| CountError::Program(program.clone(), error))?;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    Ok(Status::Program(u8::try_from(code).unwrap_or(1)))
}

fn in_a_line(error: &Failure) -> String {
    format!("{}: {}; {}", error.what, error.why, error.next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<CountTicksOptions>, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        CountTicksOptions::parse(&words)
    }

    #[test]
    fn command_lines_of_count_ticks_are_parsed() {
        let wanted = parse("--cpu 3 sleep 10").unwrap().unwrap();
        assert_eq!(
            (wanted.cpu.as_str(), wanted.phase, wanted.form),
            ("3", CountPhase::Whole, TickOutput::Sentence)
        );
        assert_eq!(wanted.command, ["sleep", "10"]);
        let wanted = parse("-c rt -b -f out -e").unwrap().unwrap();
        assert_eq!(
            (wanted.phase, wanted.form, wanted.file.as_deref()),
            (CountPhase::End, TickOutput::Batch, Some("out"))
        );
        assert_eq!(parse("-c 3 --start").unwrap().unwrap().phase, CountPhase::Start);
        let whole = CountTicksOptions::parse(&["-c".into(), "3".into(), "sleep 1".into()])
            .unwrap()
            .unwrap();
        assert_eq!(whole.command, ["sleep", "1"]);
        for help in ["", "-h", "--help", "-c 1 -h"] {
            assert_eq!(parse(help), Ok(None), "{help}");
        }
        for (line, message) in [
            ("sleep 1", "The --cpu option is mandatory"),
            ("--start", "The --cpu option is mandatory"),
            ("-c 1", "Missing command"),
            ("-c 1 -s -e", "Do not use both --start and --end"),
            ("-c 1 -s sleep 1", "No command (sleep 1) should be supplied"),
            ("-c 1 -e true", "No command (true) should be supplied"),
            ("-c", "Option -c requires an argument"),
            ("--file -b", "Option --file requires an argument"),
            ("-x", "Invalid option -x"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()), "{line}");
        }
    }

    #[test]
    fn only_timer_rows_count_as_ticks() {
        let sample = |text: &str| CounterSample {
            interrupts: observe::parse_interrupts(text),
            ..CounterSample::default()
        };
        let before =
            sample("CPU0 CPU1\n LOC: 100 4294967290 Local timer interrupts\n RES: 1 1 Rescheduling interrupts\n");
        let after = sample("CPU0 CPU1\n LOC: 350 4 Local timer interrupts\n RES: 900 900 Rescheduling interrupts\n");
        let both = CpuSet::range(0, 1);
        // The second counter wrapped at 32 bits.
        assert_eq!(ticks(&before, &after, &both).unwrap(), [(0, 250), (1, 10)]);
        let third = CpuSet::range(2, 2);
        let error = ticks(&before, &after, &third).unwrap_err();
        assert_eq!(error.to_string(), "CPU 2 went offline during the count");
    }
}
