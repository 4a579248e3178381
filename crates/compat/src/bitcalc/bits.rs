//! Implements bitcalc's masks. Besides the set bits, a mask stores how many were written, because its hexadecimal form
//! preserves leading zeros.

use super::error::BitcalcError;

/// More bits than any machine has CPUs; in the original only memory limits the number.
pub const MAX_BITS: usize = 1 << 20;

/// A mask of any width up to [`MAX_BITS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits(Vec<bool>);

/// The output format of a mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaskFormat {
    /// `ff00ff00ff`
    #[default]
    Mask,
    /// `0-3,7`
    List,
    /// `ff,00ff00ff`
    U32List,
    /// `0 1 2 3 7`
    Array,
}

impl MaskFormat {
    /// The format for the value of `--format`.
    #[must_use]
    pub fn of(word: &str) -> Option<MaskFormat> {
        match word {
            "mask" => Some(MaskFormat::Mask),
            "list" => Some(MaskFormat::List),
            "u32list" => Some(MaskFormat::U32List),
            "array" => Some(MaskFormat::Array),
            _ => None,
        }
    }
}

impl Bits {
    /// The first `count` bits, all set.
    ///
    /// # Errors
    /// More than [`MAX_BITS`].
    pub fn first(count: usize) -> Result<Bits, BitcalcError> {
        if count > MAX_BITS {
            return Err(BitcalcError::TooWide(MAX_BITS));
        }
        Ok(Bits(vec![true; count]))
    }

    /// A hexadecimal mask, with or without `0x`; commas are allowed anywhere.
    ///
    /// # Errors
    /// Other characters, or more than [`MAX_BITS`].
    pub fn of_mask(text: &str) -> Result<Bits, BitcalcError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bits = Vec::new();
        for letter in digits.chars().rev().filter(|letter| *letter != ',') {
            let Some(digit) = letter.to_digit(16) else {
                return Err(BitcalcError::Digit {
                    digits: digits.to_owned(),
                    letter,
                });
            };
            bits.extend((0..4).map(|bit| digit & (1 << bit) != 0));
            if bits.len() > MAX_BITS {
                return Err(BitcalcError::TooWide(MAX_BITS));
            }
        }
        Ok(Bits(bits))
    }

    /// A list of numbers and ranges, in any order, with C prefixes: `0x` is hexadecimal, `0` is octal.
    ///
    /// # Errors
    /// Text that is not a list, or bits above [`MAX_BITS`].
    pub fn of_list(text: &str) -> Result<Bits, BitcalcError> {
        let malformed = || BitcalcError::List(text.to_owned());
        let mut bits = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (first, after) = number(rest).ok_or_else(malformed)?;
            let (last, after) = match after.strip_prefix('-') {
                Some(after) => number(after).ok_or_else(malformed)?,
                None => (first, after),
            };
            rest = after.strip_prefix(',').unwrap_or(after);
            let (low, high) = (first.min(last), first.max(last));
            if high >= MAX_BITS {
                return Err(BitcalcError::TooWide(MAX_BITS));
            }
            if high >= bits.len() {
                bits.resize(high + 1, false);
            }
            if let Some(range) = bits.get_mut(low..=high) {
                range.fill(true);
            }
        }
        Ok(Bits(bits))
    }

    /// The number of bits that were written, including leading zeros.
    #[must_use]
    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// Bitwise and.
    #[must_use]
    pub fn and(&self, other: &Bits) -> Bits {
        self.with(other, |one, two| one && two)
    }

    /// Bitwise exclusive or.
    #[must_use]
    pub fn xor(&self, other: &Bits) -> Bits {
        self.with(other, |one, two| one != two)
    }

    /// Indexes of the set bits, ascending.
    pub fn set(&self) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.0.iter().enumerate();
        numbered.filter(|(_, is_set)| **is_set).map(|(bit, _)| bit)
    }

    /// As text.
    #[must_use]
    pub fn text(&self, format: MaskFormat) -> String {
        match format {
            MaskFormat::Mask => self.digits().collect(),
            MaskFormat::U32List => self.groups(),
            MaskFormat::List => self.list(),
            MaskFormat::Array => {
                let words: Vec<String> = self.set().map(|bit| bit.to_string()).collect();
                words.join(" ")
            }
        }
    }

    fn with(&self, other: &Bits, combine: fn(bool, bool) -> bool) -> Bits {
        let at = |bits: &Bits, place: usize| bits.0.get(place).copied().unwrap_or(false);
        let width = self.0.len().max(other.0.len());
        Bits(
            (0..width)
                .map(|place| combine(at(self, place), at(other, place)))
                .collect(),
        )
    }

    /// Hexadecimal digits, the highest first.
    fn digits(&self) -> impl Iterator<Item = char> + '_ {
        self.0.chunks(4).rev().map(|nibble| {
            let places = nibble.iter().zip([1, 2, 4, 8]);
            let value = places.map(|(is_set, worth)| if *is_set { worth } else { 0 }).sum();
            char::from_digit(value, 16).unwrap_or('0')
        })
    }

    fn groups(&self) -> String {
        let count = self.0.len().div_ceil(4);
        let mut text = String::with_capacity(count + count / 8);
        for (place, digit) in self.digits().enumerate() {
            if place > 0 && (count - place).is_multiple_of(8) {
                text.push(',');
            }
            text.push(digit);
        }
        text
    }

    fn list(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for bit in self.set() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == bit => *last = bit,
                _ => ranges.push((bit, bit)),
            }
        }
        let words: Vec<String> = ranges
            .into_iter()
            .map(|(first, last)| {
                if first == last {
                    first.to_string()
                } else {
                    format!("{first}-{last}")
                }
            })
            .collect();
        words.join(",")
    }
}

