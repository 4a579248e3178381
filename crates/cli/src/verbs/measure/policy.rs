//! Policies as they are written on the command line: `fifo:80`, `rr:50`, `other`.

use machine::Policy;

/// Policy and priority of the samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// `Other`, `Fifo` or `Rr`.
    pub policy: Policy,
    /// 1 to 99; 0 for `Other`.
    pub priority: u32,
}

/// Reads one.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_policy(text: &str) -> Result<Sampler, String> {
    let (word, priority) = text
        .split_once(':')
        .map_or((text, None), |(word, priority)| (word, Some(priority)));
    let policy = match word {
        "other" if priority.is_none() => {
            return Ok(Sampler {
                policy: Policy::Other,
                priority: 0,
            });
        }
        "other" => return Err("`other` has no priority".to_owned()),
        "fifo" => Policy::Fifo,
        "rr" => Policy::Rr,
        _ => {
            return Err(format!(
                "`{text}` is no policy of a sampler: use fifo:80, rr:50 or other"
            ));
        }
    };
    match priority.map(str::parse) {
        Some(Ok(priority @ 1..=99)) => Ok(Sampler { policy, priority }),
        _ => Err(format!("`{word}` needs a priority from 1 to 99, as in {word}:80")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_samplers() {
        assert_eq!(
            parse_policy("fifo:80"),
            Ok(Sampler {
                policy: Policy::Fifo,
                priority: 80
            })
        );
        assert_eq!(
            parse_policy("other"),
            Ok(Sampler {
                policy: Policy::Other,
                priority: 0
            })
        );
        for text in ["", "fifo", "fifo:0", "fifo:100", "other:3", "batch", "rr:x"] {
            assert!(parse_policy(text).is_err(), "{text}");
        }
    }
}
