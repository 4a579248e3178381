//! Writes the JSON of Chrome's own viewer and ui.perfetto.dev: the Trace Event Format with `X`, `i` and `M` events.
//!
//! Its times are microseconds; three decimals preserve each nanosecond.

use super::lanes::{lane_name, lanes};
use super::{Fact, Mark, Timeline};
use std::io::{Result, Write};

/// The process of all lines; viewers interpret 0 as the idle task.
const PROCESS: u32 = 1;

/// Writes a timeline.
///
/// # Errors
/// Errors of the output.
pub fn write(out: &mut dyn Write, timeline: &Timeline) -> Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let title = quoted(&timeline.title);
    write!(
        out,
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{PROCESS},\"tid\":0,\"args\":{{\"name\":{title}}}}}"
    )?;
    let mut line = 0_u32;
    for track in &timeline.tracks {
        for (number, lane) in lanes(track).into_iter().enumerate() {
            line += 1;
            let name = quoted(&lane_name(track, number));
            let told = [
                ("thread_name", format!("\"name\":{name}")),
                ("thread_sort_index", format!("\"sort_index\":{line}")),
            ];
            for (what, args) in told {
                write!(
                    out,
                    ",\n{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{PROCESS},\"tid\":{line},\"args\":{{{args}}}}}"
                )?;
            }
            for mark in lane {
                write_mark(out, line, mark)?;
            }
        }
    }
    out.write_all(b"\n]}\n")
}

fn write_mark(out: &mut dyn Write, line: u32, mark: &Mark) -> Result<()> {
    let kind = match mark.lasts_ns {
        Some(lasts) => format!("\"ph\":\"X\",\"dur\":{}", Micros(lasts)),
        None => String::from("\"ph\":\"i\",\"s\":\"t\""),
    };
    write!(
        out,
        ",\n{{{kind},\"name\":{},\"cat\":{},\"ts\":{},\"pid\":{PROCESS},\"tid\":{line}",
        quoted(&mark.name),
        quoted(&mark.category),
        Micros(mark.at_ns)
    )?;
    for (place, (key, fact)) in mark.facts.iter().enumerate() {
        let before = if place == 0 { ",\"args\":{" } else { "," };
        let value = match fact {
            // JSON parsers keep 53 bits of a number.
            Fact::Number(number) if number.unsigned_abs() < 1 << 53 => number.to_string(),
            Fact::Number(number) => quoted(&number.to_string()),
            Fact::Text(text) => quoted(text),
        };
        write!(out, "{before}{}:{value}", quoted(key))?;
    }
    out.write_all(if mark.facts.is_empty() { b"}" } else { b"}}" })
}

/// Nanoseconds, shown as microseconds.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Escapes a text for JSON.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
