//! Lists the changes to predict, each with the cures that it includes.

use crate::input::{ChangeSelection, PredictionInput, WatchOrigin};
use blame::{Cure, CureAction, CureContext, cure};
use machine::OrderBy;
use observe::Class;
use plan::Profile;
use plan::knobs::{self, KnobUse};
use plan::parameters::ParameterCost;
use serde::Serialize;

/// What a change consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// Every change of the list that costs neither safety nor security.
    Everything,
    /// The requested profile, the boot line, or both.
    Selection,
    /// A partition with all knobs of a profile.
    Profile,
    /// The boot line.
    Boot,
    /// A partition without knobs.
    Partition,
    /// One knob.
    Knob,
    /// An active partition, applied again.
    Reapply,
    /// A thread, moved out of the partition.
    Move,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedChange {
    /// Its kind.
    pub kind: ProposalKind,
    /// Its name on the screen: `stat_interval=60`, `profile strict`.
    pub name: String,
    /// The commands that make it. The command of a knob may set the rest of a profile too.
    pub commands: Vec<String>,
    /// Whether it takes effect at the next boot.
    pub needs_reboot: bool,
    /// What it costs: `speed`, `power`, `safety`, `security`.
    pub costs: Vec<&'static str>,
    /// Changes of the list that are not part of it, because they cost safety or security.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
}

impl ProposedChange {
    /// A change that costs nothing, takes effect at once, and has no command yet.
    fn new(kind: ProposalKind, name: impl Into<String>) -> ProposedChange {
        ProposedChange {
            kind,
            name: name.into(),
            commands: Vec::new(),
            needs_reboot: false,
            costs: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// All these changes as one.
    fn joined<'a>(
        kind: ProposalKind,
        name: impl Into<String>,
        all: impl Iterator<Item = &'a ProposedChange> + Clone,
    ) -> ProposedChange {
        let costs = COSTS.iter().map(|(_, word)| *word);
        ProposedChange {
            commands: all.clone().flat_map(|change| change.commands.clone()).collect(),
            needs_reboot: all.clone().any(|change| change.needs_reboot),
            costs: costs
                .filter(|word| all.clone().any(|change| change.costs.contains(word)))
                .collect(),
            ..ProposedChange::new(kind, name)
        }
    }
}

/// A change and the cures that it includes.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) change: ProposedChange,
    pub(crate) actions: Vec<CureAction>,
}

/// The cures of all rows, and each action with its command.
pub(crate) struct Cures {
    /// By CPU and row.
    pub(crate) cpus: Vec<Vec<Cure>>,
    /// Each action once, in order, with its commands: one for each partition. The boot line comes last, because the others take
    /// effect at once.
    commands: Vec<(CureAction, Vec<String>)>,
}

impl Cures {
    /// The cures of a watch.
    pub(crate) fn of(input: &PredictionInput) -> Cures {
        let context = CureContext {
            // Whether boot files can be edited decides about the command of the boot line, not about its effect.
            can_boot_set: None,
            ..input.context.clone()
        };
        let mut commands: Vec<(CureAction, Vec<String>)> = Vec::new();
        let cpus = input.answer.cpus.iter().map(|cpu| {
            let cures = cpu.interruptions.iter().map(|row| {
                let mut found = cure(row, cpu.cpu, &context);
                if let Cure::Command { action, command, .. } = &mut found {
                    if *action == CureAction::Boot {
                        *command = input.context.boot_command().unwrap_or_default();
                    }
                    if let Err(why) = register(&mut commands, action, command, input.origin) {
                        found = Cure::Nothing { why: why.to_owned() };
                    }
                }
                found
            });
            cures.collect::<Vec<Cure>>()
        });
        let cpus = cpus.collect();
        commands.order_by(|(a, _), (b, _)| {
            let is_last = |action: &CureAction| *action == CureAction::Boot;
            is_last(a).cmp(&is_last(b)).then_with(|| a.cmp(b))
        });
        Cures { cpus, commands }
    }

