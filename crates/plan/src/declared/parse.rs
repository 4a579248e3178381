//! Parses declarations. Every error gives its line.

use super::{
    ActivationMode, BootPart, CpuSpec, Declaration, DeclarationError, MOST_BYTES, PoolSettings, WatchSettings,
};
use crate::words::did_you_mean;
use crate::{Intent, KnobRefusal, PartitionName, PlacementShape, PlanRefusal, Profile};
use machine::{CoreKind, CpuSet};
use root::Failure;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// The keys of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclarationDocument {
    #[serde(default)]
    partition: Vec<Spanned<PartitionSection>>,
    pool: Option<Spanned<PoolSettings>>,
    #[serde(default)]
    watch: WatchSettings,
}

/// The keys of a partition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionSection {
    name: Option<Spanned<String>>,
    cpus: Option<Spanned<String>>,
    count: Option<Spanned<usize>>,
    near: Option<Spanned<String>>,
    shape: Option<Spanned<Arrangement>>,
    kind: Option<Spanned<CoreKind>>,
    keep: Option<Spanned<String>>,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    with: Vec<Spanned<String>>,
    #[serde(default)]
    without: Vec<Spanned<String>>,
    #[serde(default)]
    irq_here: Vec<Spanned<String>>,
    owner: Option<Spanned<String>>,
    at_boot: Option<bool>,
    boot: Option<Spanned<bool>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Arrangement {
    Pack,
    Spread,
}

/// The declarations of a file, in their order.
///
/// # Errors
/// The first error, with its line.
pub fn parse(bytes: &[u8]) -> Result<Vec<Declaration>, DeclarationError> {
    both(bytes).map(|(declared, _)| declared)
}

/// The pool of a file; `None` if it declares none.
///
/// # Errors
/// As [`parse`], for the whole file.
pub fn pool(bytes: &[u8]) -> Result<Option<PoolSettings>, DeclarationError> {
    both(bytes).map(|(_, pool)| pool)
}

fn both(bytes: &[u8]) -> Result<(Vec<Declaration>, Option<PoolSettings>), DeclarationError> {
    let (text, document) = document(bytes)?;
    let mut declared: Vec<Declaration> = Vec::new();
    let (mut lines, mut taken) = (Lines::default(), PriorClaims::default());
    for table in &document.partition {
        let line = lines.of(text, &table.span());
        let next = declaration(text, line, table.get_ref())?;
        if taken.has_any_of(&next) {
            refuse_twice(&declared, &next)?;
        }
        taken.add(&next);
        declared.push(next);
    }
    let pool = document.pool.map(|table| {
        let line = line_of(text, &table.span());
        let pool = table.into_inner().checked(line)?;
        refuse_leased(&declared, &pool, line)?;
        Ok(pool)
    });
    Ok((declared, pool.transpose()?))
}

/// The settings of a file for `watch --daemon`; a missing one is as in [`WatchSettings::default`].
///
/// # Errors
/// As [`parse`], for the whole file: a file that is only partly valid is refused.
pub fn watching(bytes: &[u8]) -> Result<WatchSettings, DeclarationError> {
    parse(bytes)?;
    let (_, document) = document(bytes)?;
    document.watch.checked()
}

fn document(bytes: &[u8]) -> Result<(&str, DeclarationDocument), DeclarationError> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(DeclarationError::new(
            0,
            format!("the file has more than {MOST_BYTES} bytes"),
            "it should contain a few lines for each partition; choose another file with --config",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        DeclarationError::new(
            line_ends(before) + 1,
            "it contains a byte that is not UTF-8 text",
            "write the file as plain text",
        )
    })?;
    let document = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(text, &span));
        let message = error.message().trim().replace('\n', "; ");
        let next = meant(&message).unwrap_or_else(|| keys().to_owned());
        DeclarationError::new(line, message, next)
    })?;
    Ok((text, document))
}

/// For "unknown field `cpu`, expected one of `name`, `cpus`": the words that may be meant.
fn meant(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.starts_with("unknown "))?;
    did_you_mean(unknown, quoted)
}

