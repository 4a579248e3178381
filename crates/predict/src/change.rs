//! Lists the changes to predict, each with the cures that it includes.

use blame::{BlameResult, Cure, CureAction, CureContext, cure};
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
    /// The commands that make it.
    pub commands: Vec<String>,
    /// Whether it takes effect at the next boot.
    pub needs_reboot: bool,
    /// What it costs: `speed`, `power`, `safety`, `security`.
    pub costs: Vec<&'static str>,
    /// Changes of the list that are not part of it, because they cost safety or security.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaves_out: Vec<String>,
}

/// Which changes to predict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeSelection {
    /// Each change alone, each profile, the boot line, and all together.
    #[default]
    Each,
    /// One change: this profile, the boot line, or both.
    Only {
        /// The profile.
        profile: Option<Profile>,
        /// Whether the boot line is part of it.
        boot: bool,
    },
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
    /// Each action once, in order, with its command. The boot line comes last: the others take effect at once.
    commands: Vec<(CureAction, String)>,
}

impl Cures {
    pub(crate) fn of(answer: &BlameResult, context: &CureContext) -> Cures {
        let cpus = answer.cpus.iter().map(|cpu| {
            let rows = cpu.interruptions.iter().map(|row| cure(row, cpu.cpu, context));
            rows.collect::<Vec<Cure>>()
        });
        let cpus: Vec<Vec<Cure>> = cpus.collect();
        let mut commands: Vec<(CureAction, String)> = Vec::new();
        for cure in cpus.iter().flatten() {
            if let Cure::Command { action, command, .. } = cure
                && commands.iter().all(|(known, _)| known != action)
            {
                commands.push((action.clone(), command.clone()));
            }
        }
        commands.sort_unstable_by(|(a, _), (b, _)| {
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
        let profiles = [Profile::Minimal, Profile::Balanced, Profile::Strict];
        let profiles = profiles
            .into_iter()
            .filter(|profile| context.profile_command(*profile).is_some());
        let mut all: Vec<Proposal> = profiles.map(|profile| self.profile(context, profile)).collect();
        all.extend(context.boot_command().map(|command| self.boot(command)));
        let alone = self.commands.iter().filter(|(action, _)| *action != CureAction::Boot);
        all.extend(alone.map(|(action, command)| alone_of(action, command)));
        let each = self.commands.iter().map(|(action, command)| alone_of(action, command));
        let (left_out, kept): (Vec<Proposal>, Vec<Proposal>) = each.partition(Proposal::is_risky);
        if kept.len() > 1 {
            all.insert(0, Cures::everything(kept, left_out));
        }
        all
    }

    fn everything(kept: Vec<Proposal>, left_out: Vec<Proposal>) -> Proposal {
        let each = || kept.iter().map(|one| &one.change);
        Proposal {
            change: ProposedChange {
                kind: ProposalKind::Everything,
                name: "everything below".to_owned(),
                commands: each().flat_map(|change| change.commands.clone()).collect(),
                needs_reboot: each().any(|change| change.needs_reboot),
                costs: costs_of(each()),
                leaves_out: left_out.into_iter().map(|one| one.change.name).collect(),
            },
            actions: kept.into_iter().flat_map(|one| one.actions).collect(),
        }
    }

    fn profile(&self, context: &CureContext, profile: Profile) -> Proposal {
        let included = |action: &&CureAction| context.profile_includes(profile, action);
        let actions = self.commands.iter().map(|(action, _)| action);
        let costs = knobs::KNOBS.iter().filter(|knob| match knob.usage {
            KnobUse::From(first) => first <= profile && !context.absent.contains(knob.name),
            KnobUse::ByName => false,
        });
        Proposal {
            change: ProposedChange {
                kind: ProposalKind::Profile,
                name: format!("profile {profile:?}").to_lowercase(),
                commands: context.profile_command(profile).into_iter().collect(),
                needs_reboot: false,
                costs: words(costs.map(|knob| knob.price)),
                leaves_out: Vec::new(),
            },
            actions: actions.filter(included).cloned().collect(),
        }
    }

    fn boot(&self, command: String) -> Proposal {
        Proposal {
            change: ProposedChange {
                kind: ProposalKind::Boot,
                name: "boot line".to_owned(),
                commands: vec![command],
                needs_reboot: true,
                costs: words([ParameterCost::Speed].into_iter()),
                leaves_out: Vec::new(),
            },
            actions: vec![CureAction::Boot],
        }
    }

    fn selected(&self, context: &CureContext, profile: Option<Profile>, boot: bool) -> Proposal {
        let parts: Vec<Proposal> = profile
            .map(|profile| self.profile(context, profile))
            .into_iter()
            .chain(boot.then(|| self.boot(context.boot_command().unwrap_or_default())))
            .collect();
        let names: Vec<&str> = parts.iter().map(|part| part.change.name.as_str()).collect();
        Proposal {
            change: ProposedChange {
                kind: ProposalKind::Selection,
                name: names.join(" + "),
                commands: parts.iter().flat_map(|part| part.change.commands.clone()).collect(),
                needs_reboot: boot,
                costs: costs_of(parts.iter().map(|part| &part.change)),
                leaves_out: Vec::new(),
            },
            actions: parts.into_iter().flat_map(|part| part.actions).collect(),
        }
    }
}

fn alone_of(action: &CureAction, command: &str) -> Proposal {
    let (kind, name, cost) = match action {
        CureAction::Partition => (ProposalKind::Partition, "partition".to_owned(), ParameterCost::None),
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
            kind,
            name,
            commands: vec![command.to_owned()],
            needs_reboot: kind == ProposalKind::Boot,
            costs: words([cost].into_iter()),
            leaves_out: Vec::new(),
        },
        actions: vec![action.clone()],
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

/// The costs of all changes together.
fn costs_of<'a>(changes: impl Iterator<Item = &'a ProposedChange> + Clone) -> Vec<&'static str> {
    let has = |word: &&'static str| changes.clone().any(|change| change.costs.contains(word));
    COSTS.iter().map(|(_, word)| *word).filter(has).collect()
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
