//! Formats the answer of `blame` as text: per CPU the stolen time, then its causes, most time first, each with its cure.

mod conclusion;
mod program_rows;

pub use conclusion::blame_conclusion;
pub(crate) use conclusion::combined;

use crate::culprit::by;
use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, counted, cut, grouped, safe, wrap};
use crate::units::time;
use ::blame::{BlameResult, Confidence, CpuAnswer, GapSource, Interruption};
use machine::OrderBy;

/// The schema of the JSON answer.
pub const BLAME_SCHEMA: &str = "quietcore.blame/1";

/// How many rows of a CPU to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLimit {
    /// The first ones.
    First(usize),
    /// Every one.
    All,
}

/// The screen of an answer.
#[must_use]
pub fn blame_text(answer: &BlameResult, rows: RowLimit, style: Style) -> String {
    let mut text = ReportText::new(style);
    for (at, cpu) in answer.cpus.iter().enumerate() {
        if at > 0 {
            writeln!(text);
        }
        head(&mut text, cpu);
        table(&mut text, cpu, rows);
        crate::blame_picture::longest(&mut text, cpu);
        cure_lines(&mut text, cpu, rows);
        program_rows::program_rows(&mut text, cpu, rows);
    }
    conclusion::legend(&mut text, answer);
    text.into_string()
}

fn head(text: &mut ReportText, cpu: &CpuAnswer) {
    let of_ns = cpu.wanted_ns.unwrap_or(cpu.duration_ns);
    let share = per_million(cpu.stolen_ns, of_ns);
    let of = match cpu.wanted_ns {
        Some(runnable_ns) => format!(
            "{} that the program was runnable, of {}",
            time(runnable_ns),
            time(cpu.duration_ns)
        ),
        None => time(cpu.duration_ns),
    };
    let line = format!("CPU {}: {} stolen in {of} ({share})", cpu.cpu, time(cpu.stolen_ns));
    text.painted(TextRole::Head, &line);
    let unexplained = format!("{} unexplained", time(cpu.unexplained_ns));
    let role = match cpu.unexplained_ns {
        0 => TextRole::Good,
        _ => TextRole::Warning,
    };
    let longest_run = cpu
        .longest_run_ns
        .map_or_else(String::new, |run_ns| format!(", longest gap-free run {}", time(run_ns)));
    writeln!(
        text,
        "  {} explained + {}; {}{longest_run}",
        time(cpu.explained_ns),
        text.paint(role, &unexplained),
        counted(cpu.gaps as usize, "gap"),
    );
    if let Some(from) = gaps_from(cpu.gaps_from) {
        text.wrapped_as(TextRole::Quiet, 2, 2, from);
    }
    if cpu.outside > 0 {
        let note = format!(
            "During {} no kernel code ran: the hypervisor, the firmware (SMI) or the hardware used the CPU.",
            counted(cpu.outside as usize, "gap")
        );
        text.wrapped(2, 2, &note);
    }
    if cpu.lost_events > 0 {
        let note = format!(
            "{} lost: names may be missing. If many are lost, use a larger --buffer.",
            counted(cpu.lost_events as usize, "event")
        );
        text.wrapped_as(TextRole::Bad, 2, 2, &note);
    }
}

/// Notes on the source of a program's gaps, and what that source cannot show.
const fn gaps_from(from: GapSource) -> Option<&'static str> {
    match from {
        GapSource::Probe => None,
        GapSource::Events => Some(
            "Gaps are computed from events; time in the kernel without an event counts as the program's time (on CPUs \
             in nohz_full it does not).",
        ),
        GapSource::ContextTracking => Some(
            "A gap lasts from user_exit to user_enter, without the system calls and page faults of the program \
                 itself.",
        ),
        GapSource::Accounts => Some("Gaps are the times that its threads waited for a CPU, from scheduler statistics."),
    }
}

fn shown_rows(cpu: &CpuAnswer, rows: RowLimit) -> &[Interruption] {
    let most = match rows {
        RowLimit::First(most) => most,
        RowLimit::All => usize::MAX,
    };
    cpu.interruptions.get(..most).unwrap_or(&cpu.interruptions)
}

