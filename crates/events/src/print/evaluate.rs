//! Evaluates the expressions of a `print fmt:` line for one event.

use super::AddressNames;
use super::expression::{Expression, FieldSource};
use crate::endian::Endian;
use crate::field::{Field, FieldShape};
use crate::format::EventFormat;

/// The input for printing an event.
pub(super) struct PrintInput<'a> {
    pub(super) format: &'a EventFormat,
    pub(super) payload: &'a [u8],
    pub(super) endian: Endian,
    pub(super) names: &'a dyn AddressNames,
}

impl PrintInput<'_> {
    pub(super) fn field(&self, place: FieldSource) -> Option<&Field> {
        match place {
            FieldSource::Own(at) => self.format.fields.get(at),
            FieldSource::Common(at) => self.format.common.get(at),
        }
    }
}

/// A value of an expression.
pub(super) enum PrintValue {
    Number(i128),
    Text(String),
    Bytes(Vec<u8>),
    /// Unknown: it depends on something that only the kernel's sources define, or that a truncated payload lacks.
    Unknown,
}

impl PrintValue {
    fn number(&self) -> Option<i128> {
        match self {
            PrintValue::Number(number) => Some(*number),
            // Text in a condition, `x ? a : b`, is a non-null pointer.
            PrintValue::Text(_) | PrintValue::Bytes(_) => Some(1),
            PrintValue::Unknown => None,
        }
    }
}

/// The value of an expression without fields.
pub(super) fn constant(expression: &Expression) -> Option<i128> {
    Some(match expression {
        Expression::Number(number) => *number,
        Expression::Cast { bits, signed, of } => cut(constant(of)?, *bits, *signed),
        Expression::Unary(sign, of) => unary(*sign, constant(of)?),
        Expression::Binary(sign, left, right) => binary(sign, constant(left)?, constant(right)?),
        Expression::Either(first, then, otherwise) => constant(if constant(first)? != 0 { then } else { otherwise })?,
        _ => return None,
    })
}

/// The value of an expression.
pub(super) fn value(expression: &Expression, scene: &PrintInput) -> PrintValue {
    known(expression, scene).unwrap_or(PrintValue::Unknown)
}

fn known(expression: &Expression, scene: &PrintInput) -> Option<PrintValue> {
    let of = |expression: &Expression| value(expression, scene).number();
    let content = |place: &FieldSource| scene.field(*place)?.content(scene.payload, scene.endian);
    Some(match expression {
        Expression::Number(number) => PrintValue::Number(*number),
        Expression::Unknown => return None,
        Expression::Text(text) => PrintValue::Text(text.clone()),
        Expression::Field(place) => of_field(scene.field(*place)?, scene)?,
        Expression::Element(place, index) => element(*place, of(index)?, scene)?,
        Expression::Cast { bits, signed, of } => match value(of, scene) {
            PrintValue::Number(number) => PrintValue::Number(cut(number, *bits, *signed)),
            other => other,
        },
        Expression::Unary(sign, inner) => PrintValue::Number(unary(*sign, of(inner)?)),
        Expression::Binary(sign, left, right) => PrintValue::Number(binary(sign, of(left)?, of(right)?)),
        Expression::Either(first, then, otherwise) => value(if of(first)? != 0 { then } else { otherwise }, scene),
        Expression::Content(place) => PrintValue::Bytes(content(place)?.to_vec()),
        Expression::ContentLen(place) => PrintValue::Number(content(place)?.len() as i128),
        Expression::Mask(place) => PrintValue::Text(mask(content(place)?, scene.endian)),
        Expression::Flags(inner, between, pairs) => PrintValue::Text(flags(of(inner)?, between, pairs)),
        Expression::Symbolic(inner, pairs) => PrintValue::Text(symbolic(of(inner)?, pairs)),
        Expression::Hex { bytes, len, between } => {
            let len = usize::try_from(of(len)?).ok()?;
            let PrintValue::Bytes(bytes) = value(bytes, scene) else {
                return None;
            };
            let digits: Vec<String> = bytes.iter().take(len).map(|byte| format!("{byte:02x}")).collect();
            PrintValue::Text(digits.join(between))
        }
        Expression::Array(array, count, size) => {
            let count = usize::try_from(of(count)?).ok()?;
            let size = usize::try_from(of(size)?)
                .ok()
                .filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
            let PrintValue::Bytes(bytes) = value(array, scene) else {
                return None;
            };
            let numbers: Vec<String> = bytes
                .chunks_exact(size)
                .take(count)
                .filter_map(|chunk| Some(format!("{:#x}", scene.endian.number(chunk)?)))
                .collect();
            PrintValue::Text(format!("{{{}}}", numbers.join(",")))
        }
    })
}

