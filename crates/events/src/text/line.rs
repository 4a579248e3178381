//! Parses one line of text.
//!
//! A task's name may contain anything, including spaces, hyphens and brackets. Parsing therefore starts in the middle: at the
//! CPU in brackets after a number, or, in the latency format, at the CPU with its flags, followed by the time and a colon.

use super::TextItem;
use crate::line::ClockUnit;

/// An event as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEvent<'a> {
    /// Name of its trace instance, if `trace-cmd report` shows one.
    pub instance: Option<&'a str>,
    /// Name of the thread; `<...>` if unknown.
    pub task: &'a str,
    /// ID of the thread.
    pub pid: i32,
    /// ID of its process, if the text has that column and a value in it.
    pub tgid: Option<i32>,
    /// The CPU.
    pub cpu: u32,
    /// The four to eight letters between CPU and time; empty if the text has none.
    pub flags: &'a str,
    /// The time: nanoseconds, or the unit of the clock.
    pub at: u64,
    /// The unit of `at`.
    pub unit: ClockUnit,
    /// The event's name. Lines of a tracer without event names have the tracer's name.
    pub name: &'a str,
    /// The text after the name.
    pub text: &'a str,
}

impl<'a> TextEvent<'a> {
    /// Parses a line. `tracer` names events that have no name of their own.
    #[must_use]
    pub fn parse(line: &'a str, tracer: Option<&'a str>) -> Option<TextEvent<'a>> {
        let (place, (flags, at, unit, rest)) = LineColumns::find(line)?;
        let (instance, task) = instance(place.task);
        let (name, text) = named(rest, tracer);
        Some(TextEvent {
            instance,
            task,
            pid: place.pid,
            tgid: place.tgid,
            cpu: place.cpu,
            flags: if flags.is_empty() { place.flags } else { flags },
            at,
            unit,
            name,
            text,
        })
    }

    /// Names and values in the text: `key=value`, and the unnamed values of older tracers and trace-cmd under
    /// the names in the kernel's own format.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'a str, &'a str)> {
        super::fields::fields(self.name, self.text)
    }

    /// The value with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'a str> {
        let all = self.fields();
        all.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// The kind of a line.
pub(super) enum LineKind {
    Item,
    Header,
    /// Empty, or without meaning for a reader of the whole text.
    Nothing,
    Unknown,
}

pub(super) fn kind(line: &str) -> LineKind {
    let trimmed = line.trim_start();
    let is_from_trace_cmd = trimmed.starts_with("version = ") || trimmed.ends_with(" is empty");
    if trimmed.is_empty() || is_from_trace_cmd || trimmed == "<stack trace>" {
        LineKind::Nothing
    } else if item(line, None).is_some() {
        LineKind::Item
    } else if trimmed.starts_with('#') || trimmed.starts_with("cpus=") {
        LineKind::Header
    } else {
        LineKind::Unknown
    }
}

pub(super) fn item<'a>(line: &'a str, tracer: Option<&'a str>) -> Option<TextItem<'a>> {
    let trimmed = line.trim_start();
    if let Some(frame) = trimmed.strip_prefix("=> ") {
        return Some(TextItem::Frame(frame.trim()));
    }
    if let Some(began) = trimmed.strip_prefix("##### CPU ") {
        let cpu = began.strip_suffix(" buffer started ####")?.trim().parse().ok()?;
        return Some(TextItem::BufferStart { cpu });
    }
    if let Some(rest) = trimmed.strip_prefix("CPU:") {
        let (cpu, lost) = rest.split_once(" [")?;
        let lost = lost.strip_suffix(']')?;
        let count = lost
            .strip_prefix("LOST ")
            .map(|rest| rest.trim_end_matches("EVENTS"))
            .or_else(|| lost.strip_suffix("EVENTS DROPPED"))?;
        return Some(TextItem::Lost {
            cpu: cpu.trim().parse().ok()?,
            count: count.trim().parse().ok(),
        });
    }
    TextEvent::parse(line, tracer).map(TextItem::Event)
}

/// The columns up to the CPU.
struct LineColumns<'a> {
    task: &'a str,
    pid: i32,
    tgid: Option<i32>,
    cpu: u32,
    flags: &'a str,
    rest: &'a str,
}

impl<'a> LineColumns<'a> {
    /// The first position at which the rest of the line is valid: a name may contain text that looks like a position.
    fn find(line: &'a str) -> Option<(LineColumns<'a>, TimestampedText<'a>)> {
        let whole = |place: LineColumns<'a>| time(place.rest).map(|stamped| (place, stamped));
        let mut brackets = line.match_indices('[');
        let found = brackets.find_map(|(at, _)| LineColumns::bracketed(line, at).and_then(whole));
        // In the latency format there is no bracket before the time; a bracket in the text has no thread before it.
        found.or_else(|| {
            let mut hyphens = line.match_indices('-');
            hyphens.find_map(|(at, _)| LineColumns::latency(line, at).and_then(whole))
        })
    }

