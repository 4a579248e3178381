//! Parses the tokens of a `print fmt:` line. A line with an unknown construct gives `None`, never a partial result.

use super::evaluate::constant;
use super::expression::{Conversion, Expression, FieldSource, FormatPiece, FormatWidth, PrintFormat};
use super::lex::{Token, tokens};
use super::words::{self, CastType, type_of};
use crate::format::EventFormat;

/// Maximum nesting of expressions. The masks of page flags reach 70.
const DEEPEST: usize = 128;

/// Parses a `print fmt` line; `None` for unsupported C.
pub(super) fn parse(text: &str, format: &EventFormat) -> Option<PrintFormat> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
        format,
    };
    let Some(Token::Text(mut wording)) = parser.take() else {
        return None;
    };
    while let Some(Token::Text(more)) = parser.peek() {
        wording.push_str(more);
        parser.next += 1;
    }
    let mut arguments = Vec::new();
    while parser.sign(",") {
        arguments.push(parser.expression()?);
    }
    if parser.next != parser.tokens.len() {
        return None;
    }
    let pieces = pieces(&wording)?;
    let argument_count: usize = pieces.iter().map(FormatPiece::arguments).sum();
    (argument_count == arguments.len()).then_some(PrintFormat { pieces, arguments })
}

impl FormatPiece {
    fn arguments(&self) -> usize {
        let FormatPiece::Conversion(conversion) = self else {
            return 0;
        };
        let star = |measure: Option<FormatWidth>| usize::from(measure == Some(FormatWidth::Argument));
        1 + star(conversion.width) + star(conversion.precision)
    }
}

/// The pieces of the format string.
fn pieces(wording: &str) -> Option<Vec<FormatPiece>> {
    let mut pieces = Vec::new();
    let mut rest = wording;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        if !before.is_empty() {
            pieces.push(FormatPiece::Text(before.to_owned()));
        }
        if let Some(after) = from.strip_prefix("%%") {
            pieces.push(FormatPiece::Text("%".to_owned()));
            rest = after;
        } else {
            let (conversion, after) = conversion(from.get(1..)?)?;
            pieces.push(FormatPiece::Conversion(conversion));
            rest = after;
        }
    }
    if !rest.is_empty() {
        pieces.push(FormatPiece::Text(rest.to_owned()));
    }
    Some(pieces)
}

fn conversion(text: &str) -> Option<(Conversion, &str)> {
    let mut conversion = Conversion {
        bits: 32,
        ..Conversion::default()
    };
    let mut rest = text;
    while let Some(flag) = rest.chars().next().filter(|letter| "-+ #0".contains(*letter)) {
        match flag {
            '-' => conversion.left = true,
            '+' => conversion.plus = true,
            ' ' => conversion.space = true,
            '#' => conversion.alternate = true,
            _ => conversion.zero = true,
        }
        rest = rest.get(1..)?;
    }
    (conversion.width, rest) = measure(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = measure(after)?;
        conversion.precision = Some(precision.unwrap_or(FormatWidth::Number(0)));
        rest = after;
    }
    for (length, bits) in [
        ("hh", 8),
        ("h", 16),
        ("ll", 64),
        ("l", 64),
        ("L", 64),
        ("z", 64),
        ("t", 64),
        ("j", 64),
    ] {
        if let Some(after) = rest.strip_prefix(length) {
            conversion.bits = bits;
            rest = after;
            break;
        }
    }
    conversion.letter = rest.chars().next()?;
    rest = rest.get(conversion.letter.len_utf8()..)?;
    match conversion.letter {
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 's' => {}
        'p' => {
            let end = rest
                .find(|letter: char| !letter.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            let (kind, after) = rest.split_at(end);
            conversion.kind = kind.to_owned();
            rest = after;
        }
        _ => return None,
    }
    Some((conversion, rest))
}

fn measure(text: &str) -> Option<(Option<FormatWidth>, &str)> {
    if let Some(after) = text.strip_prefix('*') {
        return Some((Some(FormatWidth::Argument), after));
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, after) = text.split_at(end);
    if digits.is_empty() {
        return Some((None, text));
    }
    let number = digits.parse::<usize>().ok().filter(|number| *number <= 256)?;
    Some((Some(FormatWidth::Number(number)), after))
}

struct Parser<'a> {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    format: &'a EventFormat,
}