pub(super) fn of_field(field: &Field, scene: &PrintInput) -> Option<PrintValue> {
    match field.shape {
        FieldShape::Number => {
            let bits = field.unsigned(scene.payload, scene.endian)?;
            Some(PrintValue::Number(cut(
                i128::from(bits),
                field.size as u32 * 8,
                field.signed,
            )))
        }
        FieldShape::Text => Some(PrintValue::Bytes(field.text(scene.payload, scene.endian)?.to_vec())),
        _ => Some(PrintValue::Bytes(field.content(scene.payload, scene.endian)?.to_vec())),
    }
}

fn element(place: FieldSource, index: i128, scene: &PrintInput) -> Option<PrintValue> {
    let field = scene.field(place)?;
    let size = match field.shape {
        FieldShape::Numbers(size) => size,
        FieldShape::Elsewhere | FieldShape::ElsewhereRelative if field.declaration.contains("64") => 8,
        FieldShape::Elsewhere | FieldShape::ElsewhereRelative if field.declaration.contains("long") => 8,
        FieldShape::Elsewhere | FieldShape::ElsewhereRelative if field.declaration.contains("char") => 1,
        FieldShape::Elsewhere | FieldShape::ElsewhereRelative if field.declaration.contains("u8") => 1,
        FieldShape::Elsewhere | FieldShape::ElsewhereRelative => 4,
        FieldShape::Text => 1,
        FieldShape::Number => field.size,
    };
    let from = usize::try_from(index).ok()?.checked_mul(size)?;
    let content = field.content(scene.payload, scene.endian)?;
    let bits = scene.endian.number(content.get(from..from.checked_add(size)?)?)?;
    Some(PrintValue::Number(cut(i128::from(bits), size as u32 * 8, field.signed)))
}

/// A number truncated to this many bits.
pub(super) const fn cut(number: i128, bits: u32, signed: bool) -> i128 {
    let shift = 128_u32.saturating_sub(bits);
    if signed {
        (number << shift) >> shift
    } else {
        (((number as u128) << shift) >> shift) as i128
    }
}

fn unary(sign: char, number: i128) -> i128 {
    match sign {
        '-' => number.wrapping_neg(),
        '!' => i128::from(number == 0),
        '~' => !number,
        _ => number,
    }
}

fn binary(sign: &str, left: i128, right: i128) -> i128 {
    let shift = u32::try_from(right).unwrap_or(0).min(63);
    match sign {
        "||" => i128::from(left != 0 || right != 0),
        "&&" => i128::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i128::from(left == right),
        "!=" => i128::from(left != right),
        "<" => i128::from(left < right),
        ">" => i128::from(left > right),
        "<=" => i128::from(left <= right),
        ">=" => i128::from(left >= right),
        "<<" => cut(left << shift, 64, left < 0),
        ">>" => left >> shift,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right).unwrap_or(0),
        _ => left.checked_rem(right).unwrap_or(0),
    }
}

/// Like `trace_print_flags_seq`: the remaining bits are printed last, as a number.
fn flags(value: i128, between: &str, pairs: &[(i128, String)]) -> String {
    let mut left = cut(value, 64, false);
    let mut parts = Vec::new();
    for (bits, name) in pairs {
        let bits = cut(*bits, 64, false);
        if left != 0 && left & bits == bits {
            parts.push(name.clone());
            left &= !bits;
        }
    }
    if left != 0 {
        parts.push(format!("{left:#x}"));
    }
    parts.join(between)
}

/// Like `trace_print_symbols_seq`.
fn symbolic(value: i128, pairs: &[(i128, String)]) -> String {
    let value = cut(value, 64, false);
    let found = pairs.iter().find(|(known, _)| cut(*known, 64, false) == value);
    found.map_or_else(|| format!("{value:#x}"), |(_, name)| name.clone())
}

/// A CPU mask in the kernel's format: groups of 32 bits, highest first.
pub(super) fn mask(bytes: &[u8], endian: Endian) -> String {
    let mut groups: Vec<u32> = Vec::new();
    for long in bytes.chunks(8) {
        let long = endian.number(long).unwrap_or(0);
        groups.push(long as u32);
        if bytes.len() >= 8 {
            groups.push((long >> 32) as u32);
        }
    }
    let groups: Vec<String> = groups.iter().rev().map(|group| format!("{group:08x}")).collect();
    groups.join(",")
}
