//! Cells: every combination of one level of each axis, and which of them are worth comparing.

use crate::file::{Axes, Context, Isolation, PARTITION};
use crate::{Study, StudyError};
use machine::CpuSet;
use measure::load::LoadKind;
use plan::{Intent, PartitionName, Profile, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// So many cells may a study have.
pub const MOST_CELLS: usize = 256;

/// So many runs: repetitions of all cells.
pub const MOST_RUNS: usize = 10_000;

/// So many letters may the name of an isolation have: `without_` and the longest name of a knob are fewer.
const LONGEST_NAME: usize = 40;

/// One thing that differs between cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `isolation`, `load`, or the name of a knob.
    pub name: String,
    /// The words of its levels, each once.
    pub levels: Vec<String>,
}

/// One combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name, which is that of its directory: the levels with `-` between them, which no level holds.
    pub name: String,
    /// The place of its level in each axis, in the order of [`crate::Study::axes`].
    pub levels: Vec<usize>,
    /// What is applied, without CPUs; `None` where nothing is.
    pub intent: Option<Intent>,
    /// The load that runs beside the measurement; nothing when idle.
    pub load: Vec<LoadKind>,
}

impl Study {
    /// The words of a cell's levels, by axis.
    #[must_use]
    pub fn levels_of(&self, cell: &Cell) -> BTreeMap<String, String> {
        let words = self.axes.iter().zip(&cell.levels);
        let word =
            |(axis, level): (&Axis, &usize)| Some((axis.name.clone(), axis.levels.get(*level)?.clone()));
        words.filter_map(word).collect()
    }
}

/// Two cells that differ in one axis alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The place of that axis.
    pub axis: usize,
    /// The place of the cell with the earlier level.
    pub first: usize,
    /// That of the other one.
    pub other: usize,
}

/// Every two cells that differ in one axis alone: by axis, then in the order of the cells.
#[must_use]
pub fn pairs(axes: &[Axis], cells: &[Cell]) -> Vec<Pair> {
    let mut found = Vec::new();
    for axis in 0..axes.len() {
        for (first, one) in cells.iter().enumerate() {
            for (other, two) in cells.iter().enumerate().skip(first + 1) {
                let differing = |(place, (a, b)): (usize, (&usize, &usize))| (a != b).then_some(place);
                let mut where_apart = one
                    .levels
                    .iter()
                    .zip(&two.levels)
                    .enumerate()
                    .filter_map(differing);
                if where_apart.next() == Some(axis) && where_apart.next().is_none() {
                    found.push(Pair { axis, first, other });
                }
            }
        }
    }
    found
}

/// A knob that is an axis: its name, and how it is taken.
struct Switch<'a> {
    name: &'static str,
    taken: &'a str,
    line: usize,
}

/// The axes and their product.
pub(crate) fn product(axes: &Axes, context: &Context) -> Result<(Vec<Axis>, Vec<Cell>), StudyError> {
    unused(axes, context)?;
    let isolations = levels(axes.isolation.as_ref(), "isolation", "none", context)?;
    let loads = levels(axes.load.as_ref(), "load", "idle", context)?;
    let knobs = switches(axes.knob.as_ref(), context)?;
    let switched = u32::try_from(knobs.len())
        .ok()
        .and_then(|knobs| 2_usize.checked_pow(knobs));
    let count =
        switched.and_then(|switched| switched.checked_mul(isolations.len())?.checked_mul(loads.len()));
    match count {
        Some(0 | 1) => {
            let next = "give [axes] two levels or more: isolation = [\"none\", \"balanced\"]";
            return Err(StudyError::new(
                0,
                "one cell alone cannot be compared with anything",
                next,
            ));
        }
        Some(count) if count <= MOST_CELLS => {}
        _ => {
            let count = count.map_or_else(|| "too many".to_owned(), |count| count.to_string());
            let what = format!("the axes make {count} cells; {MOST_CELLS} are the most");
            return Err(StudyError::new(
                0,
                what,
                "take levels or knobs out of [axes]: each knob doubles the cells",
            ));
        }
    }
    let loads: Vec<(String, Vec<LoadKind>)> = loads
        .into_iter()
        .map(|(word, line)| Ok((word.clone(), load(&word, line)?)))
        .collect::<Result<_, StudyError>>()?;
    refuse_same_load(&loads, axes, context)?;
    let mut cells: Vec<Cell> = Vec::new();
    for (place, (word, line)) in isolations.iter().enumerate() {
        for setting in 0..(1_usize << knobs.len()) {
            // The first knob is the slowest, as everywhere in the product.
            let is_on = |knob: usize| setting >> (knobs.len() - 1 - knob) & 1 == 1;
            let intent = intent(word, *line, &knobs, &is_on, context)?;
            if let Some(same) = cells
                .iter()
                .find(|cell| cell.intent == intent && cell.levels.first() != Some(&place))
            {
                let before = same.levels.first().and_then(|place| isolations.get(*place));
                let before = before.map_or("another level", |(word, _)| word);
                let what = format!("`{word}` is the same isolation as `{before}`");
                return Err(StudyError::new(*line, what, "take one of them out"));
            }
            for (load_place, (load_word, kinds)) in loads.iter().enumerate() {
                let mut name = format!("{word}-{load_word}");
                let mut levels = vec![place, load_place];
                for (knob, switch) in knobs.iter().enumerate() {
                    name.push_str(&format!(
                        "-{}.{}",
                        switch.name,
                        if is_on(knob) { "on" } else { "off" }
                    ));
                    levels.push(usize::from(is_on(knob)));
                }
                cells.push(Cell {
                    name,
                    levels,
                    intent: intent.clone(),
                    load: kinds.clone(),
                });
            }
        }
    }
    let words = |levels: Vec<String>, name: &str| Axis {
        name: name.to_owned(),
        levels,
    };
    let mut all = vec![
        words(
            isolations.into_iter().map(|(word, _)| word).collect(),
            "isolation",
        ),
        words(loads.into_iter().map(|(word, _)| word).collect(), "load"),
    ];
    all.extend(
        knobs
            .iter()
            .map(|knob| words(vec!["off".to_owned(), "on".to_owned()], knob.name)),
    );
    Ok((all, cells))
}

