//! Evaluates the expressions of a `print fmt:` line for one event.

use super::address_names::Names;
use super::expression::{Expression, Place};
use crate::endian::Endian;
use crate::field::{Field, Shape};
use crate::format::Format;

/// The input for printing an event.
pub(super) struct Scene<'a> {
    pub(super) format: &'a Format,
    pub(super) payload: &'a [u8],
    pub(super) endian: Endian,
    pub(super) names: &'a dyn Names,
}

impl Scene<'_> {
    pub(super) fn field(&self, place: Place) -> Option<&Field> {
        match place {
            Place::Own(at) => self.format.fields.get(at),
            Place::Common(at) => self.format.common.get(at),
        }
    }
}

/// A value of an expression.
pub(super) enum Value {
    Number(i128),
    Text(String),
    Bytes(Vec<u8>),
    /// Unknown: it depends on something that only the kernel's sources define, or that a truncated payload lacks.
    Unknown,
}

impl Value {
    fn number(&self) -> Option<i128> {
        match self {
            Value::Number(number) => Some(*number),
            // Text in a condition, `x ? a : b`, is a non-null pointer.
            Value::Text(_) | Value::Bytes(_) => Some(1),
            Value::Unknown => None,
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
        Expression::Either(first, then, otherwise) => {
            constant(if constant(first)? != 0 { then } else { otherwise })?
        }
        _ => return None,
    })
}

/// The value of an expression.
pub(super) fn value(expression: &Expression, scene: &Scene) -> Value {
    known(expression, scene).unwrap_or(Value::Unknown)
}

fn known(expression: &Expression, scene: &Scene) -> Option<Value> {
    let of = |expression: &Expression| value(expression, scene).number();
    let content = |place: &Place| scene.field(*place)?.content(scene.payload, scene.endian);
    Some(match expression {
        Expression::Number(number) => Value::Number(*number),
        Expression::Unknown => return None,
        Expression::Text(text) => Value::Text(text.clone()),
        Expression::Field(place) => of_field(scene.field(*place)?, scene)?,
        Expression::Element(place, index) => element(*place, of(index)?, scene)?,
        Expression::Cast { bits, signed, of } => match value(of, scene) {
            Value::Number(number) => Value::Number(cut(number, *bits, *signed)),
            other => other,
        },
        Expression::Unary(sign, inner) => Value::Number(unary(*sign, of(inner)?)),
        Expression::Binary(sign, left, right) => Value::Number(binary(sign, of(left)?, of(right)?)),
        Expression::Either(first, then, otherwise) => {
            value(if of(first)? != 0 { then } else { otherwise }, scene)
        }
        Expression::Content(place) => Value::Bytes(content(place)?.to_vec()),
        Expression::ContentLen(place) => Value::Number(content(place)?.len() as i128),
        Expression::Mask(place) => Value::Text(mask(content(place)?, scene.endian)),
        Expression::Flags(inner, between, pairs) => Value::Text(flags(of(inner)?, between, pairs)),
        Expression::Symbolic(inner, pairs) => Value::Text(symbolic(of(inner)?, pairs)),
        Expression::Hex { bytes, len, between } => {
            let len = usize::try_from(of(len)?).ok()?;
            let Value::Bytes(bytes) = value(bytes, scene) else {
                return None;
            };
            let digits: Vec<String> = bytes.iter().take(len).map(|byte| format!("{byte:02x}")).collect();
            Value::Text(digits.join(between))
        }
        Expression::Array(array, count, size) => {
            let count = usize::try_from(of(count)?).ok()?;
            let size = usize::try_from(of(size)?)
                .ok()
                .filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
            let Value::Bytes(bytes) = value(array, scene) else {
                return None;
            };
            let numbers: Vec<String> = bytes
                .chunks_exact(size)
                .take(count)
                .filter_map(|chunk| Some(format!("{:#x}", scene.endian.number(chunk)?)))
                .collect();
            Value::Text(format!("{{{}}}", numbers.join(",")))
        }
    })
}

pub(super) fn of_field(field: &Field, scene: &Scene) -> Option<Value> {
    match field.shape {
        Shape::Number => {
            let bits = field.unsigned(scene.payload, scene.endian)?;
            Some(Value::Number(cut(
                i128::from(bits),
                field.size as u32 * 8,
                field.signed,
            )))
        }
        Shape::Text => Some(Value::Bytes(field.text(scene.payload, scene.endian)?.to_vec())),
        _ => Some(Value::Bytes(field.content(scene.payload, scene.endian)?.to_vec())),
    }
}

fn element(place: Place, index: i128, scene: &Scene) -> Option<Value> {
    let field = scene.field(place)?;
    let size = match field.shape {
        Shape::Numbers(size) => size,
        Shape::Elsewhere | Shape::ElsewhereRelative if field.declaration.contains("64") => 8,
        Shape::Elsewhere | Shape::ElsewhereRelative if field.declaration.contains("long") => 8,
        Shape::Elsewhere | Shape::ElsewhereRelative if field.declaration.contains("char") => 1,
        Shape::Elsewhere | Shape::ElsewhereRelative if field.declaration.contains("u8") => 1,
        Shape::Elsewhere | Shape::ElsewhereRelative => 4,
        Shape::Text => 1,
        Shape::Number => field.size,
    };
    let from = usize::try_from(index).ok()?.checked_mul(size)?;
    let content = field.content(scene.payload, scene.endian)?;
    let bits = scene.endian.number(content.get(from..from.checked_add(size)?)?)?;
    Some(Value::Number(cut(
        i128::from(bits),
        size as u32 * 8,
        field.signed,
    )))
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
