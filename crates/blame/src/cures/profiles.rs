//! Finds out which cures a profile includes: one command sets all knobs of a profile.

use super::context::again;
use super::{CureAction, CureContext};
use plan::{Intent, PartitionName, Profile, knobs, takes};

/// Whether a partition with this intent makes the change. A knob without a value has its usual one; of `rq_affinity` that
/// changes no disk that is set to 0.
#[must_use]
pub fn intent_includes(intent: &Intent, action: &CureAction) -> bool {
    match action {
        CureAction::Partition | CureAction::Reapply => true,
        CureAction::Knob(text) => {
            let (name, value) = text
                .split_once('=')
                .map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
            let usual = knobs::knob(name).map_or("", |knob| knob.usual);
            let own = intent.with.get(name).and_then(Option::as_deref);
            takes(intent, name) && own.unwrap_or(usual) == value.unwrap_or(usual)
        }
        CureAction::Boot | CureAction::Move(_) => false,
    }
}

impl CureContext {
    /// The command that applies this profile to the requested CPUs; `None` if the machine refuses it, or if a partition
    /// already has it.
    #[must_use]
    pub fn profile_command(&self, profile: Profile) -> Option<String> {
        if self.refusal.is_some() {
            return None;
        }
        match self.with_profile(profile)? {
            (intent, true) => Some(again(&intent)),
            (_, false) if profile == Profile::default() => Some(self.apply()),
            (_, false) => Some(format!(
                "{} --profile {}",
                self.apply(),
                format!("{profile:?}").to_lowercase()
            )),
        }
    }

    /// The profiles that the requested CPUs could get: [`CureContext::profile_command`] has a command for each.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> + '_ {
        let all = [Profile::Minimal, Profile::Balanced, Profile::Strict];
        all.into_iter()
            .filter(|profile| self.profile_command(*profile).is_some())
    }

    /// Whether this profile makes the change.
    #[must_use]
    pub fn profile_includes(&self, profile: Profile, action: &CureAction) -> bool {
        self.with_profile(profile)
            .is_some_and(|(intent, _)| intent_includes(&intent, action))
    }

    /// The command that isolates the requested CPUs at boot, or shows the parameters where the boot loader's files cannot be
    /// edited; `None` if the machine refuses these CPUs.
    #[must_use]
    pub fn boot_command(&self) -> Option<String> {
        match (&self.refusal, self.can_boot_set) {
            (Some(_), _) => None,
            (None, Some(false)) => Some(format!("quietcore plan --cpus {}", self.requested)),
            (None, _) => Some(format!("quietcore boot set --cpus {}", self.requested)),
        }
    }

    /// What would be requested, and whether it changes an active partition. `None` if the CPUs are spread over several
    /// partitions, or if theirs has this profile or a higher one.
    fn with_profile(&self, profile: Profile) -> Option<(Intent, bool)> {
        let mut inside = self
            .in_force
            .iter()
            .filter(|intent| intent.cpus.intersects(&self.requested));
        match (inside.next(), inside.next()) {
            (None, _) => {
                let name = PartitionName::default();
                Some((Intent::new(name, self.requested.clone(), profile), false))
            }
            (Some(active), None) if self.requested.is_subset(&active.cpus) && active.profile < profile => {
                let profile = Intent {
                    profile,
                    ..active.clone()
                };
                Some((profile, true))
            }
            _ => None,
        }
    }
}