/// The words of an axis with their lines; the usual one where the axis is not there.
fn levels(
    said: Option<&Spanned<Vec<Spanned<String>>>>,
    axis: &str,
    usual: &str,
    context: &Context,
) -> Result<Vec<(String, usize)>, StudyError> {
    let Some(said) = said else {
        return Ok(vec![(usual.to_owned(), 0)]);
    };
    if said.get_ref().is_empty() {
        let what = format!("the axis `{axis}` has no level");
        let next = format!("give it some, or leave it out, which is [\"{usual}\"]");
        return Err(StudyError::new(context.line(&said.span()), what, next));
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for word in said.get_ref() {
        let line = context.line(&word.span());
        let word = word.get_ref();
        if found.iter().any(|(known, _)| known == word) {
            let what = format!("`{word}` is there twice");
            return Err(StudyError::new(line, what, "name every level once"));
        }
        found.push((word.clone(), line));
    }
    Ok(found)
}

fn switches<'a>(
    said: Option<&'a Spanned<Vec<Spanned<String>>>>,
    context: &Context,
) -> Result<Vec<Switch<'a>>, StudyError> {
    let mut found: Vec<Switch> = Vec::new();
    for knob in said.map(Spanned::get_ref).into_iter().flatten() {
        let line = context.line(&knob.span());
        let taken = knob.get_ref().as_str();
        let mut tried = empty_intent(Profile::default());
        tried.take(taken).map_err(|refusal| refused(line, &refusal))?;
        // `take` has refused those that there are not.
        let Some(knob) = plan::knobs::knob(taken.split_once('=').map_or(taken, |(name, _)| name)) else {
            continue;
        };
        let name = knob.name;
        // Off is left out, which some cannot be.
        empty_intent(Profile::default())
            .leave_out(name)
            .map_err(|refusal| refused(line, &refusal))?;
        if found.iter().any(|known| known.name == name) {
            let next = "name every knob once; two values of one are two isolations: [isolation.NAME] with = [\"KNOB=VALUE\"]";
            return Err(StudyError::new(line, format!("`{name}` is there twice"), next));
        }
        found.push(Switch { name, taken, line });
    }
    if let Some(said) = said.filter(|said| said.get_ref().is_empty()) {
        let line = context.line(&said.span());
        return Err(StudyError::new(
            line,
            "the axis `knob` has no level",
            "name a knob, or leave it out",
        ));
    }
    Ok(found)
}

fn empty_intent(profile: Profile) -> Intent {
    let name = PartitionName::new(PARTITION).unwrap_or_default();
    Intent::new(name, CpuSet::new(), profile)
}

fn intent(
    word: &str,
    line: usize,
    knobs: &[Switch],
    is_on: &dyn Fn(usize) -> bool,
    context: &Context,
) -> Result<Option<Intent>, StudyError> {
    let Some(mut intent) = isolation(word, line, context)? else {
        return match knobs.first() {
            None => Ok(None),
            Some(knob) => Err(StudyError::new(
                knob.line,
                format!(
                    "`none` isolates nothing, so there is no cell with `{}` and without isolation",
                    knob.name
                ),
                "take `none` out of the axis `isolation`, or make the knob a part of named ones ([isolation.NAME])",
            )),
        };
    };
    for (place, knob) in knobs.iter().enumerate() {
        let taken = match is_on(place) {
            true => intent.take(knob.taken),
            false => intent.leave_out(knob.name),
        };
        taken.map_err(|refusal| refused(knob.line, &refusal))?;
    }
    Ok(Some(intent))
}

