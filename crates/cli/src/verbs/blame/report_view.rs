//! Prints the report of `blame`: as JSON or as text, in files, with remarks about missing data.

use super::Args;
use investigate::{BlameReport, EndReason, ExitReason, TraceClock, WatchedProgram, note_text};
use report::RowLimit;
use root::{Failure, Status};
use terminal::Screen;
use tracing::ipi_senders::SendersReport;

/// Maximum rows per CPU without `--all`.
const MAX_ROWS: usize = 12;

/// Prints the report and writes the files.
///
/// # Errors
/// A file cannot be written.
pub fn show(args: &Args, report: &BlameReport, screen: &mut Screen) -> Result<(), Failure> {
    write(args, report)?;
    screen.json(report);
    let rows = match args.all {
        true => RowLimit::All,
        false => RowLimit::First(MAX_ROWS),
    };
    screen.text(&report::blame_text(&report.answer, rows, screen.style()));
    if let Some(found) = &report.found {
        screen.text(&found.text());
    }
    screen.text(&report::tracers_text(report.tracers()));
    screen.text(&report::blame_conclusion(&report.answer, screen.style()));
    if let Some(program) = &report.program {
        screen.note(&program_text(program));
    }
    for note in &report.findings {
        screen.note(&note_text(note));
    }
    for note in trace_notes(args, report) {
        screen.note(&note);
    }
    if !report.is_complete && report.status == Status::Done {
        screen.note("interrupted: the answer covers only the time until then\n");
    }
    Ok(())
}

/// Writes the files of `--gaps` and `--page`.
fn write(args: &Args, report: &BlameReport) -> Result<(), Failure> {
    if let Some(path) = &args.gaps {
        let gaps = report::blame_gaps(&report.answer, report.clock.posix_name());
        root::output::write(path, gaps.as_bytes())?;
    }
    if let Some(path) = &args.page {
        let json = serde_json::to_vec(report).ok();
        let name = path.with_extension("json");
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let page = report::blame_html(
            &report.answer,
            report.tracers(),
            &report.environment,
            json.as_deref(),
            &name,
        );
        root::output::write(path, page.as_bytes())?;
    }
    Ok(())
}

/// Missing features of the trace, and their replacements.
fn trace_notes(args: &Args, report: &BlameReport) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(error) = &report.no_trace {
        let besides = match report.program {
            Some(_) => {
                "gaps come from scheduler statistics: one for each wait of the program for a CPU; with more than one \
                 CPU, it is uncertain on which it waited\n"
            }
            None => "",
        };
        notes.push(format!(
            "tracing is not available, so only counters are used: they show how often, not how long\n{besides}  why: \
             {}: {}\n next: {}\n",
            error.what, error.why, error.next
        ));
    }
    if report.trace_full {
        notes.push(
            "the limit of --memory was reached, and the kernel lost events: some causes have no names. Use larger \
             values for --memory and --buffer\n"
                .to_owned(),
        );
    }
    if args.clock.is_none() && report.clock != TraceClock::MonoRaw {
        notes.push(format!(
            "this kernel's trace does not support {}: gaps and events were joined on {}\n",
            TraceClock::MonoRaw.posix_name(),
            report.clock.posix_name()
        ));
    }
    notes.extend(report.senders.as_ref().map(SendersReport::text));
    if let Some(functions) = &report.functions {
        notes.push(format!("{}\n", report::functions_note(functions)));
    }
    if !report.absent_events.is_empty() {
        let absent = report.absent_events.join(", ");
        notes.push(format!("this kernel does not have: {absent}\n"));
    }
    if !report.has_function_names {
        let hidden = "/proc/kallsyms hides its addresses (kernel.kptr_restrict): functions have no names\n";
        notes.push(hidden.to_owned());
    }
    notes
}

fn program_text(program: &WatchedProgram) -> String {
    let name = report::safe(&program.name);
    let how = match program.ended {
        Some(ExitReason::Exited(code)) => format!("ended with status {code}"),
        Some(ExitReason::Killed(signal)) => format!("was ended by signal {signal}"),
        None if program.until == EndReason::Ended => "has ended".to_owned(),
        None => "continues".to_owned(),
    };
    let why = match program.until {
        EndReason::Ended => "",
        EndReason::Found => " (a gap reached the limit of --break)",
        EndReason::Time => " (the time of --for has ended)",
        EndReason::Signal => " (interrupted: the answer covers only the time until then)",
    };
    format!("{name}[{}] {how}{why}\n", program.pid)
}