    /// The changes to predict.
    pub(crate) fn proposals(&self, context: &CureContext, selection: ChangeSelection) -> Vec<Proposal> {
        if let ChangeSelection::Only { profile, boot } = selection {
            return vec![self.selected(context, profile, boot)];
        }
        let profiles = context.profiles();
        let mut all: Vec<Proposal> = profiles.map(|profile| self.profile(context, profile)).collect();
        all.extend(context.boot_command().map(|command| self.boot(context, command)));
        let alone = self.commands.iter().filter(|(action, _)| *action != CureAction::Boot);
        all.extend(alone.map(|(action, command)| alone_of(action, command)));
        let each = self.commands.iter().map(|(action, command)| alone_of(action, command));
        let (left_out, kept): (Vec<Proposal>, Vec<Proposal>) = each.partition(Proposal::is_risky);
        if kept.len() > 1 {
            all.insert(0, Cures::everything(kept, left_out));
        }
        all
    }

    fn actions(&self) -> impl Iterator<Item = &CureAction> {
        self.commands.iter().map(|(action, _)| action)
    }

    fn everything(kept: Vec<Proposal>, left_out: Vec<Proposal>) -> Proposal {
        let each = || kept.iter().map(|one| &one.change);
        Proposal {
            change: ProposedChange {
                excluded: left_out.into_iter().map(|one| one.change.name).collect(),
                ..ProposedChange::joined(ProposalKind::Everything, "all safe changes", each())
            },
            actions: kept.into_iter().flat_map(|one| one.actions).collect(),
        }
    }

    fn profile(&self, context: &CureContext, profile: Profile) -> Proposal {
        let included = |action: &&CureAction| context.profile_includes(profile, action);
        let costs = knobs::KNOBS.iter().filter(|knob| match knob.usage {
            KnobUse::From(first) => first <= profile && !context.absent.contains(knob.name),
            KnobUse::ByName => false,
        });
        Proposal {
            change: ProposedChange {
                costs: words(costs.map(|knob| knob.price)),
                commands: context.profile_command(profile).into_iter().collect(),
                ..ProposedChange::new(ProposalKind::Profile, format!("profile {profile:?}").to_lowercase())
            },
            actions: self.actions().filter(included).cloned().collect(),
        }
    }

    /// The boot line, with what its other parameters stop too.
    fn boot(&self, context: &CureContext, command: String) -> Proposal {
        let included = |action: &&CureAction| on_boot_line(action, context);
        Proposal {
            actions: self.actions().filter(included).cloned().collect(),
            ..alone_of(&CureAction::Boot, &[command])
        }
    }

    fn selected(&self, context: &CureContext, profile: Option<Profile>, boot: bool) -> Proposal {
        let parts: Vec<Proposal> = profile
            .map(|profile| self.profile(context, profile))
            .into_iter()
            .chain(
                context
                    .boot_command()
                    .filter(|_| boot)
                    .map(|command| self.boot(context, command)),
            )
            .collect();
        let names: Vec<&str> = parts.iter().map(|part| part.change.name.as_str()).collect();
        Proposal {
            change: ProposedChange::joined(
                ProposalKind::Selection,
                names.join(" + "),
                parts.iter().map(|part| &part.change),
            ),
            actions: parts.into_iter().flat_map(|part| part.actions).collect(),
        }
    }
}

fn alone_of(action: &CureAction, commands: &[String]) -> Proposal {
    let (kind, name, cost) = match action {
        CureAction::Partition => (ProposalKind::Partition, "partition".to_owned(), ParameterCost::None),
        // The price of nohz_full=, the costliest of its parameters (`plan::parameters`).
        CureAction::Boot => (ProposalKind::Boot, "boot line".to_owned(), ParameterCost::Speed),
        CureAction::Reapply => (ProposalKind::Reapply, "apply again".to_owned(), ParameterCost::None),
        CureAction::Move(pid) => (ProposalKind::Move, format!("move thread {pid}"), ParameterCost::None),
        CureAction::Knob(text) => {
            let knob = knobs::knob(text.split('=').next().unwrap_or(text));
            (
                ProposalKind::Knob,
                text.clone(),
                knob.map_or(ParameterCost::None, |knob| knob.price),
            )
        }
    };
    Proposal {
        change: ProposedChange {
            commands: commands.to_vec(),
            needs_reboot: kind == ProposalKind::Boot,
            costs: words([cost].into_iter()),
            ..ProposedChange::new(kind, name)
        },
        actions: vec![action.clone()],
    }
}

