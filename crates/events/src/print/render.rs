//! Prints one event by its `print fmt:` line.

use super::evaluate::{PrintInput, PrintValue, cut, mask, of_field, value};
use super::expression::{Conversion, FormatPiece, FormatWidth, PrintFormat};
use crate::endian::Endian;
use crate::field::FieldShape;
use std::fmt::Write;

/// Prints an event by its format line. Values missing from a truncated payload are printed as `?`.
pub(super) fn print(out: &mut String, printing: &PrintFormat, scene: &PrintInput) {
    let mut arguments = printing.arguments.iter();
    let mut next = || {
        arguments
            .next()
            .map_or(PrintValue::Number(0), |argument| value(argument, scene))
    };
    for piece in &printing.pieces {
        match piece {
            FormatPiece::Text(text) => out.push_str(text),
            FormatPiece::Conversion(conversion) => {
                let mut measure = |measure| match measure {
                    Some(FormatWidth::Argument) => as_len(&next()),
                    Some(FormatWidth::Number(number)) => Some(number),
                    None => None,
                };
                let width = measure(conversion.width);
                let precision = measure(conversion.precision);
                let text = converted(conversion, &next(), precision, width, scene);
                pad(out, &text, conversion, width.unwrap_or(0));
            }
        }
    }
}

/// Prints an event field by field: `prev_comm=bash prev_pid=12`.
pub(super) fn fields(out: &mut String, scene: &PrintInput) {
    for (at, field) in scene.format.fields.iter().enumerate() {
        let space = if at == 0 { "" } else { " " };
        let content =
            match field.shape {
                FieldShape::Number => field.number(scene.payload, scene.endian).map(|number| {
                    match (field.signed, u64::try_from(number)) {
                        (false, _) if field.size == 8 => format!("{:#x}", number as u64),
                        _ => number.to_string(),
                    }
                }),
                _ => of_field(field, scene).map(|value| text(&value)),
            };
        let content = content.unwrap_or_else(|| "?".to_owned());
        let _ = write!(out, "{space}{}={content}", field.name);
    }
}

/// A width; widths of real events are far below the limit.
fn as_len(value: &PrintValue) -> Option<usize> {
    match value {
        PrintValue::Number(number) => usize::try_from(*number).ok().filter(|len| *len <= 1024),
        _ => None,
    }
}

fn text(value: &PrintValue) -> String {
    match value {
        PrintValue::Number(number) => number.to_string(),
        PrintValue::Unknown => "?".to_owned(),
        PrintValue::Text(text) => text.clone(),
        PrintValue::Bytes(bytes) => {
            let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
            String::from_utf8_lossy(bytes.get(..end).unwrap_or(bytes)).into_owned()
        }
    }
}

fn converted(
    conversion: &Conversion,
    value: &PrintValue,
    precision: Option<usize>,
    width: Option<usize>,
    scene: &PrintInput,
) -> String {
    let number = match value {
        PrintValue::Number(number) => *number,
        _ => 0,
    };
    let cut_to = |signed| cut(number, conversion.bits, signed);
    let digits = |digits: String| match precision {
        Some(least) => format!("{digits:0>least$}"),
        None => digits,
    };
    let prefixed = |prefix: &str, digits: String| match conversion.alternate {
        true => format!("{prefix}{digits}"),
        false => digits,
    };
    match (conversion.letter, value) {
        ('s', PrintValue::Number(address)) => {
            let known = scene.names.text(*address as u64);
            known.map_or_else(|| format!("{:#x}", *address as u64), str::to_owned)
        }
        ('s', value) => {
            let whole = text(value);
            precision.map_or(whole.clone(), |most| whole.chars().take(most).collect())
        }
        ('p', PrintValue::Number(address)) => pointer(conversion, *address as u64, scene),
        ('p', PrintValue::Bytes(bytes)) => behind(&conversion.kind, bytes, width, scene.endian),
        (_, PrintValue::Text(_) | PrintValue::Unknown) => text(value),
        ('d' | 'i', _) => {
            let number = cut_to(true);
            let sign = match number {
                ..0 => "-",
                _ if conversion.plus => "+",
                _ if conversion.space => " ",
                _ => "",
            };
            format!("{sign}{}", digits(number.unsigned_abs().to_string()))
        }
        ('x', _) => prefixed("0x", digits(format!("{:x}", cut_to(false)))),
        ('X', _) => prefixed("0X", digits(format!("{:X}", cut_to(false)))),
        ('o', _) => prefixed("0", digits(format!("{:o}", cut_to(false)))),
        ('c', _) => char::from(cut(number, 8, false) as u8).to_string(),
        _ => digits(cut_to(false).to_string()),
    }
}

/// `%p` and its variants that print the address itself.
fn pointer(conversion: &Conversion, address: u64, scene: &PrintInput) -> String {
    if !conversion.kind.starts_with(['S', 's', 'F', 'f', 'B']) {
        return format!("{address:016x}");
    }
    let Some(symbol) = scene.names.symbol(address) else {
        return format!("{address:#x}");
    };
    let module = symbol.module.map_or(String::new(), |module| format!(" {module}"));
    if conversion.kind.starts_with(['s', 'f']) {
        return format!("{}{module}", symbol.function);
    }
    format!("{}+{:#x}/{:#x}{module}", symbol.function, symbol.offset, symbol.size)
}

/// `%p` and its variants that print the content at the address.
fn behind(kind: &str, bytes: &[u8], width: Option<usize>, endian: Endian) -> String {
    let joined = |between: &str| {
        let all: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        all.join(between)
    };
    match kind {
        "I4" | "i4" if bytes.len() >= 4 => {
            let all: Vec<String> = bytes.iter().take(4).map(u8::to_string).collect();
            all.join(".")
        }
        "I6" | "I6c" if bytes.len() >= 16 => {
            let mut octets = [0_u8; 16];
            octets.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            std::net::Ipv6Addr::from(octets).to_string()
        }
        "M" => joined(":"),
        "b" | "bl" => mask(bytes.get(..width.unwrap_or(0).div_ceil(8)).unwrap_or(bytes), endian),
        _ => joined(" "),
    }
}

fn pad(out: &mut String, text: &str, conversion: &Conversion, width: usize) {
    let missing = width.saturating_sub(text.chars().count());
    let mask = conversion.letter == 'p' && conversion.kind.starts_with('b');
    if missing == 0 || mask {
        out.push_str(text);
    } else if conversion.left {
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', missing));
    } else if conversion.zero && conversion.precision.is_none() && conversion.letter != 's' {
        let digits_at = text.len() - text.trim_start_matches(['-', '+', ' ']).len();
        let prefix = if text.get(digits_at..).is_some_and(|rest| rest.starts_with("0x")) {
            2
        } else {
            0
        };
        let (head, digits) = text.split_at(digits_at + prefix);
        out.push_str(head);
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(digits);
    } else {
        out.extend(std::iter::repeat_n(' ', missing));
        out.push_str(text);
    }
}