/// The number at the start of a text, parsed like `strtoul` with base 0, and the remaining text.
fn number(text: &str) -> Option<(usize, &str)> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', next, ..] if next.is_ascii_hexdigit() => (16, text.get(2..)?),
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let end = digits
        .find(|letter: char| !letter.is_digit(base))
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return None;
    }
    // The caller rejects an overflow because of its width.
    Some((usize::from_str_radix(digits, base).unwrap_or(usize::MAX), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_keep_their_width() {
        for (given, printed) in [
            ("0xf01F", "f01f"),
            ("2Ee0", "2ee0"),
            ("0c", "0c"),
            ("0", "0"),
            ("0x", ""),
            ("ff305050,10404020", "ff30505010404020"),
            ("1,2", "12"),
        ] {
            assert_eq!(Bits::of_mask(given).unwrap().text(MaskFormat::Mask), printed, "{given}");
        }
        assert_eq!(
            Bits::of_mask("fg").unwrap_err().to_string(),
            "fg: Character 'g' is not legal in hexadecimal mask"
        );
        assert!(Bits::of_mask(&"f".repeat(MAX_BITS / 4)).is_ok());
        assert!(Bits::of_mask(&"f".repeat(MAX_BITS / 4 + 1)).is_err());
    }

    #[test]
    fn cpu_lists_are_converted_to_masks_and_back() {
        for (given, mask, list) in [
            ("1,7-10,3-4", "79a", "1,3-4,7-10"),
            ("1-2,4-7,9", "2f6", "1-2,4-7,9"),
            ("63", "8000000000000000", "63"),
            ("3-1", "e", "1-3"),
            ("0x10,010", "10100", "8,16"),
            ("", "", ""),
        ] {
            let bits = Bits::of_list(given).unwrap();
            assert_eq!(
                (bits.text(MaskFormat::Mask), bits.text(MaskFormat::List)),
                (mask.to_owned(), list.to_owned())
            );
        }
        for wrong in ["-", "1 ", "1-", "x", "1,-2", ",1", "0-99999999", "99999999999999999999"] {
            assert!(Bits::of_list(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Bits::of_list("1-x").unwrap_err().to_string(), "1-x: Malformed bitmap");
        let bits = Bits::of_list("3,5-7,1024").unwrap();
        assert_eq!(bits.text(MaskFormat::Array), "3 5 6 7 1024");
    }

    #[test]
    fn masks_are_printed_in_groups_of_32_bits() {
        let text = "00010203,04050607,08090a0b,0c0d0e0f,fcfdfeff";
        assert_eq!(Bits::of_mask(text).unwrap().text(MaskFormat::U32List), text);
        for bit in (0..200).step_by(3) {
            let bits = Bits::of_list(&bit.to_string()).unwrap();
            let groups = bits.text(MaskFormat::U32List);
            assert_eq!(groups.replace(',', ""), bits.text(MaskFormat::Mask));
            assert_eq!(Bits::of_mask(&groups).unwrap().set().collect::<Vec<_>>(), [bit]);
            let low = groups.rsplit(',').next().unwrap();
            assert!(low.len() == 8 || !groups.contains(','), "{groups}");
        }
    }
}