/// What a word of the axis `isolation` stands for.
fn isolation(word: &str, line: usize, context: &Context) -> Result<Option<Intent>, StudyError> {
    let named = context.isolations.iter().find(|(name, _)| name.get_ref() == word);
    if let Some((_, named)) = named {
        return named_isolation(named, context).map(Some);
    }
    Ok(Some(empty_intent(match word {
        "none" => return Ok(None),
        "minimal" => Profile::Minimal,
        "balanced" => Profile::Balanced,
        "strict" => Profile::Strict,
        "isolcpus" | "both" | "nohz_full" | "boot" => {
            let what = format!("`{word}` needs a reboot, which study does not do yet");
            let next =
                "leave it out; a study that runs on a machine booted so, with another --out, measures it";
            return Err(StudyError::new(line, what, next));
        }
        _ => {
            let what = format!("there is no isolation `{word}`");
            let next = "write none, minimal, balanced or strict, or describe it: [isolation.NAME] with profile, with, without";
            return Err(StudyError::new(line, what, next));
        }
    })))
}

fn named_isolation(named: &Isolation, context: &Context) -> Result<Intent, StudyError> {
    let mut intent = empty_intent(named.profile);
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
    Ok(intent)
}

/// Names of isolations that mean something already or make no directory, and those that no cell uses.
fn unused(axes: &Axes, context: &Context) -> Result<(), StudyError> {
    const TAKEN: [&str; 8] = [
        "none",
        "minimal",
        "balanced",
        "strict",
        "isolcpus",
        "both",
        "nohz_full",
        "boot",
    ];
    for name in context.isolations.keys() {
        let (line, name) = (context.line(&name.span()), name.get_ref());
        if TAKEN.contains(&name.as_str()) {
            let what = format!("`{name}` has a meaning already");
            return Err(StudyError::new(line, what, "give the isolation another name"));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
            let what = format!("`{name}` cannot be a part of a directory's name here");
            return Err(StudyError::new(
                line,
                what,
                format!("use letters, digits and _, at most {LONGEST_NAME}"),
            ));
        }
        let levels = axes
            .isolation
            .as_ref()
            .map(Spanned::get_ref)
            .into_iter()
            .flatten();
        if !levels.into_iter().any(|level| level.get_ref() == name) {
            let what = format!("no cell has the isolation `{name}`");
            return Err(StudyError::new(
                line,
                what,
                "name it in the axis `isolation`, or take it out",
            ));
        }
    }
    Ok(())
}

/// `idle`, or kinds of load with `+` between them.
fn load(word: &str, line: usize) -> Result<Vec<LoadKind>, StudyError> {
    if word == "idle" {
        return Ok(Vec::new());
    }
    let mut kinds = BTreeSet::new();
    for part in word.split('+') {
        let Some(kind) = LoadKind::ALL.into_iter().find(|kind| kind.name() == part) else {
            let all: Vec<&str> = LoadKind::ALL.iter().map(|kind| kind.name()).collect();
            let next = format!("write idle, or some of {} with + between them", all.join(", "));
            return Err(StudyError::new(line, format!("there is no load `{part}`"), next));
        };
        if !kinds.insert(kind) {
            let what = format!("`{part}` is there twice in `{word}`");
            return Err(StudyError::new(line, what, "name every kind once"));
        }
    }
    Ok(kinds.into_iter().collect())
}

/// `cpu+io` and `io+cpu` are one load under two names.
fn refuse_same_load(
    loads: &[(String, Vec<LoadKind>)],
    axes: &Axes,
    context: &Context,
) -> Result<(), StudyError> {
    for (place, (word, kinds)) in loads.iter().enumerate() {
        let Some((before, _)) = loads.iter().take(place).find(|(_, other)| other == kinds) else {
            continue;
        };
        let line = axes.load.as_ref().map_or(0, |said| context.line(&said.span()));
        let what = format!("`{word}` is the same load as `{before}`");
        return Err(StudyError::new(line, what, "take one of them out"));
    }
    Ok(())
}

/// A refusal in the words of the file.
fn refused(line: usize, refusal: &Refusal) -> StudyError {
    let said = refusal.to_string();
    let mut lines = said.lines();
    let what = lines.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = lines.collect();
    StudyError::new(line, what, rest.join("; "))
}
