//! What `plan`, `apply` and `prove` take: which CPUs, under which name, how far to go.

use crate::{CommandError, changing};
use clap::{Args, ValueEnum};
use machine::{CoreKind, CpuSet, Machine, devices};
use plan::{Choice, Intent, Near, PartitionName, Plan, Profile, Shape, Wish};
use root::{Origin, Root};

/// The wanted partition.
#[derive(Args, Clone, Debug)]
pub struct Wanted {
    /// CPUs to give away: a list (2-3), a mask (0xc), or topology words (package:1, core-of:3, llc-of:7)
    #[arg(long, value_name = "LIST", conflicts_with_all = ["count", "near", "spread", "pack", "kind", "keep"])]
    pub cpus: Option<String>,
    /// Choose so many CPUs, as whole cores; without this and --cpus, one core
    #[arg(long, value_name = "N")]
    pub count: Option<usize>,
    /// Choose near a device: eth0, nvme0n1, 0000:3b:00.0, a path below /dev or /sys, or a place such as node:1
    #[arg(long, value_name = "DEVICE")]
    pub near: Option<String>,
    /// Choose CPUs that share as little as possible: evenly over nodes and caches
    #[arg(long, conflicts_with = "pack")]
    pub spread: bool,
    /// Choose CPUs close together: few nodes, few caches (the default)
    #[arg(long)]
    pub pack: bool,
    /// Choose this kind of core, on machines with two
    #[arg(long, value_name = "KIND")]
    pub kind: Option<KindWord>,
    /// Never choose these CPUs
    #[arg(long, value_name = "LIST")]
    pub keep: Option<String>,
    /// Name of the partition
    #[arg(long, value_name = "NAME", default_value = "rt")]
    pub partition: String,
    /// How far to go
    #[arg(long, value_name = "PROFILE", default_value = "balanced")]
    pub profile: ProfileWord,
    /// Take this knob too, with a value where it has a choice (stat_interval=60). May be repeated
    #[arg(long, value_name = "KNOB[=VALUE]")]
    pub with: Vec<String>,
    /// Leave this knob of the profile out. May be repeated
    #[arg(long, value_name = "KNOB")]
    pub without: Vec<String>,
    /// Bring an interrupt onto the isolated CPUs: its number, or its name with * for anything. May be repeated
    #[arg(long, value_name = "PATTERN")]
    pub irq_here: Vec<String>,
}

/// Profiles by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileWord {
    /// Partition, tasks, interrupts
    Minimal,
    /// All that has a use and no price worth naming
    Balanced,
    /// All that costs power or comfort too
    Strict,
}

/// Kinds of core by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindWord {
    /// The large, fast kind
    Performance,
    /// The small kind
    Efficiency,
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
        (false, false) => Err(plan::Refusal::Missing {
            cpus: missing,
            present,
        }
        .into()),
        (false, true) => Ok(cpus),
    }
}

impl Wanted {
    /// The intent on a machine and the plan for it. Without `--cpus` the CPUs are chosen, and the plan says why
    /// just these.
    ///
    /// # Errors
    /// Expressions, names, devices and machines that cannot be used.
    pub fn plan(&self, machine: &Machine, root: &Root) -> Result<(Intent, Plan), CommandError> {
        let name = PartitionName::new(&self.partition)?;
        let (cpus, choice) = match &self.cpus {
            Some(expression) => (cpus(expression, machine)?, None),
            None => {
                let choice = self.choose(machine, root)?;
                (choice.cpus.clone(), Some(choice))
            }
        };
        let profile = match self.profile {
            ProfileWord::Minimal => Profile::Minimal,
            ProfileWord::Balanced => Profile::Balanced,
            ProfileWord::Strict => Profile::Strict,
        };
        let mut intent = Intent::new(name, cpus, profile);
        self.with.iter().try_for_each(|knob| intent.take(knob))?;
        self.without.iter().try_for_each(|knob| intent.leave_out(knob))?;
        intent.irq_here.extend(self.irq_here.iter().cloned());
        if intent.without.contains("irq_affinity") && !intent.irq_here.is_empty() {
            return Err(plan::Refusal::KnobTwice { knob: "irq_affinity" }.into());
        }
        intent.share_housekeeping(&in_force(root));
        let mut plan = plan_on(machine, root, &intent)?;
        plan.choice = choice;
        Ok((intent, plan))
    }

    fn choose(&self, machine: &Machine, root: &Root) -> Result<Choice, CommandError> {
        let near = self.near.as_deref().map(|device| near(device, machine, root));
        let keep = self.keep.as_deref().map(|list| cpus(list, machine)).transpose()?;
        let others = in_force(root)
            .into_iter()
            .filter(|other| other.name.as_str() != self.partition);
        let keep = others.fold(keep.unwrap_or_default(), |all, other| all.or(&other.cpus));
        let wish = Wish {
            count: self.count,
            near: near.transpose()?,
            shape: if self.spread { Shape::Spread } else { Shape::Pack },
            kind: self.kind.map(|kind| match kind {
                KindWord::Performance => CoreKind::Performance,
                KindWord::Efficiency => CoreKind::Efficiency,
            }),
            keep,
            device_nodes: devices::nodes_with_devices(root),
        };
        Ok(plan::choose(machine, &wish)?)
    }
}

/// The plan of an intent on a machine, with the settings of just the CPUs in question.
///
/// # Errors
/// An intent that cannot be met.
pub fn plan_on(machine: &Machine, root: &Root, intent: &Intent) -> Result<Plan, plan::Refusal> {
    let concerned = machine.topology.with_siblings(&intent.cpus);
    let settings = machine::settings::for_cpus(root, &concerned);
    plan::plan_beside(machine, &settings, intent, &in_force(root))
}

/// Partitions of ours on this machine; what a captured one had is in no journal.
fn in_force(root: &Root) -> Vec<Intent> {
    match root.origin() {
        Origin::Live => changing::in_force(),
        Origin::Captured => Vec::new(),
    }
}

/// The CPUs near a device, or those of a place that has a word of its own (`node:1`, `llc-of:7`).
fn near(device: &str, machine: &Machine, root: &Root) -> Result<Near, CommandError> {
    let is_place = device.split_once(':').is_some_and(|(word, _)| {
        !word.starts_with('/') && !word.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    if is_place {
        return Ok(Near {
            device: device.to_owned(),
            cpus: existing_cpus(device, machine)?,
            what: "as named".to_owned(),
        });
    }
    let found = devices::locate(root, device).map_err(|error| {
        CommandError::usage(
            format!("there is no device `{}`", report::safe(device)),
            error.why,
            "name one as `ip link`, `lsblk` or `lspci -D` do: eth0, nvme0n1, 0000:3b:00.0, /dev/sda; or node:0",
        )
    })?;
    Ok(Near::of(&found, &machine.topology)?)
}