fn keys() -> &'static str {
    "a partition is `[[partition]]` with name, cpus (or count, near, shape, kind, keep), profile, with, without, \
     irq_here, owner, at_boot, boot; `[pool]` has cpus, profile, reserve; `[watch]` has alert, webhook, journal, repair, ignore, level, \
     listen, listen_openly, textfile, textfile_every_s, results"
}

fn declaration(text: &str, line: usize, table: &PartitionSection) -> Result<Declaration, DeclarationError> {
    let name = match &table.name {
        None => PartitionName::default(),
        Some(name) => PartitionName::new(name.get_ref()).map_err(|refusal| refused(text, name, &refusal))?,
    };
    let mut template = Intent::new(name, CpuSet::new(), table.profile);
    for knob in &table.with {
        template
            .take(knob.get_ref())
            .map_err(|refusal| refused(text, knob, &refusal))?;
    }
    for knob in &table.without {
        template
            .leave_out(knob.get_ref())
            .map_err(|refusal| refused(text, knob, &refusal))?;
    }
    for pattern in &table.irq_here {
        if template.without.contains("irq_affinity") {
            let twice = PlanRefusal::from(KnobRefusal::Twice { knob: "irq_affinity" });
            return Err(refused(text, pattern, &twice));
        }
        if pattern.get_ref().is_empty() {
            let nothing = DeclarationError::new(
                line_of(text, &pattern.span()),
                "an empty text matches no interrupt",
                "write the number of an interrupt or its name, with * as a wildcard",
            );
            return Err(nothing);
        }
        template.irq_here.insert(pattern.get_ref().clone());
    }
    Ok(Declaration {
        template,
        cpus: cpu_request(text, table)?,
        owner: table.owner.as_ref().map(|owner| owner.get_ref().clone()),
        in_place: None,
        restored_at_boot: match table.at_boot {
            Some(false) => ActivationMode::ByHand,
            _ => ActivationMode::AtBoot,
        },
        boot: boot_part(text, table)?,
        line,
    })
}

/// The boot line is read before CPUs can be chosen.
fn boot_part(text: &str, table: &PartitionSection) -> Result<BootPart, DeclarationError> {
    match table.boot.as_ref().map(|boot| (*boot.get_ref(), boot.span())) {
        None => Ok(BootPart::Unspecified),
        Some((false, _)) => Ok(BootPart::RunTimeOnly),
        Some((true, span)) if table.cpus.is_none() => Err(DeclarationError::new(
            line_of(text, &span),
            "`boot = true` needs `cpus`: a boot line needs fixed CPUs",
            "write the CPUs as `cpus = \"2-3\"`, or leave `boot` out",
        )),
        Some((true, _)) => Ok(BootPart::OnLine),
    }
}

fn cpu_request(text: &str, table: &PartitionSection) -> Result<CpuSpec, DeclarationError> {
    let Some(cpus) = &table.cpus else {
        if let Some(count) = table.count.as_ref().filter(|count| *count.get_ref() == 0) {
            let line = line_of(text, &count.span());
            let next = "set the number of CPUs of the partition";
            return Err(DeclarationError::new(line, "it requests no CPU", next));
        }
        let text = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.get_ref().clone());
        return Ok(CpuSpec::Chosen {
            count: table.count.as_ref().map(|count| *count.get_ref()),
            near: text(&table.near),
            shape: match table.shape.as_ref().map(Spanned::get_ref) {
                Some(Arrangement::Spread) => PlacementShape::Spread,
                _ => PlacementShape::Pack,
            },
            kind: table.kind.as_ref().map(|kind| *kind.get_ref()),
            keep: text(&table.keep),
        });
    };
    let others = [
        ("count", table.count.as_ref().map(Spanned::span)),
        ("near", table.near.as_ref().map(Spanned::span)),
        ("shape", table.shape.as_ref().map(Spanned::span)),
        ("kind", table.kind.as_ref().map(Spanned::span)),
        ("keep", table.keep.as_ref().map(Spanned::span)),
    ];
    if let Some((key, span)) = others.into_iter().find_map(|(key, span)| Some((key, span?))) {
        return Err(DeclarationError::new(
            line_of(text, &span),
            format!("`cpus` names the CPUs, so `{key}` has no effect"),
            "keep one of the two",
        ));
    }
    if cpus.get_ref().trim().is_empty() {
        let line = line_of(text, &cpus.span());
        let next = "write a list such as \"2-3\", or leave the key out to let quietcore choose";
        return Err(DeclarationError::new(line, "an empty list isolates nothing", next));
    }
    Ok(CpuSpec::Named(cpus.get_ref().clone()))
}

