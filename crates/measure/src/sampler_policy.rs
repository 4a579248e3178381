//! Parses sampler policies as on the command line: `fifo:80`, `rr:50`, `other`, `deadline:200us/1ms`.

use crate::choices::Deadline;
use crate::lane::{Lane, PolicyFallback};
use machine::{Policy, nanoseconds, parse_duration};

/// Policy of the samplers, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplerPolicy {
    policy: Policy,
    /// 1 to 99; 0 for policies without one.
    priority: u32,
    /// For `Deadline`.
    deadline: Deadline,
}

impl SamplerPolicy {
    /// Sets it in a lane, as a required policy.
    pub fn fill(self, lane: &mut Lane) {
        lane.if_refused = PolicyFallback::Fails;
        lane.policy = self.policy;
        lane.priority = self.priority;
        lane.deadline = self.deadline;
    }
}

/// Parses a policy.
///
/// # Errors
/// A description of what is wrong with it.
pub fn parse_policy(text: &str) -> Result<SamplerPolicy, String> {
    let (word, rest) = text
        .split_once(':')
        .map_or((text, None), |(word, rest)| (word, Some(rest)));
    let plain = |policy| SamplerPolicy {
        policy,
        priority: 0,
        deadline: Deadline::default(),
    };
    let policy = match (word, rest) {
        ("other", None) => return Ok(plain(Policy::Other)),
        ("batch", None) => return Ok(plain(Policy::Batch)),
        ("idle", None) => return Ok(plain(Policy::Idle)),
        ("other" | "batch" | "idle", Some(_)) => return Err(format!("`{word}` takes no priority")),
        ("deadline", _) => {
            return parse_deadline(rest).map(|deadline| SamplerPolicy {
                deadline,
                ..plain(Policy::Deadline)
            });
        }
        ("fifo", _) => Policy::Fifo,
        ("rr", _) => Policy::Rr,
        _ => {
            return Err(format!(
                "`{text}` is not a policy of a sampler: use fifo:80, rr:50, other, batch, idle or deadline:200us/1ms"
            ));
        }
    };
    match rest.map(str::parse) {
        Some(Ok(priority @ 1..=99)) => Ok(SamplerPolicy {
            priority,
            ..plain(policy)
        }),
        _ => Err(format!("`{word}` needs a priority from 1 to 99, as in {word}:80")),
    }
}

fn parse_deadline(text: Option<&str>) -> Result<Deadline, String> {
    let (runtime, period) = text
        .and_then(|text| text.split_once('/'))
        .ok_or("`deadline` needs its runtime and period, as in deadline:200us/1ms")?;
    let deadline = Deadline {
        runtime_ns: nanoseconds(parse_duration(runtime)?),
        period_ns: nanoseconds(parse_duration(period)?),
    };
    match deadline.runtime_ns <= deadline.period_ns {
        true => Ok(deadline),
        false => Err(format!("a runtime of {runtime} does not fit into a period of {period}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampler_policies_are_parsed() {
        let is = |text, policy, priority| {
            let sampler = parse_policy(text).unwrap();
            assert_eq!((sampler.policy, sampler.priority), (policy, priority), "{text}");
        };
        is("fifo:80", Policy::Fifo, 80);
        is("rr:1", Policy::Rr, 1);
        is("other", Policy::Other, 0);
        is("batch", Policy::Batch, 0);
        is("idle", Policy::Idle, 0);
        let deadline = parse_policy("deadline:200us/1ms").unwrap();
        assert_eq!(
            (deadline.policy, deadline.deadline),
            (
                Policy::Deadline,
                Deadline {
                    runtime_ns: 200_000,
                    period_ns: 1_000_000
                }
            )
        );
        for text in [
            "",
            "fifo",
            "fifo:0",
            "fifo:100",
            "other:3",
            "normal",
            "rr:x",
            "batch:1",
            "deadline",
            "deadline:1ms",
            "deadline:/",
            "deadline:2ms/1ms",
            "deadline:1ms/x",
        ] {
            assert!(parse_policy(text).is_err(), "{text}");
        }
    }
}
