//! Shows the CPUs as a map: one letter each, at most sixteen groups of eight per line.

use crate::DisplayData;
use crate::row::Tone;
use machine::CpuId;
use plan::Level;

/// The legend.
pub(crate) const LEGEND: &str = ". housekeeping, o isolated, w warning, E error, - offline";
/// The short legend.
pub(crate) const SHORT_LEGEND: &str = ".house o:iso w:warn E:error -:off";

/// A line of the map: pieces of text.
pub(crate) type MapLine = Vec<(String, Tone)>;

/// The map wrapped to a width; the last line reports how many CPUs did not fit.
pub(crate) fn lines(now: &DisplayData, width: usize, most: usize) -> Vec<MapLine> {
    let all: Vec<CpuId> = now.all().iter().collect();
    // A group is eight letters and a blank, after a number of five columns.
    let per_line = (width.saturating_sub(6) / 9).clamp(1, 16) * 8;
    let needed = all.len().div_ceil(per_line);
    let mut lines: Vec<MapLine> = all.chunks(per_line).take(most).map(|cpus| line(now, cpus)).collect();
    if needed > most {
        let left = all.len().saturating_sub(per_line * most);
        if let Some(last) = lines.last_mut() {
            last.push((format!("+{left}"), Tone::Quiet));
        }
    }
    lines
}

fn line(now: &DisplayData, cpus: &[CpuId]) -> MapLine {
    let first = cpus.first().map_or(0, |cpu| cpu.0);
    let mut line = vec![(format!("{first:>5} "), Tone::Quiet)];
    for (place, cpu) in cpus.iter().enumerate() {
        if place > 0 && place % 8 == 0 {
            line.push((" ".to_owned(), Tone::Plain));
        }
        let (letter, tone) = letter(now, *cpu);
        line.push((letter.to_string(), tone));
    }
    line
}

fn letter(now: &DisplayData, cpu: CpuId) -> (char, Tone) {
    let scene = now.scene;
    match scene.worst(cpu) {
        _ if scene.offline.contains(cpu) => ('-', Tone::Quiet),
        _ if !scene.isolated.contains(cpu) => ('.', Tone::Quiet),
        Some(Level::Error) => ('E', Tone::Bad),
        Some(Level::Warning) => ('w', Tone::Warning),
        Some(Level::Info) | None => ('o', Tone::Good),
    }
}
