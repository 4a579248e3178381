//! Defines the declaration of a knob. `plan`, `apply`, `explain` and the manual all read this one declaration.

use crate::parameters::ParameterCost;
use crate::{Intent, KnobRefusal, Plan, PlanContext, PlanRefusal, Profile, ReadbackComparison};
use serde::Serialize;

/// One kernel mechanism: what it is and how an intent uses it.
#[derive(Debug)]
pub struct Knob {
    /// Name, in the kernel's spelling if it has one.
    pub name: &'static str,
    /// Other names that users may know.
    pub aliases: &'static [&'static str],
    /// The files that it sets; words in capital letters stand for any number or name (see [`super::files`]).
    pub files: &'static [&'static str],
    /// Files that it only reads, beside those.
    pub reads: &'static [&'static str],
    /// Other files of the mechanism, which `explain` and `diff` know. A plan does not read them.
    pub related: &'static [&'static str],
    /// How values of its files are compared.
    pub compare: ReadbackComparison,
    /// What it is, in a sentence or two.
    pub what: &'static str,
    /// Why the intended values are set: the reason of its changes.
    pub why: &'static str,
    /// Which value isolates, and what that means for isolated CPUs.
    pub isolation: &'static str,
    /// The first kernel with it; empty if older than 4.14.
    pub since: &'static str,
    /// Its requirements, in words for a user who lacks them; empty for nothing special.
    pub needs: &'static str,
    /// When it is used.
    pub usage: KnobUse,
    /// Which values may be requested.
    pub takes: KnobValueKind,
    /// The default value; empty if it depends on the machine.
    pub usual: &'static str,
    /// Why isolation requires it; empty if it does not.
    pub needed: &'static str,
    /// What it costs.
    pub price: ParameterCost,
    /// Names of the interruption classes that it stops.
    pub stops: &'static [&'static str],
    /// What else it does.
    pub side_effects: &'static str,
    /// How to see that it works.
    pub verify: &'static str,
    /// Other tools that set it.
    pub peers: &'static [&'static str],
    /// What a refusal by the kernel means here, by error number (the same on all Linux architectures).
    pub refused: &'static [(i32, &'static str)],
    /// Whether a value isolates as well as the intended one: it is left alone unless another one is explicitly requested.
    pub enough: fn(&str) -> bool,
    /// Adds the changes and findings of an intent.
    pub plan: fn(&Knob, &PlanContext, &mut Plan) -> Presence,
}

/// When a knob is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobUse {
    /// By this profile and those above it.
    From(Profile),
    /// Only by explicit request: it reduces safety, or whether it helps depends on the program.
    ByName,
}

/// Why a knob is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KnobReason {
    /// The profile includes it.
    Profile,
    /// The user named it.
    Name,
}

/// Whether the machine has the mechanism that a knob sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// No such file, or nothing it could apply to.
    #[default]
    Absent,
    /// It exists; whether something has to change is a separate question.
    Here,
}

/// Values for `--with KNOB=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobValueKind {
    /// None: there is one value that isolates.
    Nothing,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number in this range.
    Number(i64, i64),
    /// A number in this range, or this word.
    NumberOr(i64, i64, &'static str),
    /// `UID`, or `UID:GID`.
    Owner,
}

impl KnobValueKind {
    /// Whether a value is acceptable.
    pub(super) fn fits(self, value: &str) -> bool {
        let within = |least, most| {
            // As the kernel parses them: no plus sign, no blank, nothing after the digits.
            let plain = !value.starts_with('+');
            plain
                && value
                    .parse::<i64>()
                    .is_ok_and(|number| (least..=most).contains(&number))
        };
        match self {
            KnobValueKind::Nothing => false,
            KnobValueKind::Words(words) => words.contains(&value),
            KnobValueKind::Number(least, most) => within(least, most),
            KnobValueKind::NumberOr(least, most, word) => value == word || within(least, most),
            KnobValueKind::Owner => owner(value).is_some(),
        }
    }

    /// In words.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            KnobValueKind::Nothing => "no value".to_owned(),
            KnobValueKind::Words(words) => words.join(", "),
            KnobValueKind::Number(least, most) => format!("a number from {least} to {most}"),
            KnobValueKind::NumberOr(least, most, word) => {
                format!("a number from {least} to {most}, or {word}")
            }
            KnobValueKind::Owner => "UID or UID:GID".to_owned(),
        }
    }
}