fn table(text: &mut ReportText, cpu: &CpuAnswer, rows: RowLimit) {
    if cpu.interruptions.is_empty() {
        return;
    }
    let head = format!(
        "{:>7} {:>9} {:>9} {:>9}  interruption",
        "share", "time", "count", "longest"
    );
    text.painted(TextRole::Quiet, &head);
    let shown = shown_rows(cpu, rows);
    for row in shown {
        let share = row.total_ns as f64 * 100.0 / cpu.stolen_ns.max(1) as f64;
        let sure = match row.confidence {
            Confidence::Traced => "",
            Confidence::Counted => " (counted)",
            Confidence::Inferred => " (inferred)",
        };
        let name = format!("{}{sure}", safe(&row.name));
        let [share, total, longest] = match is_timed(row) {
            false => ["?".to_owned(), "?".to_owned(), "?".to_owned()],
            true => [format!("{share:.1}%"), time(row.total_ns), time(row.max_ns)],
        };
        writeln!(
            text,
            "{share:>7} {total:>9} {:>9} {longest:>9}  {}",
            grouped(row.count),
            cut(&name, COLUMNS - 39)
        );
        if let Some(culprit) = &row.culprit {
            text.wrapped(39, 39, &by(culprit));
        }
    }
    let more = cpu.interruptions.len() - shown.len();
    if more > 0 {
        let rest: u64 = cpu.interruptions.iter().skip(shown.len()).map(|row| row.total_ns).sum();
        let line = format!(
            "and {} with {} together (--all shows them)",
            counted(more, "row"),
            time(rest)
        );
        writeln!(text, "{:39}{}", "", text.paint(TextRole::Quiet, &line));
    }
}

/// The cures: each command once, most stolen time first.
pub(crate) fn cures<'a>(rows: impl Iterator<Item = &'a Interruption>) -> Vec<CureSummary<'a>> {
    let mut cures: Vec<CureSummary> = Vec::new();
    for row in rows.filter(|row| !row.fix.is_empty()) {
        match cures.iter_mut().find(|cure| cure.fix == row.fix) {
            Some(cure) => {
                cure.total_ns += row.total_ns;
                // A single reason would be printed for all of them.
                if cure.why != row.why {
                    cure.why = "";
                }
                if !cure.names.contains(&row.name.as_str()) {
                    cure.names.push(&row.name);
                }
            }
            None => cures.push(CureSummary {
                fix: &row.fix,
                why: &row.why,
                total_ns: row.total_ns,
                names: vec![&row.name],
            }),
        }
    }
    cures.order_by_key(|cure| std::cmp::Reverse(cure.total_ns));
    cures
}

/// One cure with everything that it stops.
pub(crate) struct CureSummary<'a> {
    pub(crate) fix: &'a str,
    pub(crate) why: &'a str,
    pub(crate) total_ns: u64,
    names: Vec<&'a str>,
}

/// Number of rows named per cure.
const NAMED: usize = 3;

impl CureSummary<'_> {
    /// Names of the rows that this cure would stop, limited to a few.
    pub(crate) fn of(&self) -> String {
        let mut names: Vec<String> = self.names.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
        if self.names.len() > NAMED {
            names.push(format!("{} more", self.names.len() - NAMED));
        }
        names.join("; ")
    }
}

/// Whether its time is known. A counter without times does not mean that the time was zero.
pub(crate) fn is_timed(row: &Interruption) -> bool {
    row.confidence != Confidence::Counted || row.total_ns > 0
}

/// Its share of the stolen time, in percent; `None` if only counters report it, which have no times.
pub(crate) fn share(total_ns: u64, cpu: &CpuAnswer) -> Option<f64> {
    (total_ns > 0).then(|| total_ns as f64 * 100.0 / cpu.stolen_ns.max(1) as f64)
}

fn cure_lines(text: &mut ReportText, cpu: &CpuAnswer, rows: RowLimit) {
    let cures = cures(shown_rows(cpu, rows).iter());
    if cures.is_empty() {
        return;
    }
    text.painted(TextRole::Quiet, "  What would stop it:");
    for cure in &cures {
        let share = match share(cure.total_ns, cpu) {
            None => format!("{:>7}", "-"),
            Some(share) => format!("{share:>6.1}%"),
        };
        writeln!(text, "{share}  {}", wrap(&safe(cure.fix), 9, COLUMNS));
        let why = match cure.why {
            "" => safe(&cure.of()),
            why => format!("{}: {}", safe(&cure.of()), safe(why)),
        };
        text.wrapped_as(TextRole::Quiet, 11, 11, &why);
    }
}

pub(crate) fn per_million(part: u64, whole: u64) -> String {
    let share = part as f64 * 1e6 / whole.max(1) as f64;
    match share {
        share if share >= 10_000.0 => format!("{:.1} %", share / 10_000.0),
        share => format!("{share:.0} ppm"),
    }
}
