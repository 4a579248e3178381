//! Matches names of processes and threads against patterns, and parses `--pin 'GLOB=CPULIST'`.

/// A pattern with `*`, `?` and `[a-z]`, for a name in `/proc/PID/comm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// The length at which the kernel truncates names (`TASK_COMM_LEN` minus the NUL).
    const COMM: usize = 15;

    /// Parses a pattern.
    ///
    /// # Errors
    /// An empty pattern, and an unclosed bracket.
    pub fn parse(text: &str) -> Result<Glob, String> {
        if text.is_empty() {
            return Err("an empty pattern matches nothing".to_owned());
        }
        let open = text.rfind('[');
        if open.is_some_and(|open| !text[open..].contains(']')) {
            return Err(format!("`{text}` has a `[` without a matching `]`"));
        }
        Ok(Glob(text.to_owned()))
    }

    /// Whether it matches a name. A pattern longer than the kernel keeps matches the truncated name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let cut = name.len() == Glob::COMM && self.0.starts_with(name);
        cut || matches(self.0.as_bytes(), name.as_bytes())
    }

    /// The pattern as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Not recursive: after a mismatch the last `*` takes one more byte.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match one(pattern.get(at..).unwrap_or_default(), name[seen]) {
            PatternStep::Star => {
                star = Some((at + 1, seen));
                at += 1;
            }
            PatternStep::Takes(length) => {
                at += length;
                seen += 1;
            }
            PatternStep::No => match &mut star {
                Some((after, taken)) => {
                    *taken += 1;
                    (at, seen) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

enum PatternStep {
    Star,
    Takes(usize),
    No,
}

fn one(pattern: &[u8], letter: u8) -> PatternStep {
    match pattern.first() {
        Some(b'*') => PatternStep::Star,
        Some(b'?') => PatternStep::Takes(1),
        Some(b'[') => bracket(pattern, letter),
        Some(byte) if *byte == letter => PatternStep::Takes(1),
        _ => PatternStep::No,
    }
}

fn bracket(pattern: &[u8], letter: u8) -> PatternStep {
    let Some(end) = pattern.iter().skip(2).position(|byte| *byte == b']').map(|at| at + 2) else {
        return PatternStep::No;
    };
    let inside = pattern.get(1..end).unwrap_or_default();
    let (inside, is_member) = match inside.split_first() {
        Some((b'!' | b'^', rest)) => (rest, false),
        _ => (inside, true),
    };
    let mut found = false;
    let mut at = 0;
    while let Some(first) = inside.get(at) {
        match (inside.get(at + 1), inside.get(at + 2)) {
            (Some(b'-'), Some(last)) => {
                found |= (*first..=*last).contains(&letter);
                at += 3;
            }
            _ => {
                found |= *first == letter;
                at += 1;
            }
        }
    }
    if found == is_member {
        PatternStep::Takes(end + 1)
    } else {
        PatternStep::No
    }
}

/// `GLOB=CPULIST`: pins threads with matching names to these CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Names of threads.
    pub glob: Glob,
    /// CPUs, as written.
    pub cpus: String,
}

impl Pin {
    /// Parses it. The last `=` is the separator, because names may contain one.
    ///
    /// # Errors
    /// Text without `=`, without a pattern or without CPUs.
    pub fn parse(text: &str) -> Result<Pin, String> {
        match text.rsplit_once('=') {
            Some((glob, cpus)) if !cpus.trim().is_empty() => Ok(Pin {
                glob: Glob::parse(glob)?,
                cpus: cpus.to_owned(),
            }),
            _ => Err(format!("`{text}` needs a pattern and CPUs, as in 'io*=2'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name) in [
            ("fio/*", "fio/3"),
            ("*", ""),
            ("*", "anything"),
            ("a?c", "abc"),
            ("*b*b", "abbb"),
            ("io[0-3]", "io2"),
            ("io[!0-3]", "io7"),
            ("[]x]", "]"),
            ("a**", "a"),
            ("(a) b", "(a) b"),
            ("a-very-long-name-indeed", "a-very-long-nam"),
            ("rtapi:0", "rtapi:0"),
        ] {
            assert!(Glob::parse(pattern).unwrap().matches(name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("fio", "fio/3"),
            ("?", ""),
            ("io[0-3]", "io4"),
            ("io[!0-3]", "io0"),
            ("*b", "abc"),
            ("A", "a"),
            ("a-very-long-name", "a-very-long"),
        ] {
            assert!(!Glob::parse(pattern).unwrap().matches(name), "{pattern} {name}");
        }
        assert!(Glob::parse("").is_err() && Glob::parse("io[0-").is_err());
    }

    #[test]
    fn a_pin_needs_names_and_cpus() {
        let pin = Pin::parse("a=b*=2-3").unwrap();
        assert_eq!((pin.glob.text(), pin.cpus.as_str()), ("a=b*", "2-3"));
        for text in ["", "io*", "=2", "io*=", "io*= "] {
            assert!(Pin::parse(text).is_err(), "{text}");
        }
    }
}
