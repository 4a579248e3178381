//! How the answer is told: as JSON or as text, with what stood in its way beside it.

use super::Args;
use super::clock::Clock;
use super::stream::Traced;
use super::until::Found;
use crate::program::attend::Until;
use crate::program::child::Ended;
use crate::program::offline;
use crate::{CommandError, Screen};
use blame::Answer;
use measure::{Environment, Note};
use report::{Rows, Tracers};
use serde::Serialize;
use terminal::Form;
use tracing::ipi_senders::SendersReport;

/// Rows of a CPU that are shown without being asked for.
const SHOWN: usize = 12;

/// The program that was watched.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Its process, or the one thread.
    pub pid: u32,
    /// Its name, or what was started.
    pub name: String,
    /// How it ended; nothing while it lives, or where nobody told us.
    pub ended: Option<Ended>,
    /// Who ended the watching.
    pub until: Until,
}

/// All that there is to tell.
#[derive(Serialize)]
pub struct Told<'a> {
    schema: &'static str,
    environment: &'a Environment,
    threshold_ns: Option<u64>,
    /// Of all times that are told.
    clock: &'static str,
    program: Option<&'a Program>,
    absent_events: &'a [String],
    /// Who tells which thread interrupts others; nothing where nothing was traced.
    senders: Option<&'a SendersReport>,
    trace_full: bool,
    /// Why nothing was traced; counters stand in then.
    no_trace: Option<String>,
    /// What went wrong meanwhile.
    pub findings: &'a [Note],
    /// The gap of `--until`.
    pub found: Option<&'a Found>,
    /// What tracers of the kernel told besides.
    #[serde(flatten)]
    pub tracers: Tracers<'a>,
    #[serde(flatten)]
    answer: &'a Answer,
}

impl<'a> Told<'a> {
    /// Of an answer. `threshold_ns` is the shortest gap of a probe.
    pub fn of(
        answer: &'a Answer,
        traced: Result<&'a Traced<'_>, &CommandError>,
        environment: &'a Environment,
        threshold_ns: Option<u64>,
        program: Option<&'a Program>,
    ) -> Told<'a> {
        Told {
            schema: report::BLAME_SCHEMA,
            environment,
            threshold_ns,
            clock: traced.map_or(Clock::MonoRaw, |traced| traced.clock).shown(),
            program,
            absent_events: traced.map_or(&[], |traced| traced.known.catalogue.absent.as_slice()),
            senders: traced.ok().map(|traced| &traced.senders),
            trace_full: traced.is_ok_and(Traced::was_full),
            no_trace: traced.err().map(|error| format!("{}: {}", error.what, error.why)),
            findings: &[],
            found: None,
            tracers: Tracers::default(),
            answer,
        }
    }

    /// Writes the files that were asked for.
    fn write(&self, args: &Args) -> Result<(), CommandError> {
        if let Some(path) = &args.gaps {
            root::output::write(path, report::blame_gaps(self.answer, self.clock).as_bytes())?;
        }
        if let Some(path) = &args.html {
            let json = serde_json::to_vec(self).ok();
            let name = path.with_extension("json");
            let name = name.file_name().unwrap_or_default().to_string_lossy();
            let page = report::blame_html(
                self.answer,
                self.tracers,
                self.environment,
                json.as_deref(),
                &name,
            );
            root::output::write(path, page.as_bytes())?;
        }
        Ok(())
    }

    /// Tells it, on the screen and in files.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn show(
        &self,
        args: &Args,
        traced: Result<&Traced, &CommandError>,
        screen: &mut Screen,
    ) -> Result<(), CommandError> {
        self.write(args)?;
        match screen.form {
            Form::Json => screen.json(self),
            Form::Text => {
                let rows = if args.all { Rows::All } else { Rows::First(SHOWN) };
                screen.text(&report::blame_text(self.answer, rows, screen.style()));
                if let Some(found) = self.found {
                    screen.text(&found.text());
                }
                screen.text(&report::tracers_text(self.tracers));
            }
        }
        if let Some(program) = self.program {
            screen.note(&program.text());
        }
        for note in self.findings {
            screen.note(&offline::line(note));
        }
        if let (Some(why), Err(error)) = (&self.no_trace, traced) {
            let besides = match self.program {
                Some(_) => {
                    "the scheduler says how long the program waited for a CPU, a gap for each time that it got one; with \
                     more than one CPU, where it waited is not certain\n"
                }
                None => "",
            };
            screen.note(&format!(
                "nothing could be traced, so counters stand in: they say how often, not for how long\n{besides}  why: \
                 {why}\n next: {}\n",
                error.next
            ));
        }
        if self.trace_full {
            screen.note(
                "--memory was full at times, and events were lost in the kernel: what they would have told has no names. More \
                 of both with --memory and --buffer\n",
            );
        }
        let fell_back = |traced: &Traced| args.clock.is_none() && traced.clock != Clock::MonoRaw;
        if traced.is_ok_and(fell_back) {
            screen.note(&format!(
                "this kernel's trace does not take {}: gaps and events were joined on {}\n",
                Clock::MonoRaw.shown(),
                self.clock
            ));
        }
        if let Some(senders) = self.senders {
            screen.note(&senders.text());
        }
        if let Some(functions) = self.tracers.functions {
            screen.note(&format!("{}\n", report::functions_note(functions)));
        }
        if !self.absent_events.is_empty() {
            screen.note(&format!(
                "this kernel does not have: {}\n",
                self.absent_events.join(", ")
            ));
        }
        if traced.is_ok_and(|traced| traced.known.catalogue.names.is_empty()) {
            screen
                .note("/proc/kallsyms hides its addresses (kernel.kptr_restrict): functions have no names\n");
        }
        Ok(())
    }
}

impl Program {
    fn text(&self) -> String {
        let name = report::safe(&self.name);
        let how = match self.ended {
            Some(Ended::Exited(code)) => format!("ended with status {code}"),
            Some(Ended::Killed(signal)) => format!("was ended by signal {signal}"),
            None if self.until == Until::Ended => "has ended".to_owned(),
            None => "goes on".to_owned(),
        };
        let why = match self.until {
            Until::Ended => "",
            Until::Found => " (there was a gap as long as --until says)",
            Until::Time => " (the time of --for was over)",
            Until::Signal => " (interrupted: the answer covers only the time until then)",
        };
        format!("{name}[{}] {how}{why}\n", self.pid)
    }
}
