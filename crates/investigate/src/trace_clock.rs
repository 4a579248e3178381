//! Defines the clocks that can join gaps and events: the trace supports them, and programs can read them.

use apply::tracing::TracingSetting;
use root::{Failure, Tracefs};
use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, Serializer};

/// A clock that the trace and the sampler can both read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceClock {
    /// `CLOCK_MONOTONIC_RAW`: the kernel never slews it (`trace_clock` has it since 4.2).
    #[default]
    MonoRaw,
    /// `CLOCK_MONOTONIC`
    Mono,
    /// `CLOCK_BOOTTIME`
    Boot,
}

/// Serialized by its POSIX name.
impl Serialize for TraceClock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.posix_name())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for TraceClock {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceClock".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A clock that the trace and the sampler can both read.",
            "type": "string",
            "enum": ALL.map(TraceClock::posix_name),
        })
    }
}

/// The best one first.
const ALL: [TraceClock; 3] = [TraceClock::MonoRaw, TraceClock::Mono, TraceClock::Boot];

impl TraceClock {
    /// The name in `trace_clock`.
    pub const fn name(self) -> &'static str {
        match self {
            TraceClock::MonoRaw => "mono_raw",
            TraceClock::Mono => "mono",
            TraceClock::Boot => "boot",
        }
    }

    /// The POSIX name.
    pub const fn posix_name(self) -> &'static str {
        match self {
            TraceClock::MonoRaw => "CLOCK_MONOTONIC_RAW",
            TraceClock::Mono => "CLOCK_MONOTONIC",
            TraceClock::Boot => "CLOCK_BOOTTIME",
        }
    }

    /// The current time.
    pub fn now_ns(self) -> u64 {
        let now = clock_gettime(match self {
            TraceClock::MonoRaw => ClockId::MonotonicRaw,
            TraceClock::Mono => ClockId::Monotonic,
            TraceClock::Boot => ClockId::Boottime,
        });
        let part = |part: i64| u64::try_from(part).unwrap_or(0);
        part(now.tv_sec as i64) * 1_000_000_000 + part(now.tv_nsec as i64)
    }

    /// The current offset to [`TraceClock::MonoRaw`] in nanoseconds, from the narrowest of several readings. Time
    /// synchronisation changes it by less than a millionth of the elapsed time, at most by a two-thousandth.
    pub fn ahead_ns(self) -> i64 {
        if self == TraceClock::MonoRaw {
            return 0;
        }
        let read = |_| {
            let (before, now, after) = (
                TraceClock::MonoRaw.now_ns(),
                self.now_ns(),
                TraceClock::MonoRaw.now_ns(),
            );
            let width = after.saturating_sub(before);
            (width, now.wrapping_sub(before + width / 2).cast_signed())
        };
        (0..16).map(read).min().map_or(0, |(_, ahead)| ahead)
    }
}

/// The settings that select it. By default each clock is tried, the best one last: the kernel rejects unknown clocks, and
/// [`in_force`] returns the active one.
pub fn settings(named: Option<TraceClock>) -> Vec<TracingSetting> {
    match named {
        Some(clock) => vec![TracingSetting::must("trace_clock", clock.name())],
        None => {
            let worst_first = ALL.iter().rev();
            worst_first
                .map(|clock| TracingSetting::may("trace_clock", clock.name()))
                .collect()
        }
    }
}

/// The active clock of a trace, from the text of its `trace_clock`, where it is in brackets.
///
/// # Errors
/// A clock that programs cannot read.
pub fn in_force(text: &str) -> Result<TraceClock, Failure> {
    let mut words = text.split_whitespace();
    let name = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let found = ALL.into_iter().find(|clock| Some(clock.name()) == name);
    found.ok_or_else(|| {
        Failure::unable(
            Tracefs::display_path("trace_clock"),
            format!(
                "the trace has no clock that gaps can be measured on, only: {}",
                report::safe(text.trim())
            ),
            "use a kernel whose trace has the clock mono (since 4.1)",
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use root::Status;

    #[test]
    fn only_the_word_in_brackets_is_the_current_clock() {
        assert_eq!(
            in_force("local global [mono_raw] mono boot\n").unwrap(),
            TraceClock::MonoRaw
        );
        assert_eq!(
            in_force("local global counter uptime perf [mono]\n").unwrap(),
            TraceClock::Mono
        );
        assert_eq!(in_force("local mono_raw [boot] tai").unwrap(), TraceClock::Boot);
        for none in ["[local] global counter", "", "mono_raw", "[mono_raw"] {
            assert_eq!(in_force(none).unwrap_err().status, Status::Unable, "{none}");
        }
    }

    #[test]
    fn the_best_supported_clock_is_selected() {
        // As a kernel does: it rejects an unknown clock, and the last accepted one stays.
        let taken = |has: &[&str], requested| {
            let wanted = settings(requested);
            let took = wanted.iter().rfind(|setting| has.contains(&setting.value.as_str()));
            took.map(|setting| setting.value.clone())
        };
        assert_eq!(taken(&["local", "mono", "mono_raw", "boot"], None).unwrap(), "mono_raw");
        assert_eq!(taken(&["local", "mono", "boot"], None).unwrap(), "mono");
        assert_eq!(taken(&["local", "boot"], None).unwrap(), "boot");
        assert_eq!(
            taken(&["mono", "mono_raw", "boot"], Some(TraceClock::Boot)).unwrap(),
            "boot"
        );
    }

    #[test]
    fn raw_time_plus_the_offset_gives_the_time_of_another_clock() {
        for clock in ALL {
            let before = clock.now_ns();
            let made = TraceClock::MonoRaw.now_ns().saturating_add_signed(clock.ahead_ns());
            let after = clock.now_ns();
            // Independent of delays: both readings are between the two others.
            let slack = 1_000_000 + (after - before);
            assert!(
                made + slack >= before && made <= after + slack,
                "{clock:?}: {before} {made} {after}"
            );
        }
    }
}
