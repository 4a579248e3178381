//! What `plan`, `apply` and `prove` take: which CPUs, under which name, how far to go.

use crate::CommandError;
use clap::{Args, ValueEnum};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};

/// The wanted partition.
#[derive(Args, Clone, Debug)]
pub struct Wanted {
    /// CPUs to give away: a list (2-3), a mask (0xc), or topology words (package:1, core-of:3, llc-of:7)
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Name of the partition
    #[arg(long, value_name = "NAME", default_value = "rt")]
    pub partition: String,
    /// How far to go
    #[arg(long, value_name = "PROFILE", default_value = "balanced")]
    pub profile: ProfileWord,
}

/// Profiles by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileWord {
    /// Partition, tasks, interrupts
    Minimal,
    /// All that has no safety or security price
    Balanced,
    /// All that costs power or comfort too
    Strict,
}

/// The user's CPU expression on a machine.
///
/// # Errors
/// An expression that does not parse, or names what the machine does not have.
pub fn cpus(expression: &str, machine: &Machine) -> Result<CpuSet, CommandError> {
    machine::evaluate_cpus(expression, &machine.topology).map_err(|error| {
        CommandError::usage(
            "the CPU expression cannot be used",
            error.to_string(),
            "write a list such as 2-3,7; `quietcore cpus EXPR` evaluates one, `quietcore inspect` shows the CPUs",
        )
    })
}

/// As [`cpus`], and every one of them must be plugged in.
///
/// # Errors
/// As [`cpus`], and CPUs that the machine does not have.
pub fn existing_cpus(expression: &str, machine: &Machine) -> Result<CpuSet, CommandError> {
    let cpus = cpus(expression, machine)?;
    let present = machine.topology.present_cpus().or(&machine.topology.online);
    let missing = cpus.minus(&present);
    match (cpus.is_empty(), missing.is_empty()) {
        (true, _) => Err(plan::Refusal::NoCpus.into()),
        (false, false) => Err(plan::Refusal::Missing { cpus: missing, present }.into()),
        (false, true) => Ok(cpus),
    }
}

impl Wanted {
    /// The intent on a machine; without `--cpus` one core is chosen.
    ///
    /// # Errors
    /// Expressions, names and machines that cannot be used.
    pub fn intent(&self, machine: &Machine) -> Result<Intent, CommandError> {
        let cpus = match &self.cpus {
            Some(expression) => cpus(expression, machine)?,
            None => plan::choose_one_core(machine)?,
        };
        let profile = match self.profile {
            ProfileWord::Minimal => Profile::Minimal,
            ProfileWord::Balanced => Profile::Balanced,
            ProfileWord::Strict => Profile::Strict,
        };
        Ok(Intent {
            name: PartitionName::new(&self.partition)?,
            cpus,
            profile,
        })
    }
}