/// Names and CPUs of all previous partitions, so that a new one is not compared with each of them.
#[derive(Default)]
struct PriorClaims {
    names: BTreeSet<String>,
    cpus: CpuSet,
}

impl PriorClaims {
    fn has_any_of(&self, next: &Declaration) -> bool {
        let is_shared = |cpus: CpuSet| cpus.iter().any(|cpu| self.cpus.contains(cpu));
        self.names.contains(&next.name().to_string()) || plain(next).is_some_and(is_shared)
    }

    fn add(&mut self, next: &Declaration) {
        self.names.insert(next.name().to_string());
        for cpu in plain(next).unwrap_or_default().iter() {
            self.cpus.insert(cpu);
        }
    }
}

/// The CPUs that a declaration names by number.
fn plain(one: &Declaration) -> Option<CpuSet> {
    match &one.cpus {
        CpuSpec::Named(text) => CpuSet::parse_list(text).ok(),
        CpuSpec::Chosen { .. } => None,
    }
}

/// A name belongs to one partition, and so does a CPU. CPUs given by topology words are compared on the machine.
fn refuse_twice(declared: &[Declaration], next: &Declaration) -> Result<(), DeclarationError> {
    for other in declared {
        let (name, line) = (other.name(), other.line);
        if name == next.name() {
            return Err(DeclarationError::new(
                next.line,
                format!("partition {name} is already declared in line {line}"),
                "give one of them another name",
            ));
        }
        let (Some(theirs), Some(ours)) = (plain(other), plain(next)) else {
            continue;
        };
        let both = theirs.and(&ours);
        if !both.is_empty() {
            return Err(DeclarationError::new(
                next.line,
                format!("CPU {both} is already declared for partition {name} in line {line}"),
                "a CPU can be in one partition only: remove it from one of them",
            ));
        }
    }
    Ok(())
}

/// A CPU belongs to the pool or to a partition. CPUs given by topology words are compared on the machine.
fn refuse_leased(declared: &[Declaration], pool: &PoolSettings, line: usize) -> Result<(), DeclarationError> {
    let pool = CpuSet::parse_list(&pool.cpus).unwrap_or_default();
    for one in declared {
        let both = plain(one).unwrap_or_default().and(&pool);
        if !both.is_empty() {
            let (name, other) = (one.name(), one.line);
            return Err(DeclarationError::new(
                line,
                format!("CPU {both} is in the pool and declared for partition {name} in line {other}"),
                "a CPU can be in one of them only: remove it from the other",
            ));
        }
    }
    Ok(())
}

/// A refusal in terms of the file: the line shows which key is meant.
fn refused(text: &str, value: &Spanned<String>, refusal: &PlanRefusal) -> DeclarationError {
    let Failure { what, why, next, .. } = refusal.into();
    let next = match refusal {
        PlanRefusal::Name { .. } | PlanRefusal::Knob(KnobRefusal::Twice { .. }) => why,
        _ => format!("{why}; {next}"),
    };
    DeclarationError::new(line_of(text, &value.span()), what, next)
}

fn line_ends(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// The line, from 1, in which a span of bytes starts.
fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    line_ends(before) + 1
}

/// Lines of positions that are requested in ascending order: the text is scanned once.
#[derive(Default)]
struct Lines {
    seen: usize,
    ends: usize,
}

impl Lines {
    /// The line, from 1, in which a span of bytes starts.
    pub fn of(&mut self, text: &str, span: &Range<usize>) -> usize {
        let Some(new) = text.as_bytes().get(self.seen..span.start) else {
            return line_of(text, span);
        };
        self.ends += line_ends(new);
        self.seen = span.start;
        self.ends + 1
    }
}
