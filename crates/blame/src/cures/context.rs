//! Describes what is already set up on a machine, and so which commands would have an effect there.

use super::{Cure, CureAction};
use machine::{CpuId, CpuSet, Interrupt, Machine, Settings};
use plan::parameters::ParameterCost;
use plan::{Intent, KnobState, PartitionName, Profile, knobs, plan_beside, takes};
use std::collections::BTreeSet;

/// Knobs that cures use and no profile contains.
const BY_NAME: &[&str] = &["check_interval", "fair_server", "sched_rt_runtime_us"];

/// The first kernel with the fair server instead of real-time throttling (`kernel/sched/deadline.c`).
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);

/// Facts that determine the available cures. Without a machine all are unknown, and nothing is assumed to be absent.
#[derive(Clone, Debug, Default)]
pub struct CureContext {
    /// The requested CPUs. A command that isolates names all of them.
    pub requested: CpuSet,
    /// Our active partitions.
    pub in_force: Vec<Intent>,
    /// Why `apply` would refuse the CPUs; `None` if it would not.
    pub refusal: Option<String>,
    /// Knobs that do not exist on this machine.
    pub absent: BTreeSet<&'static str>,
    /// Major and minor version of its kernel; `None` if unknown.
    pub kernel: Option<(u32, u32)>,
    /// CPUs whose tick may stop; `None` if unknown.
    pub nohz_full: Option<CpuSet>,
    /// CPUs whose RCU callbacks are offloaded; `None` if unknown.
    pub rcu_nocbs: Option<CpuSet>,
    /// CPUs that managed interrupts avoid.
    pub managed_irq: CpuSet,
    /// Whether its kernel is known not to support `isolcpus=managed_irq`.
    pub lacks_managed_irq: bool,
    /// Whether the kernel can stop ticks at all (`CONFIG_NO_HZ_FULL`); `None` if unknown.
    pub can_stop_ticks: Option<bool>,
    /// Whether there is a boot loader whose files we can edit; `None` if unknown.
    pub can_boot_set: Option<bool>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
    /// Threads of the program itself.
    pub own: Vec<i32>,
    /// The thread that measures; `None` if it did not run on this machine.
    pub tool: Option<i32>,
}

impl CureContext {
    /// The context of a machine, which must have been read with interrupts.
    #[must_use]
    pub fn of(machine: &Machine, settings: &Settings, in_force: Vec<Intent>, requested: &CpuSet) -> CureContext {
        let taken = CpuSet::union(in_force.iter().map(|intent| &intent.cpus));
        let mut context = CureContext {
            requested: requested.clone(),
            kernel: machine.kernel.version,
            nohz_full: machine.isolation.nohz_full.clone(),
            rcu_nocbs: machine.isolation.rcu_nocbs.clone(),
            managed_irq: managed_irq(machine),
            lacks_managed_irq: machine.kernel.lacks_managed_irq(),
            can_stop_ticks: machine
                .kernel
                .config
                .as_ref()
                .map(|config| config.contains_key("CONFIG_NO_HZ_FULL")),
            interrupts: machine.interrupts.clone().unwrap_or_default(),
            ..CureContext::default()
        };
        // Plans all knobs that a cure may name at once: the plan shows which of them exist.
        let mut all = Intent::new(PartitionName::default(), requested.minus(&taken), Profile::Strict);
        for knob in BY_NAME {
            all.with.insert((*knob).to_owned(), None);
        }
        let others = if all.cpus.is_empty() {
            all.cpus = requested.clone();
            Vec::new()
        } else {
            in_force.clone()
        };
        match plan_beside(machine, settings, &all, &others) {
            Ok(plan) => {
                let absent = plan.knobs.iter().filter(|knob| knob.state == KnobState::Absent);
                context.absent = absent.map(|knob| knob.name).collect();
            }
            Err(refusal) => context.refusal = Some(refusal.reason()),
        }
        context.in_force = in_force;
        context
    }

    /// Whether this kernel stops real-time threads for a part of each period so that others can run, as before the fair server
    /// (`kernel/sched/rt.c`).
    pub(super) fn throttles(&self) -> bool {
        self.kernel.is_some_and(|version| version < FAIR_SERVER_SINCE)
    }

    /// The partition that contains this CPU.
    pub(super) fn partition(&self, cpu: u32) -> Option<&Intent> {
        self.in_force.iter().find(|intent| intent.cpus.contains(CpuId(cpu)))
    }

    /// A partition around the CPU: tasks, movable kernel threads, interrupts and load balancing leave it.
    pub(super) fn isolate(&self, cpu: u32, why: &str) -> Cure {
        match (self.partition(cpu), &self.refusal) {
            (Some(intent), _) => Cure::nothing(format!("partition {} already contains this CPU; {why}", intent.name)),
            (None, Some(refusal)) => Cure::nothing(refusal.clone()),
            (None, None) => Cure::Command {
                action: CureAction::Partition,
                command: self.apply(),
                why: why.to_owned(),
            },
        }
    }

