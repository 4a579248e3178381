//! Times on the command line: `10s`, `500ms`, `200us`, `5min`, `2h`.

use std::time::Duration;

/// Parses a time with its unit; a bare number is seconds.
///
/// # Errors
/// Text that is no time, negative, or longer than a hundred years.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_per_unit = match unit.trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        other => {
            return Err(format!(
                "`{other}` is no unit of time: use ns, us, ms, s, min, h or d"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no time: write it as 10s, 500ms or 200us"))?;
    let seconds = number * seconds_per_unit;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds < 3.2e9 => Ok(duration),
        _ => Err(format!("`{text}` is too long")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn takes_units_and_refuses_the_rest() {
        let ok = |text, time| assert_eq!(parse_duration(text), Ok(time), "{text}");
        ok("10s", Duration::from_secs(10));
        ok("10", Duration::from_secs(10));
        ok("500ms", Duration::from_millis(500));
        ok("200us", Duration::from_micros(200));
        ok("1.5min", Duration::from_secs(90));
        for text in ["", "s", "-1s", "1 fortnight", "1e99", "1.2.3s", "99999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
