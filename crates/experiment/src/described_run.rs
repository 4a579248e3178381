//! Runs what a file describes: samplers, built-in loads and programs on chosen CPUs, and files of statistics.
//!
//! The file is TOML, or a configuration of systress ([`measure::configuration`]).

mod conductor;
mod display;
mod run_plan;
mod statistics;

pub use conductor::{DescribedEnd, DescribedResult};
pub use display::RunDisplay;

use machine::{Machine, Nanos, nanoseconds};
use measure::configuration::{self, ConfigurationForm, ConfiguredSampler, RunConfiguration};
use root::{Failure, Status, input, output};
use run_plan::RunPlan;
use session::Session;
use std::fmt::Write as _;
use std::path::Path;

/// A run that a file describes, resolved on this machine.
pub struct DescribedRun {
    description: RunConfiguration,
    plan: RunPlan,
    machine: Machine,
}

impl DescribedRun {
    /// Reads a description and resolves it. Nothing is started.
    ///
    /// # Errors
    /// A file that cannot be read, or a description that is wrong or impossible here, with the place in the file.
    pub fn read(file: &Path, session: &Session) -> Result<DescribedRun, Failure> {
        let bytes = input::bytes(file, configuration::MOST_BYTES as u64).map_err(|error| Failure {
            status: Status::Usage,
            next: "name the file that describes the run".to_owned(),
            ..error.into()
        })?;
        let description = configuration::parse(&bytes).map_err(|error| run_plan::refused(file, &error))?;
        for note in &description.notes {
            session.note(&format!("note: {note}\n"));
        }
        let machine = session.machine();
        Ok(DescribedRun {
            plan: run_plan::resolve(&description, file, &machine)?,
            description,
            machine,
        })
    }

    /// Whether the file is a configuration of systress, whose output is then imitated.
    #[must_use]
    pub fn is_systress(&self) -> bool {
        self.description.form == ConfigurationForm::Systress
    }

    /// Checks that all files of statistics can be written. `file` is the description.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check_outputs(&self, file: &Path) -> Result<(), Failure> {
        let outputs = self
            .description
            .samplers
            .iter()
            .filter_map(|sampler| sampler.file.as_deref());
        for statistics in outputs {
            output::check(statistics).map_err(|error| {
                Failure::usage(
                    format!("there is no directory for the statistics of {}", file.display()),
                    error,
                    format!(
                        "choose another file than {}, or create its folder",
                        statistics.display()
                    ),
                )
            })?;
        }
        Ok(())
    }

    /// Describes what would run, one line each.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (lane, place) in self.plan.lanes.iter().zip(&self.plan.sampler_of) {
            let sampler = self.description.samplers.get(*place);
            let name = sampler.map_or("", |sampler| sampler.name.value.as_str());
            let what = match lane.kind {
                measure::MeasurementKind::Latency | measure::MeasurementKind::All => {
                    format!("wakes up every {}", Nanos(lane.interval_ns))
                }
                measure::MeasurementKind::Noise => {
                    format!("spins; counts gaps from {}", Nanos(lane.threshold_ns))
                }
            };
            let life = sampler.and_then(|sampler| sampler.lifetime);
            let until = life.map_or("until it is interrupted".to_owned(), |life| {
                format!("for {}", Nanos(nanoseconds(life)))
            });
            let _ = writeln!(
                text,
                "{name}: CPU {}, {:?} {}: {what}, {until}",
                lane.cpu, lane.policy, lane.priority
            );
        }
        for (kind, cpus) in &self.plan.loads {
            let _ = writeln!(text, "load {}: CPU {cpus}", kind.name());
        }
        for order in &self.plan.orders {
            let cpus = order.cpus.as_ref();
            let place = cpus.map_or("everywhere".to_owned(), |cpus| format!("CPU {cpus}"));
            let _ = writeln!(text, "{}: {place}: {}", order.name, order.command.join(" "));
        }
        for note in &self.plan.notes {
            let _ = writeln!(text, "warning: {}; {}", note.message, note.fix);
        }
        text
    }

    /// Writes the files of statistics. Returns one result per file: the sampler, or why its file was not written.
    pub fn write_statistics<'s>(
        &'s self,
        result: &'s DescribedResult,
    ) -> impl Iterator<Item = Result<(&'s ConfiguredSampler, &'s Path), Failure>> {
        let samplers = self.description.samplers.iter().enumerate();
        samplers.filter_map(move |(place, sampler)| {
            let file = sampler.file.as_deref()?;
            let own = |thread: usize| self.plan.sampler_of.get(thread) == Some(&place);
            let format = &self.description.main.format;
            let written = statistics::write(&result.measurement, own, sampler, format, file);
            Some(written.map(|()| (sampler, file)))
        })
    }
}
