//! Defines the table `[pool]`: the CPUs that `lease` gives out.

use super::DeclarationError;
use crate::Profile;
use serde::Deserialize;

/// The CPUs that are leased, and how.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PoolSettings {
    /// Which CPUs, as a CPU expression.
    pub cpus: String,
    /// The profile of a lease that requests none.
    #[serde(default)]
    pub profile: Profile,
    /// How many CPUs of the pool are never leased.
    #[serde(default)]
    pub reserve: usize,
}

impl PoolSettings {
    pub(super) fn checked(self, line: usize) -> Result<PoolSettings, DeclarationError> {
        match self.cpus.trim().is_empty() {
            false => Ok(self),
            true => Err(DeclarationError::new(
                line,
                "[pool] cpus: an empty list leases nothing",
                "write a list such as \"2-7\", or remove the table",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Profile;
    use crate::declared::{parse, pool};

    #[test]
    fn a_pool_has_cpus_a_profile_and_a_reserve() {
        assert_eq!(pool(b"").unwrap(), None);
        let least = pool(b"[pool]\ncpus = \"2-7\"\n").unwrap().unwrap();
        assert_eq!((least.profile, least.reserve), (Profile::Balanced, 0));
        let all = b"[[partition]]\ncpus = \"1\"\n[pool]\ncpus = \"node:1\"\nprofile = \"strict\"\nreserve = 2\n";
        let all = pool(all).unwrap().unwrap();
        assert_eq!(
            (all.cpus.as_str(), all.profile, all.reserve),
            ("node:1", Profile::Strict, 2)
        );
    }

    #[test]
    fn invalid_pools_are_reported_with_their_line() {
        for (text, word) in [
            ("[pool]\n", "cpus"),
            ("\n[pool]\ncpus = \" \"", "line 2: [pool] cpus"),
            ("[pool]\ncpus = 3", "line 2"),
            ("[pool]\ncpus = \"1\"\nreserve = -1", "line 3"),
            ("[pool]\ncpus = \"1\"\nprofile = \"loud\"", "loud"),
            ("[pool]\ncpus = \"1\"\nreserv = 1", "reserve"),
            (
                "[pool]\ncpus = \"2-3\"\n[[partition]]\nname = \"rt\"\ncpus = \"3-4\"",
                "line 1: CPU 3 is in the pool and declared for partition rt in line 3",
            ),
        ] {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
