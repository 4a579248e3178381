//! What `plan`, `apply` and `prove` take: which CPUs, under which name, how far to go.

use crate::{CommandError, accounts};
use clap::{Args, ValueEnum};
use machine::{CoreKind, CpuSet, Machine, devices};
use plan::declared::{BootPart, ComesBack, CpuWish, Declaration};
use plan::{Choice, Intent, Near, PartitionName, Plan, Profile, Shape, Wish};
use root::Root;
use session::Session;

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
    /// Name of the partition [default: rt]
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// How far to go [default: balanced]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileWord>,
    /// Take this knob too, with a value where it has a choice (stat_interval=60). May be repeated
    #[arg(long, value_name = "KNOB[=VALUE]")]
    pub with: Vec<String>,
    /// Leave this knob of the profile out. May be repeated
    #[arg(long, value_name = "KNOB")]
    pub without: Vec<String>,
    /// Bring an interrupt onto the isolated CPUs: its number, or its name with * for anything. May be repeated
    #[arg(long, value_name = "PATTERN")]
    pub irq_here: Vec<String>,
    /// cgroup v2: let single threads of a process in (`move --tid`), not only whole processes
    #[arg(long)]
    pub threaded: bool,
    /// Let this user, or this group (:GROUP), put tasks into the partition
    #[arg(long, value_name = "USER[:GROUP]")]
    pub owner: Option<String>,
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

impl ProfileWord {
    /// The profile.
    #[must_use]
    pub fn profile(self) -> Profile {
        match self {
            ProfileWord::Minimal => Profile::Minimal,
            ProfileWord::Balanced => Profile::Balanced,
            ProfileWord::Strict => Profile::Strict,
        }
    }
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
    /// Whether nothing at all was asked for, not even a name.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.is_only_a_name() && self.partition.is_none()
    }

    /// Whether nothing but a name was given.
    #[must_use]
    pub fn is_only_a_name(&self) -> bool {
        let lists = [&self.with, &self.without, &self.irq_here];
        let words = [&self.cpus, &self.near, &self.keep, &self.owner];
        lists.iter().all(|list| list.is_empty())
            && words.iter().all(|word| word.is_none())
            && self.count.is_none()
            && self.kind.is_none()
            && self.profile.is_none()
            && !self.spread
            && !self.threaded
            && !self.pack
    }

    /// The same as a declaration.
    ///
    /// # Errors
    /// Names, knobs and values that cannot be used.
    pub fn declaration(&self) -> Result<Declaration, CommandError> {
        let name = match &self.partition {
            Some(name) => PartitionName::new(name)?,
            None => PartitionName::default(),
        };
        let profile = self.profile.map_or(Profile::Balanced, ProfileWord::profile);
        let mut template = Intent::new(name, CpuSet::new(), profile);
        self.with.iter().try_for_each(|knob| template.take(knob))?;
        if self.threaded {
            template.take("threaded")?;
        }
        self.without
            .iter()
            .try_for_each(|knob| template.leave_out(knob))?;
        template.irq_here.extend(self.irq_here.iter().cloned());
        if template.without.contains("irq_affinity") && !template.irq_here.is_empty() {
            return Err(plan::Refusal::KnobTwice { knob: "irq_affinity" }.into());
        }
        let cpus = match &self.cpus {
            Some(expression) => CpuWish::Named(expression.clone()),
            None => CpuWish::Chosen {
                count: self.count,
                near: self.near.clone(),
                shape: if self.spread { Shape::Spread } else { Shape::Pack },
                kind: self.kind.map(|kind| match kind {
                    KindWord::Performance => CoreKind::Performance,
                    KindWord::Efficiency => CoreKind::Efficiency,
                }),
                keep: self.keep.clone(),
            },
        };
        Ok(Declaration {
            template,
            cpus,
            owner: self.owner.clone(),
            comes_back: ComesBack::AtBoot,
            boot: BootPart::Unsaid,
            line: 0,
        })
    }

    /// The intent on a machine and the plan for it. Without `--cpus` the CPUs are chosen, and the plan says why
    /// just these.
    ///
    /// # Errors
    /// Expressions, names, devices and machines that cannot be used.
    pub fn plan(&self, session: &Session, machine: &Machine) -> Result<(Intent, Plan), CommandError> {
        settle(
            &self.declaration()?,
            machine,
            session.root(),
            &session.in_force(),
            &CpuSet::new(),
        )
    }
}

/// What a declaration means on a machine where other partitions are in force. CPUs that are reserved are not chosen.
///
/// # Errors
/// Expressions, names, devices and machines that cannot be used.
pub fn settle(
    declaration: &Declaration,
    machine: &Machine,
    root: &Root,
    others: &[Intent],
    reserved: &CpuSet,
) -> Result<(Intent, Plan), CommandError> {
    let mut intent = declaration.template.clone();
    let mut choice = None;
    intent.cpus = match &declaration.cpus {
        CpuWish::Named(expression) => cpus(expression, machine)?,
        wish @ CpuWish::Chosen { .. } => {
            let beside = others.iter().filter(|other| other.name != intent.name);
            let taken = beside.fold(reserved.clone(), |all, other| all.or(&other.cpus));
            choice = choose(wish, taken, machine, root)?;
            choice
                .as_ref()
                .map(|choice| choice.cpus.clone())
                .unwrap_or_default()
        }
    };
    if let Some(owner) = &declaration.owner {
        intent.take(&format!("owner={}", accounts::owner(root, owner)?))?;
    }
    intent.share_housekeeping(others);
    let mut plan = plan_beside(machine, root, &intent, others)?;
    plan.choice = choice;
    Ok((intent, plan))
}

fn choose(
    wish: &CpuWish,
    taken: CpuSet,
    machine: &Machine,
    root: &Root,
) -> Result<Option<Choice>, CommandError> {
    let CpuWish::Chosen {
        count,
        near: device,
        shape,
        kind,
        keep,
    } = wish
    else {
        return Ok(None);
    };
    let near = device.as_deref().map(|device| near(device, machine, root));
    let keep = keep.as_deref().map(|list| cpus(list, machine)).transpose()?;
    let wish = Wish {
        count: *count,
        near: near.transpose()?,
        shape: *shape,
        kind: *kind,
        keep: keep.unwrap_or_default().or(&taken),
        device_nodes: devices::nodes_with_devices(root),
    };
    Ok(Some(plan::choose(machine, &wish)?))
}

/// The plan of an intent on a machine, with the settings of just the CPUs in question.
///
/// # Errors
/// An intent that cannot be met.
pub fn plan_on(session: &Session, machine: &Machine, intent: &Intent) -> Result<Plan, plan::Refusal> {
    plan_beside(machine, session.root(), intent, &session.in_force())
}

fn plan_beside(
    machine: &Machine,
    root: &Root,
    intent: &Intent,
    others: &[Intent],
) -> Result<Plan, plan::Refusal> {
    let concerned = machine.topology.with_siblings(&intent.cpus);
    let settings = machine::settings::for_cpus(root, &concerned);
    plan::plan_beside(machine, &settings, intent, others)
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