/// User and group of a value of [`KnobValueKind::Owner`].
pub(super) fn owner(value: &str) -> Option<(u32, Option<u32>)> {
    // For chown, `u32::MAX` means "unchanged".
    let number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|&id| plain && id != u32::MAX)
    };
    match value.split_once(':') {
        None => Some((number(value)?, None)),
        Some((uid, gid)) => Some((number(uid)?, Some(number(gid)?))),
    }
}

impl Knob {
    /// Its first file.
    pub(super) fn file(&self) -> &'static str {
        self.files.first().copied().unwrap_or_default()
    }

    /// Whether this is its name, an alias, or one of its files.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name) || self.files.contains(&name)
    }

    /// Checks a requested value; `None` requests the default.
    ///
    /// # Errors
    /// [`KnobRefusal::ValueConversion`].
    pub fn check(&self, value: Option<&str>) -> Result<(), PlanRefusal> {
        let Some(value) = value else { return Ok(()) };
        let is_usual = !self.usual.is_empty() && value == self.usual;
        if is_usual || self.takes.fits(value) {
            return Ok(());
        }
        let takes = match (self.takes, self.usual) {
            (KnobValueKind::Nothing, usual) if !usual.is_empty() => format!("only the value {usual}"),
            (takes, _) => takes.text(),
        };
        Err(KnobRefusal::Value {
            knob: self.name,
            value: value.chars().take(40).collect(),
            takes,
        }
        .into())
    }

    /// Why an intent uses a knob; `None` if it does not.
    pub(crate) fn because(&self, intent: &Intent) -> Option<KnobReason> {
        if intent.with.contains_key(self.name) {
            return Some(KnobReason::Name);
        }
        let in_profile = matches!(self.usage, KnobUse::From(profile) if profile <= intent.profile);
        (in_profile && !intent.without.contains(self.name)).then_some(KnobReason::Profile)
    }

    /// What a refusal with this error number means here.
    #[must_use]
    pub fn refusal(&self, errno: i32) -> Option<&'static str> {
        self.refused
            .iter()
            .find(|(number, _)| *number == errno)
            .map(|(_, words)| *words)
    }
}

impl PlanContext<'_> {
    /// The explicitly requested value, else the default.
    #[must_use]
    pub fn value_of(&self, knob: &Knob) -> &str {
        let requested = self.intent.with.get(knob.name).and_then(Option::as_deref);
        requested.unwrap_or(knob.usual)
    }

    /// Whether a value was explicitly requested, so that it is set whatever the current one is.
    pub(super) fn is_requested(&self, knob: &Knob) -> bool {
        self.intent.with.get(knob.name).is_some_and(Option::is_some)
    }
}

/// Error numbers that knobs explain.
pub(super) const EPERM: i32 = 1;
pub(super) const EIO: i32 = 5;
pub(super) const EACCES: i32 = 13;
pub(super) const EBUSY: i32 = 16;
pub(super) const EINVAL: i32 = 22;
pub(super) const ENOSPC: i32 = 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_values_fit_a_knob() {
        let check = |takes: KnobValueKind, value: &str, fits: bool| {
            assert_eq!(takes.fits(value), fits, "{takes:?} {value}");
        };
        check(KnobValueKind::Nothing, "1", false);
        check(KnobValueKind::Nothing, "", false);
        check(KnobValueKind::Words(&["a", "b"]), "b", true);
        check(KnobValueKind::Words(&["a", "b"]), "", false);
        check(KnobValueKind::Number(-1, 9), "-1", true);
        for wrong in ["-2", "10", "+1", " 1", "1 ", "0x1", "1e1", "99999999999999999999"] {
            check(KnobValueKind::Number(-1, 9), wrong, false);
        }
        check(KnobValueKind::NumberOr(0, 9, "n/a"), "n/a", true);
        for (value, fits) in [("0", true), ("1000:29", true), ("4294967295", false), ("ana", false)] {
            check(KnobValueKind::Owner, value, fits);
        }
        for wrong in ["", ":", "1:", ":1", "+1", "-1", "1:2:3", " 1", "99999999999"] {
            check(KnobValueKind::Owner, wrong, false);
        }
        let knob = Knob {
            usual: "0",
            ..Knob::PLAIN
        };
        assert!(knob.check(None).is_ok() && knob.check(Some("0")).is_ok() && knob.check(Some("1")).is_err());
    }
}