/// Binary operators, weakest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.next).cloned();
        self.next += 1;
        token
    }

    /// Consumes the operator if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    fn must(&mut self, sign: &str) -> Option<()> {
        self.sign(sign).then_some(())
    }

    fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let first = self.level(0)?;
        let whole = if self.sign("?") {
            let then = self.expression()?;
            self.must(":")?;
            let otherwise = self.expression()?;
            Expression::Either(Box::new(first), Box::new(then), Box::new(otherwise))
        } else {
            first
        };
        self.depth -= 1;
        Some(whole)
    }

    fn level(&mut self, level: usize) -> Option<Expression> {
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.sign(sign)) {
            let right = self.level(level + 1)?;
            left = Expression::Binary(sign, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let found = self.unary_here();
        self.depth -= 1;
        found
    }

    fn unary_here(&mut self) -> Option<Expression> {
        for (sign, letter) in [("-", '-'), ("!", '!'), ("~", '~'), ("+", '+')] {
            if self.sign(sign) {
                return Some(Expression::Unary(letter, Box::new(self.unary()?)));
            }
        }
        // The address of a field is printed from its content, as `%pI4` and `__print_hex` require.
        if self.sign("&") {
            return self.unary();
        }
        if let Some(kind) = self.cast() {
            let of = Box::new(self.unary()?);
            return Some(match kind {
                CastType::Pointer => *of,
                CastType::Number { bits, signed } => Expression::Cast { bits, signed, of },
            });
        }
        // The target of a pointer to the content: its first element.
        if self.sign("*") {
            return match self.unary()? {
                Expression::Content(place) | Expression::Field(place) => {
                    Some(Expression::Element(place, Box::new(Expression::Number(0))))
                }
                _ => None,
            };
        }
        self.primary()
    }

    /// A type in parentheses; consumes nothing if there is none.
    fn cast(&mut self) -> Option<CastType> {
        let from = self.next;
        if !self.sign("(") {
            return None;
        }
        let mut words = Vec::new();
        let mut pointer = false;
        loop {
            match self.take() {
                Some(Token::Name(name)) => words.push(name),
                Some(Token::Sign("*")) if !words.is_empty() => pointer = true,
                Some(Token::Sign(")")) if !words.is_empty() => break,
                _ => {
                    self.next = from;
                    return None;
                }
            }
        }
        let kind = if pointer {
            Some(CastType::Pointer)
        } else {
            type_of(&words)
        };
        if kind.is_none() {
            self.next = from;
        }
        kind
    }

    fn primary(&mut self) -> Option<Expression> {
        let found = match self.take()? {
            Token::Number(number) => Expression::Number(number),
            Token::Text(mut text) => {
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.next += 1;
                }
                Expression::Text(text)
            }
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.must(")")?;
                inner
            }
            Token::Name(name) if name == "REC" => {
                self.must("->")?;
                Expression::Field(self.field("")?)
            }
            Token::Name(name) if matches!(self.peek(), Some(Token::Sign("("))) => self.call(&name)?,
            Token::Name(name) => words::number(&name).map_or(Expression::Unknown, Expression::Number),
            Token::Sign(_) => return None,
        };
        if self.sign("[") {
            let index = Box::new(self.expression()?);
            self.must("]")?;
            return match found {
                Expression::Field(place) | Expression::Content(place) => Some(Expression::Element(place, index)),
                _ => None,
            };
        }
        Some(found)
    }

    /// A field by name; the macros omit the prefix that some have.
    fn field(&mut self, prefix: &str) -> Option<FieldSource> {
        let Some(Token::Name(name)) = self.take() else {
            return None;
        };
        let is = |field: &crate::Field| field.name == name || field.name.strip_prefix(prefix) == Some(&name);
        let own = self.format.fields.iter().position(is).map(FieldSource::Own);
        own.or_else(|| self.format.common.iter().position(is).map(FieldSource::Common))
    }

    fn call(&mut self, name: &str) -> Option<Expression> {
        self.must("(")?;
        let found = match name {
            "__get_str" | "__get_dynamic_array" | "__get_rel_str" | "__get_rel_dynamic_array" | "__get_sockaddr" => {
                Expression::Content(self.field("__data_loc_")?)
            }
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => {
                Expression::ContentLen(self.field("__data_loc_")?)
            }
            "__get_bitmask" | "__get_cpumask" | "__get_rel_bitmask" | "__get_rel_cpumask" => {
                Expression::Mask(self.field("__data_loc_")?)
            }
            "__print_flags" | "__print_flags_u64" => {
                let value = Box::new(self.expression()?);
                self.must(",")?;
                let Some(Token::Text(between)) = self.take() else {
                    return None;
                };
                Expression::Flags(value, between, self.pairs()?)
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                Expression::Symbolic(Box::new(self.expression()?), self.pairs()?)
            }
            "__print_hex" | "__print_hex_str" => {
                let bytes = Box::new(self.expression()?);
                self.must(",")?;
                let len = Box::new(self.expression()?);
                let between = if name == "__print_hex" { " " } else { "" };
                Expression::Hex { bytes, len, between }
            }
            "__print_array" => {
                let array = Box::new(self.expression()?);
                self.must(",")?;
                let count = Box::new(self.expression()?);
                self.must(",")?;
                Expression::Array(array, count, Box::new(self.expression()?))
            }
            "sizeof" => {
                let mut words = Vec::new();
                while let Some(Token::Name(word)) = self.peek() {
                    words.push(word.clone());
                    self.next += 1;
                }
                match type_of(&words)? {
                    CastType::Number { bits, .. } => Expression::Number(i128::from(bits / 8)),
                    CastType::Pointer => Expression::Number(8),
                }
            }
            _ => return None,
        };
        self.must(")")?;
        Some(found)
    }

    /// `, { value, "name" }, ...`, each pair in braces, and optionally all of them together.
    fn pairs(&mut self) -> Option<Vec<(i128, String)>> {
        let mut pairs = Vec::new();
        let together = {
            let from = self.next;
            let both = self.sign(",") && self.sign("{") && self.sign("{");
            self.next = if both { from + 2 } else { from };
            both
        };
        while together || self.sign(",") {
            self.must("{")?;
            let value = constant(&self.expression()?);
            self.must(",")?;
            let name = self.expression()?;
            self.must("}")?;
            // An unknown value is printed as a number; a pair without a name ends the kernel's own list.
            if let (Some(value), Expression::Text(name)) = (value, name) {
                pairs.push((value, name));
            }
            if together && (self.sign("}") || !self.sign(",") || self.sign("}")) {
                break;
            }
        }
        Some(pairs)
    }
}
