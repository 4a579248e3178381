//! Resolves the description of a run on this machine: CPUs, policies and cgroups. An error reports its place in the file.

use super::statistics;
use machine::{CpuId, CpuSet, Machine, Policy, nanoseconds};
use measure::configuration::{
    ConfigurationError, ConfigurationForm, ConfiguredProgram, ConfiguredSampler, CpuLoad, RunConfiguration,
    SamplerQuestion, SourceValue,
};
use measure::load::LoadKind;
use measure::programs::Order;
use measure::{Lane, Note, NoteLevel, note, parse_policy};
use root::Failure;
use session::isolation::existing_cpus;
use std::path::Path;
use std::time::Duration;

/// Maximum run time of a sampler without a lifetime: until it is interrupted, within the limit of all measurements.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// A description of a run, resolved on a machine.
pub struct RunPlan {
    /// One per sampled CPU, in the order of the file.
    pub lanes: Vec<Lane>,
    /// The index of each lane's sampler in the file.
    pub sampler_of: Vec<usize>,
    /// Built-in loads with their CPUs.
    pub loads: Vec<(LoadKind, CpuSet)>,
    /// Programs.
    pub orders: Vec<Order>,
    /// The CPUs of the conductor.
    pub main: Option<CpuSet>,
    /// The CPUs whose load is on the screen.
    pub load_cpus: Option<CpuSet>,
    /// Remarks that readers of the numbers need, known before the run.
    pub notes: Vec<Note>,
}

/// Resolves a description.
///
/// # Errors
/// The first thing that this machine cannot do, with its place in the file.
pub fn resolve(described: &RunConfiguration, file: &Path, machine: &Machine) -> Result<RunPlan, Failure> {
    let at = DescriptionLocation { file, machine };
    let mut plan = RunPlan {
        lanes: Vec::new(),
        sampler_of: Vec::new(),
        loads: Vec::new(),
        orders: Vec::new(),
        main: at.cpus(described.main.cpus.as_ref())?,
        load_cpus: None,
        notes: Vec::new(),
    };
    for (index, sampler) in described.samplers.iter().enumerate() {
        at.check_format(sampler)?;
        for cpu in at.sampled(sampler, described.form)? {
            plan.lanes.push(at.lane(sampler, cpu)?);
            plan.sampler_of.push(index);
        }
    }
    let measured: CpuSet = plan.lanes.iter().map(|lane| lane.cpu).collect();
    let rest = machine.topology.online.minus(&measured);
    for load in &described.loads {
        let cpus = at.cpus(load.cpus.as_ref())?.unwrap_or_else(|| rest.clone());
        plan.note_sharing(&format!("load {}", load.kind.name()), &cpus, &measured);
        plan.loads.push((load.kind, cpus));
    }
    for program in &described.programs {
        let order = at.order(program)?;
        let cpus = order.cpus.clone().unwrap_or_else(|| machine.topology.online.clone());
        plan.note_sharing(&order.name, &cpus, &measured);
        plan.orders.push(order);
    }
    plan.load_cpus = match &described.main.cpu_load {
        CpuLoad::Hidden => None,
        CpuLoad::All => Some(machine.topology.online.clone()),
        CpuLoad::Of(cpus) => at.cpus(Some(cpus))?,
    };
    Ok(plan)
}

/// Converts an error at a place in the file into an error of the verb.
pub fn refused(file: &Path, error: &ConfigurationError) -> Failure {
    Failure::usage(
        format!("{} does not describe a run", file.display()),
        error,
        error.next.clone(),
    )
}

impl RunPlan {
    fn note_sharing(&mut self, what: &str, cpus: &CpuSet, measured: &CpuSet) {
        let shared = cpus.and(measured);
        if !shared.is_empty() {
            self.notes.push(note(
                NoteLevel::Warning,
                "measured_cpu_shared",
                what,
                format!("{what} may run on CPU {shared}, which is measured: the numbers include its work"),
                "give it other CPUs in the file, unless you want to measure this",
            ));
        }
    }
}

/// The description file and the machine, for errors with a place.
struct DescriptionLocation<'a> {
    file: &'a Path,
    machine: &'a Machine,
}

