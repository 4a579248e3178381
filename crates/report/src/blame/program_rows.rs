//! Formats the program's own rows: its system calls and page faults, below the table of interruptions and never part of it.

use crate::report_text::ReportText;
use crate::style::{COLUMNS, TextRole, cut, grouped, safe};
use crate::units::time;
use ::blame::{CpuAnswer, Interruption};

/// Number of rows shown by default.
const MAX_ROWS: usize = 5;

/// The program's own rows.
pub(super) fn program_rows(text: &mut ReportText, cpu: &CpuAnswer, rows: super::RowLimit) {
    if cpu.own.is_empty() {
        return;
    }
    let count: u64 = cpu.own.iter().map(|row| row.count).sum();
    let total: u64 = cpu.own.iter().map(|row| row.total_ns).sum();
    let line = format!(
        "caused by the program itself, not stolen: {} in {} system calls and page faults",
        time(total),
        grouped(count)
    );
    writeln!(text, "  {}", text.paint(TextRole::Quiet, &line));
    let most = match rows {
        super::RowLimit::First(_) => MAX_ROWS,
        super::RowLimit::All => usize::MAX,
    };
    for row in cpu.own.iter().take(most) {
        writeln!(text, "{}", cut(&line_of(row), COLUMNS));
    }
}

fn line_of(row: &Interruption) -> String {
    let culprit_name = row
        .culprit
        .as_ref()
        .map_or(String::new(), |thread| match thread.threads {
            0 | 1 => format!(" of {}[{}]", safe(&thread.comm), thread.pid),
            threads => format!(" of {}, {} threads", safe(&thread.comm), grouped(threads)),
        });
    // Without an end event its time is unknown, not zero.
    let [total, longest] = match row.total_ns {
        0 => ["?".to_owned(), "?".to_owned()],
        total => [time(total), time(row.max_ns)],
    };
    format!(
        "{:>7} {total:>9} {:>9} {longest:>9}  {}{culprit_name}",
        "own",
        grouped(row.count),
        safe(&row.name)
    )
}
