//! Parses JSON objects whose keys are numbers in quotes, as in the histograms of rt-tests and jitterdebugger. Keys are
//! sorted, and their number is limited.

use crate::tally::MOST_BUCKETS;
use machine::OrderBy;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The maximum size of a JSON document.
pub(crate) const LONGEST_JSON: u64 = 64 << 20;

/// Keys and values. A duplicate key is an error.
#[derive(Debug)]
pub(crate) struct Pairs<T>(pub(crate) Vec<(u64, T)>);

/// The same for a file whose keys may have three decimals: then all keys are thousandths.
#[derive(Debug, Default)]
pub(crate) struct FinePairs {
    pub(crate) pairs: Vec<(u64, u64)>,
    pub(crate) thousandths: bool,
}

impl<'de> Deserialize<'de> for FinePairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FinePairs, D::Error> {
        let (pairs, thousandths) = deserializer.deserialize_map(PairsVisitor(PhantomData))?;
        Ok(FinePairs { pairs, thousandths })
    }
}

impl<T> Default for Pairs<T> {
    fn default() -> Pairs<T> {
        Pairs(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<T>, D::Error> {
        let (pairs, thousandths) = deserializer.deserialize_map(PairsVisitor(PhantomData))?;
        match thousandths {
            true => Err(D::Error::custom("a key has decimals")),
            false => Ok(Pairs(pairs)),
        }
    }
}

struct PairsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
    type Value = (Vec<(u64, T)>, bool);

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object whose keys are numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(u64, T)> = Vec::new();
        let mut thousandths = false;
        while let Some(key) = map.next_key::<String>()? {
            let (digits, has_decimals) = without_point(key.trim());
            thousandths |= has_decimals;
            let number: u64 = digits
                .parse()
                .map_err(|_| A::Error::custom(format!("the key {:?} is not a number", crate::error::quoted(&key))))?;
            if pairs.len() as u64 >= MOST_BUCKETS {
                return Err(A::Error::custom(format!("more than {MOST_BUCKETS} entries")));
            }
            pairs.push((number, map.next_value()?));
        }
        pairs.order_by_key(|(key, _)| *key);
        if let Some(twice) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(A::Error::custom(format!("the key \"{}\" is listed twice", twice[0].0)));
        }
        Ok((pairs, thousandths))
    }
}

/// `12.500` as `12500`, and whether the text had three decimals.
fn without_point(key: &str) -> (String, bool) {
    match key.split_once('.') {
        Some((whole, rest)) if rest.len() == 3 && !whole.is_empty() => (format!("{whole}{rest}"), true),
        _ => (key.to_owned(), false),
    }
}

/// Parses a document of limited size.
pub(crate) fn document<T: serde::de::DeserializeOwned>(
    input: &mut dyn std::io::BufRead,
) -> Result<T, crate::ReadError> {
    use std::io::Read;
    let mut limited = input.take(LONGEST_JSON);
    let read = serde_json::from_reader(&mut limited);
    match read {
        Err(_) if limited.limit() == 0 => Err(crate::ReadError::TooMuch {
            what: "bytes of JSON",
            most: LONGEST_JSON,
        }),
        Err(error) if error.is_io() => Err(crate::ReadError::Io(error.into())),
        read => Ok(read?),
    }
}
