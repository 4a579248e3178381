//! Parses the description of one event: the file `events/SYSTEM/EVENT/format`.

use crate::error::FormatError;
use crate::field::{Field, FieldShape};

/// Longest description that is read. The longest of a real kernel (`kvm`, `drm`) has some tens of kilobytes.
const LONGEST: usize = 1 << 20;

/// An event's description.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EventFormat {
    /// Its subsystem: `sched`, `irq`.
    pub system: String,
    /// Its name: `sched_switch`.
    pub name: String,
    /// Its number on that kernel, which is the first field of every such event.
    pub id: u16,
    /// The common fields of all events.
    pub common: Vec<Field>,
    /// Its own fields, in order.
    pub fields: Vec<Field>,
    /// How the kernel prints it: a C string and its arguments.
    pub print: String,
}

impl EventFormat {
    /// Parses the text of its file.
    ///
    /// # Errors
    /// An invalid line, or missing content.
    pub fn parse(system: &str, text: &str) -> Result<EventFormat, FormatError> {
        let mut format = EventFormat {
            system: system.to_owned(),
            ..EventFormat::default()
        };
        if text.len() > LONGEST {
            return Err(FormatError::Missing {
                missing: "an end within the length that a description can have",
            });
        }
        let mut id = None;
        // The common fields are before an empty line, the event's own after it.
        let mut own = false;
        for (number, text) in text.lines().enumerate() {
            let line = FormatLine {
                number: number + 1,
                text,
            };
            let trimmed = text.trim();
            if let Some(name) = trimmed.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(value) = trimmed.strip_prefix("ID:") {
                let value = value.trim().parse();
                id = Some(value.map_err(|_| line.not("a number below 65,536 after ID:"))?);
            } else if trimmed.is_empty() {
                own |= !format.common.is_empty();
            } else if trimmed.starts_with("field:") || trimmed.starts_with("field ") {
                let field = declared(&line)?;
                let common = !own && field.name.starts_with("common_");
                if common { &mut format.common } else { &mut format.fields }.push(field);
            } else if let Some(print) = trimmed.strip_prefix("print fmt:") {
                format.print = print.trim().to_owned();
            } else if trimmed != "format:" && !format.print.is_empty() {
                // A print format may itself contain line ends.
                format.print.push('\n');
                format.print.push_str(text);
            } else if trimmed != "format:" {
                return Err(line.not("name:, ID:, format:, field: or print fmt:"));
            }
        }
        format.id = id.ok_or(FormatError::Missing { missing: "ID:" })?;
        if format.name.is_empty() {
            return Err(FormatError::Missing { missing: "name:" });
        }
        Ok(format)
    }

    /// The field with this name, common or its own.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        let mut all = self.fields.iter().chain(&self.common);
        all.find(|field| field.name == name)
    }
}

/// A line and its number.
pub(crate) struct FormatLine<'a> {
    pub(crate) number: usize,
    pub(crate) text: &'a str,
}

impl FormatLine<'_> {
    pub(crate) fn not(&self, expected: &'static str) -> FormatError {
        FormatError::Line {
            line: self.number,
            expected,
            found: self.text.trim().chars().take(80).collect(),
        }
    }
}

/// The form of a line that declares a field.
const FIELD: &str = "field:TYPE NAME; offset:N; size:N; signed:0 or 1;";

/// `field:TYPE NAME[N]; offset:O; size:S; signed:B;`. Kernels before 2.6.32 had no `signed`.
pub(crate) fn declared(line: &FormatLine) -> Result<Field, FormatError> {
    let (mut declaration, mut offset, mut size, mut signed) = (None, None, None, None);
    for part in line.text.split(';') {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let Some((key, value)) = part.split_once(':') else {
            return Err(line.not(FIELD));
        };
        let number = || value.trim().parse::<usize>().ok().filter(|number| *number <= 1 << 24);
        match key {
            "field" | "field special" => declaration = Some(value.trim()),
            "offset" => offset = number(),
            "size" => size = number(),
            "signed" => signed = number(),
            _ => return Err(line.not(FIELD)),
        }
    }
    let (Some(declaration), Some(offset), Some(size)) = (declaration, offset, size) else {
        return Err(line.not(FIELD));
    };
    let (stem, brackets) = split_brackets(declaration).ok_or_else(|| line.not(FIELD))?;
    let stem = stem.trim();
    let of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let name_at = stem.trim_end_matches(of_name).len();
    let (kind, name) = stem.split_at(name_at);
    let kind = kind.trim();
    if name.is_empty() {
        return Err(line.not(FIELD));
    }
    Ok(Field {
        name: name.to_owned(),
        declaration: kind.to_owned(),
        offset,
        size,
        signed: signed.unwrap_or(0) == 1,
        shape: shape(kind, brackets, size),
    })
}

/// Splits `TYPE NAME[N]` into `TYPE NAME` and `N`; `None` if a bracket is not closed.
fn split_brackets(declaration: &str) -> Option<(String, Option<&str>)> {
    let Some((before, after)) = declaration.split_once('[') else {
        return Some((declaration.to_owned(), None));
    };
    let (inside, name) = after.split_once(']')?;
    // `__data_loc char[] name` has its brackets before the name.
    let stem = match name.trim() {
        "" => before.to_owned(),
        name => format!("{} {name}", before.trim()),
    };
    Some((stem, Some(inside.trim())))
}

fn shape(kind: &str, brackets: Option<&str>, size: usize) -> FieldShape {
    if kind.starts_with("__data_loc") {
        FieldShape::Elsewhere
    } else if kind.starts_with("__rel_loc") {
        FieldShape::ElsewhereRelative
    } else if brackets.is_some() {
        match kind {
            "char" | "const char" => FieldShape::Text,
            kind => FieldShape::Numbers(element(kind, brackets, size)),
        }
    } else if matches!(size, 1 | 2 | 4 | 8) {
        FieldShape::Number
    } else {
        FieldShape::Numbers(1)
    }
}

/// Bytes of one array element: from the array's length if it is stated as a number, else from the type's name.
fn element(kind: &str, brackets: Option<&str>, size: usize) -> usize {
    let many = brackets.and_then(|inside| inside.parse::<usize>().ok());
    match many {
        Some(many) if many > 0 && size.is_multiple_of(many) && matches!(size / many, 1 | 2 | 4 | 8) => size / many,
        _ if kind.contains("64") || kind.contains("long") => 8,
        _ if kind.contains("16") || kind.contains("short") => 2,
        _ if kind.contains("8") || kind.contains("char") || kind.contains("bool") => 1,
        _ => 4,
    }
}
