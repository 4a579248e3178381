//! Formats and parses times: wall-clock times, and durations as users write them (`10s`, `500ms`, `1 min`).

use std::time::Duration;

/// Seconds since 1970 as RFC 3339 in UTC (`2026-01-31T12:00:00Z`), by Howard Hinnant's civil-from-days rule.
#[must_use]
pub fn utc_text(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_place = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_place + 2) / 5 + 1;
    let month = if month_place < 10 {
        month_place + 3
    } else {
        month_place - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// Parses a duration with its unit; a bare number is seconds.
///
/// # Errors
/// Text that is not a duration, negative, or longer than a hundred years.
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
                "`{other}` is not a unit of time: use ns, us, ms, s, min, h or d"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a time: write it as 10s, 500ms or 200us"))?;
    let seconds = number * seconds_per_unit;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds < 3.2e9 => Ok(duration),
        _ => Err(format!("`{text}` is too long")),
    }
}

/// A duration in nanoseconds, limited to 64 bits.
#[must_use]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A duration as readable text, rounded up.
#[must_use]
pub fn duration_text(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1_000);
    match seconds {
        0 => "no time".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_duration, utc_text};
    use std::time::Duration;

    #[test]
    fn leap_days_and_century_years_are_formatted() {
        let check = |seconds, text: &str| assert_eq!(utc_text(seconds), text);
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_709_164_800, "2024-02-29T00:00:00Z");
        check(1_798_761_599, "2026-12-31T23:59:59Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }

    #[test]
    fn durations_need_a_known_unit() {
        let ok = |text, time| assert_eq!(parse_duration(text), Ok(time), "{text}");
        ok("10s", Duration::from_secs(10));
        ok("1 min", Duration::from_secs(60));
        ok("10", Duration::from_secs(10));
        ok("500ms", Duration::from_millis(500));
        ok("200us", Duration::from_micros(200));
        ok("1.5min", Duration::from_secs(90));
        for text in ["", "s", "-1s", "1 fortnight", "1e99", "1.2.3s", "99999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