    /// `TASK-PID   [001] ...`, `TASK-PID   (  123) [001] ...`.
    fn bracketed(line: &'a str, at: usize) -> Option<LineColumns<'a>> {
        let (cpu, rest) = line.get(at + 1..)?.split_once(']')?;
        let cpu = digits(cpu)?.parse().ok()?;
        let mut before = line.get(..at)?.trim_end();
        let mut tgid = None;
        if let Some(inside) = before.strip_suffix(')') {
            let (head, group) = inside.rsplit_once('(')?;
            let group = group.trim();
            if !group.bytes().all(|letter| letter == b'-') {
                tgid = Some(digits(group)?.parse().ok()?);
            }
            before = head.trim_end();
        }
        let (task, pid) = before.rsplit_once('-')?;
        Some(LineColumns {
            task,
            pid: digits(pid)?.parse().ok()?,
            tgid,
            cpu,
            flags: "",
            rest,
        })
    }

    /// `TASK-PID   1d.s.. 70251098us!: ...`.
    fn latency(line: &'a str, at: usize) -> Option<LineColumns<'a>> {
        let after = line.get(at + 1..)?;
        let (pid, rest) = after.split_once(' ')?;
        let (column, rest) = rest.trim_start().split_once(' ')?;
        let end = column.find(|letter: char| !letter.is_ascii_digit())?;
        let (cpu, flags) = column.split_at(end);
        if !(3..=8).contains(&flags.len()) || !flags.bytes().all(is_flag) {
            return None;
        }
        Some(LineColumns {
            task: line.get(..at)?,
            pid: digits(pid)?.parse().ok()?,
            tgid: None,
            cpu: digits(cpu)?.parse().ok()?,
            flags,
            rest,
        })
    }
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit())).then_some(text)
}

const fn is_flag(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'#' | b'?')
}

/// Flags, time, the unit of the time, and the remaining text.
type TimestampedText<'a> = (&'a str, u64, ClockUnit, &'a str);

/// `d..2.  1783.517521: ...`, `70251098us!: ...`, `202528218730611: ...`.
fn time(rest: &str) -> Option<TimestampedText<'_>> {
    let rest = rest.trim_start();
    let (before, after) = rest.split_once(':')?;
    let before = before.trim_end();
    let (flags, stamp) = match before.rsplit_once(char::is_whitespace) {
        Some((flags, stamp)) => (flags.trim(), stamp),
        None => ("", before),
    };
    if !flags.bytes().all(is_flag) || flags.len() > 8 {
        return None;
    }
    let (at, unit) = stamp_of(stamp)?;
    Some((flags, at, unit, after.trim_start()))
}

fn stamp_of(stamp: &str) -> Option<(u64, ClockUnit)> {
    if let Some((seconds, fraction)) = stamp.split_once('.') {
        let seconds: u64 = digits(seconds)?.parse().ok()?;
        let shown = digits(fraction)?;
        if shown.len() > 9 {
            return None;
        }
        let scale = 10_u64.pow(9 - shown.len() as u32);
        let fraction: u64 = shown.parse::<u64>().ok()? * scale;
        let at = seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?;
        return Some((at, ClockUnit::Nanos));
    }
    // A sign after the unit shows the distance to the next line: `!` for more than 100 us, and so on.
    if let Some((micros, mark)) = stamp.split_once("us") {
        let known = mark.len() <= 1 && mark.bytes().all(|mark| b"+!#@*$ ".contains(&mark));
        let micros: u64 = digits(micros).filter(|_| known)?.parse().ok()?;
        return Some((micros.checked_mul(1000)?, ClockUnit::Nanos));
    }
    Some((digits(stamp)?.parse().ok()?, ClockUnit::Ticks))
}

/// `other:   TASK`: trace-cmd shows an instance before the thread. It starts at the first column, unlike a thread's name,
/// which has at most 15 letters in 16 columns.
fn instance(task: &str) -> (Option<&str>, &str) {
    match task.split_once(": ") {
        Some((instance, task)) if !instance.is_empty() && !instance.contains(char::is_whitespace) => {
            (Some(instance), task.trim_start())
        }
        _ => (None, task.trim_start()),
    }
}

/// The name of an event and the text after it.
fn named<'a>(rest: &'a str, tracer: Option<&'a str>) -> (&'a str, &'a str) {
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !b"_.-/".contains(&(letter as u8)));
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    if let Some(text) = after.strip_prefix(':')
        && (text.is_empty() || text.starts_with(' '))
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
    {
        return (word, text.trim_start());
    }
    let name = if rest.contains(" <-") {
        "function"
    } else if rest.contains(" ==> [") {
        "sched_switch"
    } else if rest.contains(" + [") {
        "sched_wakeup"
    } else {
        tracer.unwrap_or_default()
    };
    (name, rest)
}
