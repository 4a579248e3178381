//! One disturbance as it really was, and its text form: `KIND INTENDED_NS BEGIN_NS END_NS`.

use std::fmt;
use std::str::FromStr;

/// If a disturbance exceeds its intended length by more than this, something else ended it late.
pub(crate) const SPOILED_NS: u64 = 2_000;

/// The kind of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisturbanceKind {
    /// A thread of higher priority keeps the CPU busy.
    Preempt,
    /// The process gets SIGSTOP, and SIGCONT later.
    Stop,
    /// Another CPU sends a function-call interrupt.
    Ipi,
    /// The injector's own busy loop was preempted. The gap of the loop, with the length of the preemption as the
    /// intended length.
    Switch,
}

const NAMES: [(DisturbanceKind, &str); 4] = [
    (DisturbanceKind::Preempt, "preempt"),
    (DisturbanceKind::Stop, "stop"),
    (DisturbanceKind::Ipi, "ipi"),
    (DisturbanceKind::Switch, "switch"),
];

/// One disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InjectedDisturbance {
    /// The kind.
    pub(crate) kind: DisturbanceKind,
    /// The intended length, or 0 if it cannot be chosen (an interrupt).
    pub(crate) intended_ns: u64,
    /// First time that is certainly inside, on `CLOCK_MONOTONIC`. For an interrupt: when the sender requested it.
    pub(crate) begin_ns: u64,
    /// Last time inside. For an interrupt: when the sender received the reply.
    pub(crate) end_ns: u64,
}

impl InjectedDisturbance {
    /// The actual length.
    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// Whether the machine's own noise lengthened it: the busy loop ends in time unless something prevents it. Noise in
    /// the middle of a busy time changes neither end and spoils nothing.
    pub(crate) fn spoiled(&self) -> bool {
        self.kind == DisturbanceKind::Preempt && self.length_ns() > self.intended_ns + SPOILED_NS
    }
}

impl fmt::Display for InjectedDisturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(kind, _)| *kind == self.kind);
        let name = name.map_or("", |(_, name)| name);
        write!(f, "{name} {} {} {}", self.intended_ns, self.begin_ns, self.end_ns)
    }
}

impl FromStr for InjectedDisturbance {
    type Err = String;

    fn from_str(line: &str) -> Result<InjectedDisturbance, String> {
        let wrong = || format!("not a line of the injector: {line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, numbers @ ..] = words.as_slice() else {
            return Err(wrong());
        };
        let kind = NAMES.iter().find(|(_, known)| known == name).ok_or_else(wrong)?.0;
        let numbers: Result<Vec<u64>, _> = numbers.iter().map(|word| word.parse()).collect();
        match numbers.map_err(|_| wrong())?.as_slice() {
            &[intended_ns, begin_ns, end_ns] if begin_ns <= end_ns => Ok(InjectedDisturbance {
                kind,
                intended_ns,
                begin_ns,
                end_ns,
            }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_line_is_read_back_as_written() {
        let event = InjectedDisturbance {
            kind: DisturbanceKind::Preempt,
            intended_ns: 5_000,
            begin_ns: 100,
            end_ns: 5_150,
        };
        assert_eq!(event.to_string(), "preempt 5000 100 5150");
        assert_eq!("preempt 5000 100 5150".parse(), Ok(event));
        for wrong in [
            "",
            "preempt",
            "preempt 1 2",
            "nothing 1 2 3",
            "stop 1 3 2",
            "ipi 0 1 2 3",
        ] {
            assert!(wrong.parse::<InjectedDisturbance>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_event_that_ended_late_is_spoiled() {
        let event = |kind, length: u64| InjectedDisturbance {
            kind,
            intended_ns: 5_000,
            begin_ns: 1_000,
            end_ns: 1_000 + length,
        };
        assert!(!event(DisturbanceKind::Preempt, 7_000).spoiled());
        assert!(event(DisturbanceKind::Preempt, 7_001).spoiled());
        assert!(
            !event(DisturbanceKind::Stop, 9_000).spoiled(),
            "a stop is as long as it was"
        );
    }
}
