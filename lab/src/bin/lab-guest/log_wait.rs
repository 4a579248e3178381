//! Waits for lines of a daemon's log.
//!
//! A single process reads new lines. A shell that starts four programs per poll would take the emulated CPUs that the
//! daemon needs.

use serde_json::Value;
use std::time::{Duration, Instant};

/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// `lab-guest logged LOG FROM SECONDS ID SUBJECT`: prints when `appeared` and then `gone` was logged, or `never`.
pub fn wait(log: &str, from: usize, limit: Duration, id: &str, subject: &str) -> Result<(), String> {
    let start = Instant::now();
    let is = |line: &str, event: &str| {
        serde_json::from_str::<Value>(line).is_ok_and(|line| {
            let is_about = line["subject"].as_str().is_some_and(|text| text.contains(subject));
            line["event"] == event && line["id"] == id && is_about
        })
    };
    let (mut seen, mut read) = (from, 0);
    let mut times = Vec::new();
    while let Some(event) = ["appeared", "gone"].get(times.len()) {
        let length = std::fs::metadata(log).map_err(|error| format!("{log}: {error}"))?.len();
        if length > read {
            read = length;
            let text = std::fs::read_to_string(log).map_err(|error| format!("{log}: {error}"))?;
            let mut new = text.lines().enumerate().skip(seen);
            if let Some((place, _)) = new.find(|(_, line)| is(line, event)) {
                seen = place + 1;
                // The log may already contain `gone`, so it is read again from the start.
                read = 0;
                times.push(uptime()?);
                continue;
            }
        }
        if start.elapsed() > limit {
            times.push("never".to_owned());
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    println!("{}", times.join(" "));
    Ok(())
}

/// Seconds since boot, with two decimals.
fn uptime() -> Result<String, String> {
    let text = std::fs::read_to_string("/proc/uptime").map_err(|error| format!("/proc/uptime: {error}"))?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}
