//! Levels of the axes `isolation` and `knob`: what is applied at run time, and what must be on the boot line.

use crate::boots::{CPUS, boot_words};
use crate::document::{Axes, NamedIsolation, ParseContext, PartitionChoice, StudyError};
use crate::levels::refused;
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};
use toml::Spanned;

/// The name of the partition that a study makes for a cell.
pub const PARTITION: &str = "study";

/// Maximum length of an isolation's name: `without_` and the longest name of a knob are shorter.
const LONGEST_NAME: usize = 40;

/// Predefined isolations.
const READY: [&str; 6] = [
    "none",
    "minimal",
    "balanced",
    "strict",
    "isolcpus",
    "isolcpus_and_cpuset",
];

/// How a level isolates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IsolationMethod {
    /// The partition; `None` where it makes none.
    pub intent: Option<Intent>,
    /// Words for the boot line.
    pub boot: Vec<String>,
}

/// The method of a level, with the knobs of the axis `knob` added or left out.
pub(crate) fn method(
    word: &str,
    line: usize,
    knobs: &[KnobAxis],
    is_on: &dyn Fn(usize) -> bool,
    context: &ParseContext,
) -> Result<IsolationMethod, StudyError> {
    let mut method = isolation(word, line, context)?;
    let Some(intent) = &mut method.intent else {
        let what_it_is = match word {
            "none" => "`none` isolates nothing".to_owned(),
            _ => format!("`{word}` creates no partition"),
        };
        return match knobs.first() {
            None => Ok(method),
            Some(knob) => Err(StudyError::new(
                knob.line,
                format!(
                    "{what_it_is}, so there is no cell with `{}` and without isolation",
                    knob.name
                ),
                format!(
                    "remove `{word}` from the axis `isolation`, or make the knob part of named ones ([isolation.NAME])"
                ),
            )),
        };
    };
    for (place, knob) in knobs.iter().enumerate() {
        let taken = match is_on(place) {
            true => intent.take(knob.with_text),
            false => intent.leave_out(knob.name),
        };
        taken.map_err(|refusal| refused(knob.line, &refusal))?;
    }
    Ok(method)
}

/// An intent of this profile, without CPUs.
pub(crate) fn empty_intent(profile: Profile) -> Intent {
    let name = PartitionName::new(PARTITION).unwrap_or_default();
    Intent::new(name, CpuSet::new(), profile)
}

/// Rejects names of isolations that are predefined, that cannot name a directory, or that no cell uses.
pub(crate) fn unused(axes: &Axes, context: &ParseContext) -> Result<(), StudyError> {
    for name in context.isolations.keys() {
        let (line, name) = (context.line(&name.span()), name.get_ref());
        if READY.contains(&name.as_str()) {
            let what = format!("`{name}` already has a meaning");
            return Err(StudyError::new(line, what, "give the isolation another name"));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
            let what = format!("`{name}` cannot be part of a directory name");
            return Err(StudyError::new(
                line,
                what,
                format!("use letters, digits and _, at most {LONGEST_NAME}"),
            ));
        }
        let levels = axes.isolation.as_ref().map(Spanned::get_ref).into_iter().flatten();
        if !levels.into_iter().any(|level| level.get_ref() == name) {
            let what = format!("no cell has the isolation `{name}`");
            return Err(StudyError::new(
                line,
                what,
                "add it to the axis `isolation`, or remove it",
            ));
        }
    }
    Ok(())
}

/// The method of a value of the axis `isolation`.
fn isolation(word: &str, line: usize, context: &ParseContext) -> Result<IsolationMethod, StudyError> {
    let named = context.isolations.iter().find(|(name, _)| name.get_ref() == word);
    if let Some((name, named)) = named {
        return named_isolation(context.line(&name.span()), word, named, context);
    }
    let isolcpus = || vec![format!("isolcpus={CPUS}")];
    let (profile, boot) = match word {
        "none" => (None, Vec::new()),
        "minimal" => (Some(Profile::Minimal), Vec::new()),
        "balanced" => (Some(Profile::Balanced), Vec::new()),
        "strict" => (Some(Profile::Strict), Vec::new()),
        "isolcpus" => (None, isolcpus()),
        // The bare partition: the effect of other settings would be attributed to the combination.
        "isolcpus_and_cpuset" => (Some(Profile::Minimal), isolcpus()),
        _ => {
            let what = format!("there is no isolation `{word}`");
            let next = format!(
                "write one of {}, or describe it: [isolation.NAME] with profile, with, without, boot",
                READY.join(", ")
            );
            return Err(StudyError::new(line, what, next));
        }
    };
    Ok(IsolationMethod {
        intent: profile.map(empty_intent),
        boot,
    })
}