/// The most changes that are predicted alone. In a partition, each thread that should leave is a change.
const MOST_ALONE: usize = 128;

/// Adds the command of an action, unless the action is not predicted; then the error is the reason.
fn register(
    commands: &mut Vec<(CureAction, Vec<String>)>,
    action: &CureAction,
    command: &str,
    origin: WatchOrigin,
) -> Result<(), &'static str> {
    if origin == WatchOrigin::Recording && matches!(action, CureAction::Move(_)) {
        return Err("a thread of the recording had to leave the partition; `quietcore blame` names those of now");
    }
    let is_full = commands.len() >= MOST_ALONE;
    match commands.iter_mut().find(|(known, _)| known == action) {
        Some((_, known)) if known.iter().all(|one| one != command) => known.push(command.to_owned()),
        Some(_) => {}
        None if is_full => return Err("too many different changes; this one is not predicted"),
        None => commands.push((action.clone(), vec![command.to_owned()])),
    }
    Ok(())
}

const KNOBS_ON_BOOT_LINE: &[&str] = &["irq_affinity", "workqueue_cpumask"];
const KNOBS_OF_NOHZ_FULL: &[&str] = &["watchdog_cpumask"];

/// Whether the suggested boot line (`isolcpus=managed_irq,domain,... irqaffinity=...`, with `nohz_full=` or `rcu_nocbs=`) also
/// makes this change: tasks, unbound work (`kernel/workqueue.c`, `workqueue_init_early`), load balancing and interrupts stay
/// away from the CPUs, and the lockup detectors do not watch those of `nohz_full=` (`kernel/watchdog.c`,
/// `lockup_detector_init`).
fn on_boot_line(action: &CureAction, context: &CureContext) -> bool {
    match action {
        CureAction::Boot | CureAction::Partition => true,
        CureAction::Knob(text) => {
            let has_nohz_full = context.can_stop_ticks != Some(false);
            KNOBS_ON_BOOT_LINE.contains(&text.as_str()) || has_nohz_full && KNOBS_OF_NOHZ_FULL.contains(&text.as_str())
        }
        CureAction::Reapply | CureAction::Move(_) => false,
    }
}

/// Knobs that move work to other CPUs instead of ending it.
const MOVING_KNOBS: &[&str] = &["irq_affinity", "workqueue_cpumask", "rps_cpus", "rq_affinity"];

/// Whether a change moves interruptions of this class to other CPUs instead of ending them.
pub(crate) fn moves(action: &CureAction, class: Option<Class>) -> bool {
    match action {
        CureAction::Partition | CureAction::Reapply | CureAction::Move(_) => class != Some(Class::SoftSched),
        CureAction::Knob(text) => MOVING_KNOBS.contains(&text.split('=').next().unwrap_or(text)),
        CureAction::Boot => matches!(class, Some(Class::Device | Class::SoftRcu | Class::KernelThread)),
    }
}

impl Proposal {
    /// Whether it costs safety or security: it is only predicted alone.
    fn is_risky(&self) -> bool {
        self.change
            .costs
            .iter()
            .any(|cost| ["safety", "security"].contains(cost))
    }
}

const COSTS: [(ParameterCost, &str); 4] = [
    (ParameterCost::Speed, "speed"),
    (ParameterCost::Power, "power"),
    (ParameterCost::Safety, "safety"),
    (ParameterCost::Security, "security"),
];

fn words(costs: impl Iterator<Item = ParameterCost> + Clone) -> Vec<&'static str> {
    let has = |(cost, _): &&(ParameterCost, &'static str)| costs.clone().any(|one| one == *cost);
    COSTS.iter().filter(has).map(|(_, word)| *word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knobs_that_are_named_here_exist() {
        for name in [KNOBS_ON_BOOT_LINE, KNOBS_OF_NOHZ_FULL, MOVING_KNOBS].concat() {
            assert!(knobs::knob(name).is_some_and(|knob| knob.name == name), "{name}");
        }
    }
}
