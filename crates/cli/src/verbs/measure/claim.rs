//! Parses the claim that a run must prove: `50us:1e-6`, or `1e-6 > 50us`.

use machine::nanoseconds;
use machine::parse_duration;
use measure::Claim;

/// Parses a claim.
///
/// # Errors
/// What is wrong with it.
pub fn parse_claim(text: &str) -> Result<Claim, String> {
    let (limit, share) = match (text.split_once(':'), text.split_once('>')) {
        (Some((limit, share)), None) => (limit, share),
        (None, Some((share, limit))) => (limit, share),
        _ => {
            return Err(format!(
                "`{text}` is not a claim: write 50us:1e-6 for `at most 1e-6 are above 50 us`"
            ));
        }
    };
    let at_most: f64 = share
        .trim()
        .parse()
        .map_err(|_| format!("`{}` is not a share: write 1e-6 or 0.000001", share.trim()))?;
    match at_most > 0.0 && at_most.is_finite() {
        true => Ok(Claim {
            limit_ns: nanoseconds(parse_duration(limit)?),
            at_most,
        }),
        false => Err("no run, however long, can show a share of 0: specify a share above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_parsed_in_both_orders() {
        let claim = Claim {
            limit_ns: 50_000,
            at_most: 1e-6,
        };
        for text in ["50us:1e-6", "50us: 0.000001", "1e-6 > 50us", "1e-6>50us"] {
            assert_eq!(parse_claim(text), Ok(claim), "{text}");
        }
        for text in [
            "", "50us", "50us:0", "50us:-1", "50us:x", "x:1e-6", "50us:inf", "50us:nan", "a:b>c",
        ] {
            assert!(parse_claim(text).is_err(), "{text}");
        }
    }
}