impl DescriptionLocation<'_> {
    fn wrong<T>(&self, what: &SourceValue<T>, why: String, next: &str) -> Failure {
        refused(self.file, &ConfigurationError::at((what.line, what.column), why, next))
    }

    fn cpus(&self, expression: Option<&SourceValue<String>>) -> Result<Option<CpuSet>, Failure> {
        let Some(expression) = expression else {
            return Ok(None);
        };
        let cpus = existing_cpus(&expression.value, self.machine).map_err(|error| Failure {
            what: format!("{} does not describe a run", self.file.display()),
            why: format!(
                "line {}, column {}: {}; {}",
                expression.line, expression.column, error.what, error.why
            ),
            ..error
        })?;
        Ok(Some(cpus))
    }

    fn sampled(&self, sampler: &ConfiguredSampler, form: ConfigurationForm) -> Result<Vec<CpuId>, Failure> {
        let cpus = match self.cpus(sampler.cpus.as_ref())? {
            Some(cpus) => cpus,
            None => session::isolation::default_cpus(self.machine)?.0,
        };
        if form == ConfigurationForm::Systress
            && cpus.len() > 1
            && let Some(written) = &sampler.cpus
        {
            return Err(self.wrong(
                written,
                format!(
                    "{} may run on several CPUs, whose latencies would end up in one histogram",
                    sampler.name.value
                ),
                "give each CPU its own timer_thread, with its own index",
            ));
        }
        Ok(cpus.iter().collect())
    }

    fn check_format(&self, sampler: &ConfiguredSampler) -> Result<(), Failure> {
        let Some(format) = &sampler.format else {
            return Ok(());
        };
        let known = statistics::names();
        if known.contains(&format.value.as_str()) {
            return Ok(());
        }
        let why = format!("`{}` is not a format of statistics", format.value);
        Err(self.wrong(format, why, &format!("the formats are {}", known.join(", "))))
    }

    fn lane(&self, sampler: &ConfiguredSampler, cpu: CpuId) -> Result<Lane, Failure> {
        let life = sampler.lifetime.unwrap_or(FOR_EVER);
        let mut lane = match sampler.question {
            SamplerQuestion::Latency { interval } => Lane {
                interval_ns: nanoseconds(interval),
                policy: Policy::Other,
                priority: 0,
                ..Lane::latency(cpu, life)
            },
            SamplerQuestion::Noise { threshold } => Lane {
                threshold_ns: nanoseconds(threshold),
                ..Lane::noise(cpu, life)
            },
        };
        if let Some(policy) = &sampler.policy {
            parse_policy(&policy.value)
                .map_err(|why| self.wrong(policy, why, "write it in the form that --policy accepts"))?
                .fill(&mut lane);
        }
        Ok(lane)
    }

    fn order(&self, program: &ConfiguredProgram) -> Result<Order, Failure> {
        use session::policy::SchedulingPolicy::{Deadline, Plain};
        let (policy, priority) = match &program.policy {
            None => (Policy::Other, 0),
            Some(written) => match session::policy::parse(&written.value) {
                Ok(Plain { policy, priority }) => (policy, priority),
                Ok(Deadline { .. }) => {
                    let why = "a program that forks cannot be started with SCHED_DEADLINE".to_owned();
                    return Err(self.wrong(written, why, "use fifo:PRIORITY, rr:PRIORITY, other, batch or idle"));
                }
                Err(why) => return Err(self.wrong(written, why, "write it in the form that `run --policy` accepts")),
            },
        };
        Ok(Order {
            name: program.name.value.clone(),
            command: program.command.value.clone(),
            cpus: self.cpus(program.cpus.as_ref())?,
            policy,
            priority,
            door: program.cgroup.as_ref().map(|cgroup| self.door(cgroup)).transpose()?,
            output: program.output.clone(),
            errors: program.errors.clone(),
            after_success: program.after_success,
            after_failure: program.after_failure,
            lifetime: program.lifetime,
        })
    }

    /// The file that adds a process to a cgroup of the cpuset hierarchy.
    fn door(&self, cgroup: &SourceValue<String>) -> Result<String, Failure> {
        let hierarchy = self.machine.cgroups.cpuset.as_ref().ok_or_else(|| {
            Failure::unable(
                format!("{} does not describe a run", self.file.display()),
                format!("line {}: this machine has no cpuset hierarchy", cgroup.line),
                "mount cgroups, or leave the cgroup out",
            )
        })?;
        let name = format!("/{}", cgroup.value.trim_matches('/'));
        let known = hierarchy.sets.iter().any(|set| set.name == name);
        if !known || name.split('/').any(|part| part == "..") {
            return Err(self.wrong(
                cgroup,
                format!("there is no cgroup {name} in {}", hierarchy.mount),
                "create it first (`quietcore apply` creates partitions), or leave the cgroup out",
            ));
        }
        Ok(hierarchy.door(&name))
    }
}
