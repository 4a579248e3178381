//! Writes declarations: appends a partition to a file and keeps everything else as it is.

use super::{ActivationMode, BootPart, CpuSpec, Declaration, DeclarationError, parse};
use crate::choose::kind_word;
use crate::{PartitionName, PlacementShape, Profile};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

/// The head of a new file, above the first partition.
const HEAD: &str = "# The partitions of this machine: `quietcore apply` activates them, `quietcore explain KNOB` describes the knobs\n\
     # that `with` and `without` accept.\n\n";

/// The text with one more declaration, or with the boot line added to an existing one; `None` if the text already
/// contains all of it.
///
/// # Errors
/// A text that does not parse, or that declares the name or the CPUs differently.
pub fn add(text: &str, new: &Declaration) -> Result<Option<String>, DeclarationError> {
    let there = parse(text.as_bytes())?;
    if let Some(other) = there.iter().find(|other| other.name() == new.name()) {
        if other.is_equivalent(new) {
            let says_more = new.boot == BootPart::OnLine && other.boot == BootPart::Unspecified;
            return match says_more {
                true => set_boot_flag(text, &[new.name().clone()]),
                false => Ok(None),
            };
        }
        return Err(DeclarationError::new(
            other.line,
            format!("partition {} is already declared with other settings", new.name()),
            "change or remove it there, or choose another name with --partition",
        ));
    }
    let text = if text.trim().is_empty() { HEAD } else { text };
    let mut document = document(text)?;
    let head = document.trailing().as_str().unwrap_or_default().to_owned();
    let tables = document
        .entry("partition")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let mut table = table(new);
    match tables {
        Item::ArrayOfTables(tables) => {
            let gap = if head.is_empty() && !tables.is_empty() {
                "\n"
            } else {
                ""
            };
            table.decor_mut().set_prefix(format!("{head}{gap}"));
            tables.push(table);
        }
        // `partition = [{ ... }]`, in one line.
        Item::Value(toml_edit::Value::Array(array)) => array.push(table.into_inline_table()),
        _ => return Err(unreadable("`partition` is not a list of tables")),
    }
    if !head.is_empty() {
        document.set_trailing("");
    }
    let text = document.to_string();
    // The written text must be parsed the same way at boot.
    let same = parse(text.as_bytes())?.iter().any(|one| one.is_equivalent(new));
    match same {
        true => Ok(Some(text)),
        false => Err(unreadable("the new lines would change the meaning of the file")),
    }
}

/// The text with `boot = true` in the partitions with these names; `None` if all of them already have it.
///
/// # Errors
/// A text that does not parse, or that does not name the CPUs of one.
pub fn set_boot_flag(text: &str, names: &[PartitionName]) -> Result<Option<String>, DeclarationError> {
    let there = parse(text.as_bytes())?;
    let is_selected = |one: &Declaration| names.contains(one.name()) && one.boot != BootPart::OnLine;
    let places: Vec<usize> = there
        .iter()
        .enumerate()
        .filter(|(_, one)| is_selected(one))
        .map(|(place, _)| place)
        .collect();
    if places.is_empty() {
        return Ok(None);
    }
    let mut document = document(text)?;
    for place in places {
        match document.get_mut("partition") {
            Some(Item::ArrayOfTables(tables)) => {
                if let Some(table) = tables.get_mut(place) {
                    table["boot"] = value(true);
                }
            }
            Some(Item::Value(toml_edit::Value::Array(array))) => {
                let table = array.get_mut(place).and_then(toml_edit::Value::as_inline_table_mut);
                if let Some(table) = table {
                    table.insert("boot", true.into());
                }
            }
            _ => {}
        }
    }
    let text = document.to_string();
    // The parser decides, also about a partition whose CPUs are chosen.
    match parse(text.as_bytes())?.iter().any(is_selected) {
        false => Ok(Some(text)),
        true => Err(unreadable("the file would not be valid with `boot = true` added")),
    }
}

fn document(text: &str) -> Result<DocumentMut, DeclarationError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| unreadable(error.message()))
}

fn unreadable(what: &str) -> DeclarationError {
    DeclarationError::new(0, what, "correct the file by hand")
}

fn table(new: &Declaration) -> Table {
    let mut table = Table::new();
    table["name"] = value(new.name().as_str());
    match &new.cpus {
        CpuSpec::Named(cpus) => table["cpus"] = value(cpus.as_str()),
        CpuSpec::Chosen {
            count,
            near,
            shape,
            kind,
            keep,
        } => {
            if let Some(count) = count {
                table["count"] = value(i64::try_from(*count).unwrap_or(i64::MAX));
            }
            if let Some(near) = near {
                table["near"] = value(near.as_str());
            }
            if *shape == PlacementShape::Spread {
                table["shape"] = value("spread");
            }
            if let Some(kind) = kind {
                table["kind"] = value(kind_word(*kind));
            }
            if let Some(keep) = keep {
                table["keep"] = value(keep.as_str());
            }
        }
    }
    let profile = match new.template.profile {
        Profile::Minimal => Some("minimal"),
        Profile::Balanced => None,
        Profile::Strict => Some("strict"),
    };
    if let Some(profile) = profile {
        table["profile"] = value(profile);
    }
    let with = new.template.with.iter().map(|(knob, value)| match value {
        Some(value) => format!("{knob}={value}"),
        None => knob.clone(),
    });
    list(&mut table, "with", with);
    list(&mut table, "without", new.template.without.iter().cloned());
    list(&mut table, "irq_here", new.template.irq_here.iter().cloned());
    if let Some(owner) = &new.owner {
        table["owner"] = value(owner.as_str());
    }
    if new.restored_at_boot == ActivationMode::ByHand {
        table["at_boot"] = value(false);
    }
    match new.boot {
        BootPart::Unspecified => {}
        BootPart::OnLine => table["boot"] = value(true),
        BootPart::RunTimeOnly => table["boot"] = value(false),
    }
    table
}

fn list(table: &mut Table, key: &str, words: impl Iterator<Item = String>) {
    let array: Array = words.collect();
    if !array.is_empty() {
        table[key] = value(array);
    }
}