fn named_isolation(
    line: usize,
    name: &str,
    named: &NamedIsolation,
    context: &ParseContext,
) -> Result<IsolationMethod, StudyError> {
    let boot = boot_words(&named.boot, context)?;
    let profile = match named.profile {
        // Boot words may be meant alone or beside a partition; there is no obvious default.
        None if !boot.is_empty() => {
            let what = format!("`{name}` has `boot`, but no profile for the partition");
            let next = "write profile = \"none\" for the boot line only, or minimal, balanced or strict";
            return Err(StudyError::new(line, what, next));
        }
        None => Some(Profile::default()),
        Some(PartitionChoice::None) => None,
        Some(PartitionChoice::Minimal) => Some(Profile::Minimal),
        Some(PartitionChoice::Balanced) => Some(Profile::Balanced),
        Some(PartitionChoice::Strict) => Some(Profile::Strict),
    };
    let Some(profile) = profile else {
        return match named.with.iter().chain(&named.without).next() {
            Some(knob) => Err(StudyError::new(
                context.line(&knob.span()),
                format!("`{name}` creates no partition, so it has no knobs"),
                "remove `with` and `without` from it, or set a profile",
            )),
            None => Ok(IsolationMethod { intent: None, boot }),
        };
    };
    let mut intent = empty_intent(profile);
    for knob in &named.with {
        intent
            .take(knob.get_ref())
            .map_err(|refusal| refused(context.line(&knob.span()), &refusal))?;
    }
    for knob in &named.without {
        intent
            .leave_out(knob.get_ref())
            .map_err(|refusal| refused(context.line(&knob.span()), &refusal))?;
    }
    Ok(IsolationMethod {
        intent: Some(intent),
        boot,
    })
}

/// A knob that is an axis: its name, and its text in the syntax of `--with`.
pub(crate) struct KnobAxis<'a> {
    pub name: &'static str,
    pub with_text: &'a str,
    pub line: usize,
}

/// The knobs of the axis, without duplicates.
pub(crate) fn switches<'a>(
    knobs: Option<&'a Spanned<Vec<Spanned<String>>>>,
    context: &ParseContext,
) -> Result<Vec<KnobAxis<'a>>, StudyError> {
    let mut found: Vec<KnobAxis> = Vec::new();
    for knob in knobs.map(Spanned::get_ref).into_iter().flatten() {
        let line = context.line(&knob.span());
        let taken = knob.get_ref().as_str();
        let mut tried = empty_intent(Profile::default());
        tried.take(taken).map_err(|refusal| refused(line, &refusal))?;
        // `take` has already refused unknown knobs.
        let Some(knob) = plan::knobs::knob(taken.split_once('=').map_or(taken, |(name, _)| name)) else {
            continue;
        };
        let name = knob.name;
        // "Off" leaves the knob out, which some knobs do not allow.
        empty_intent(Profile::default())
            .leave_out(name)
            .map_err(|refusal| refused(line, &refusal))?;
        if found.iter().any(|known| known.name == name) {
            let next =
                "list every knob once; for two values, write two isolations: [isolation.NAME] with = [\"KNOB=VALUE\"]";
            return Err(StudyError::new(line, format!("`{name}` is listed twice"), next));
        }
        found.push(KnobAxis {
            name,
            with_text: taken,
            line,
        });
    }
    if let Some(knobs) = knobs.filter(|message| message.get_ref().is_empty()) {
        let line = context.line(&knobs.span());
        return Err(StudyError::new(
            line,
            "the axis `knob` has no level",
            "add a knob, or leave the axis out",
        ));
    }
    Ok(found)
}