    /// Sets the knob, optionally with a value, for the partition of this CPU.
    pub(super) fn knob(&self, cpu: u32, text: &str, why: &str) -> Cure {
        let name = text.split('=').next().unwrap_or(text);
        let price = knobs::knob(name).filter(|knob| knob.price == ParameterCost::Safety);
        let why = match price {
            Some(knob) => format!("{why}; side effect: {}", knob.side_effects),
            None => why.to_owned(),
        };
        let action = CureAction::Knob(text.to_owned());
        if self.absent.contains(name) {
            return Cure::nothing(format!("this machine has no {name}; {why}"));
        }
        match (self.partition(cpu), &self.refusal) {
            (Some(intent), _) if takes(intent, name) => Cure::nothing(format!(
                "{name} is already active for partition {} (`quietcore explain {name}` says how to verify it); {why}",
                intent.name
            )),
            (Some(intent), _) => Cure::Command {
                action,
                command: format!("{} --with {text}", again(intent)),
                why,
            },
            (None, Some(refusal)) => Cure::nothing(refusal.clone()),
            (None, None) => Cure::Command {
                action,
                command: match self.is_usual(text) {
                    true => self.apply(),
                    false => format!("{} --with {text}", self.apply()),
                },
                why,
            },
        }
    }

    /// Whether a partition without extra options sets this knob to the intended value.
    fn is_usual(&self, text: &str) -> bool {
        takes(
            &Intent::new(PartitionName::default(), self.requested.clone(), Profile::default()),
            text,
        )
    }

    /// Applies the partition of this CPU again, to undo changes that others have made since.
    pub(super) fn once_more(&self, cpu: u32, why: &str) -> Cure {
        match self.partition(cpu) {
            Some(intent) => Cure::Command {
                action: CureAction::Reapply,
                command: again(intent),
                why: why.to_owned(),
            },
            None => self.isolate(cpu, why),
        }
    }

    /// A partition without a scheduling domain. If one exists, the CPU was idle when it was created (`apply::Busy` keeps the CPU
    /// busy then), and busy CPUs ask it to balance for as long as the partition exists.
    pub(super) fn leave_domains(&self, cpu: u32, why: &str) -> Cure {
        match self.partition(cpu) {
            Some(intent) if !intent.balances_inside() => self.once_more(
                cpu,
                "it was idle when it left the scheduler's domains, so busy CPUs ask it to balance load for them for as \
                 long as this partition exists; recreating it keeps the CPU busy at that moment",
            ),
            _ => self.isolate(cpu, why),
        }
    }

    /// The boot parameters that isolate the CPUs.
    pub(super) fn boot(&self, why: &str) -> Cure {
        match (&self.refusal, self.can_boot_set) {
            (Some(refusal), _) => Cure::nothing(format!("{refusal}; {why}")),
            (None, Some(false)) => Cure::nothing(format!(
                "{why}; quietcore found no boot loader here that it can edit: `quietcore plan --cpus {}` lists the \
                 parameters for the boot line",
                self.requested
            )),
            (None, _) => Cure::Command {
                action: CureAction::Boot,
                command: format!("quietcore boot set --cpus {}", self.requested),
                why: format!("{why}; this takes effect at the next boot"),
            },
        }
    }

    /// A thread that should not be here.
    pub(super) fn leave(&self, cpu: u32, pid: i32, why: &str) -> Cure {
        if self.tool == Some(pid) {
            return Cure::nothing("it is quietcore itself, and ends with the measurement");
        }
        match self.partition(cpu) {
            Some(_) if self.own.contains(&pid) => Cure::nothing(format!("it is the watched program itself; {why}")),
            Some(intent) => Cure::Command {
                action: CureAction::Move(pid),
                command: match intent.name == PartitionName::default() {
                    true => format!("quietcore move --back --pid {pid}"),
                    false => format!("quietcore move --back --pid {pid} --from {}", intent.name),
                },
                why: why.to_owned(),
            },
            None => self.isolate(cpu, why),
        }
    }

    /// Creates a partition of those CPUs that have none, under a free name.
    pub(super) fn apply(&self) -> String {
        let is_free = |name: &str| self.in_force.iter().all(|intent| intent.name.as_str() != name);
        let taken = |cpus: CpuSet, intent: &Intent| cpus.minus(&intent.cpus);
        let cpus = self.in_force.iter().fold(self.requested.clone(), taken);
        let usual = PartitionName::default();
        if is_free(usual.as_str()) {
            return format!("quietcore apply --cpus {cpus}");
        }
        let name = (2..)
            .map(|number| format!("{usual}{number}"))
            .find(|name| is_free(name));
        format!("quietcore apply --cpus {cpus} --partition {}", name.unwrap_or_default())
    }
}

pub(super) fn again(intent: &Intent) -> String {
    format!("quietcore apply --resize {}", intent.arguments())
}

/// CPUs of the flag `managed_irq` of `isolcpus=`.
fn managed_irq(machine: &Machine) -> CpuSet {
    let Some(line) = &machine.kernel.cmdline else {
        return CpuSet::new();
    };
    let values = line.all("isolcpus").filter_map(|parameter| parameter.value.as_deref());
    let sets = values.filter_map(|value| {
        let words: Vec<&str> = value.split(',').collect();
        let first = words
            .iter()
            .position(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
        let flagged = words.iter().take(first).any(|word| *word == "managed_irq");
        let list = words.get(first..)?.join(",");
        flagged.then(|| CpuSet::parse_list(&list).ok()).flatten()
    });
    CpuSet::union(sets)
}
