//! Suggests a command for words that people type out of habit, where the spelling alone suggests nothing.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// A command, and other words for it.
const SYNONYMS: &[(&str, &[&str])] = &[
    (
        "apply",
        &["isolate", "shield", "start", "enable", "create", "partition"],
    ),
    (
        "undo",
        &[
            "stop",
            "remove",
            "reset",
            "restore",
            "revert",
            "disable",
            "unisolate",
            "rollback",
        ],
    ),
    ("run", &["exec", "launch", "taskset"]),
    ("move", &["pin", "attach"]),
    ("check", &["verify", "validate", "test", "doctor", "audit"]),
    ("inspect", &["show", "list", "info", "topology", "lscpu"]),
    (
        "measure",
        &[
            "bench",
            "benchmark",
            "latency",
            "noise",
            "jitter",
            "cyclictest",
            "osnoise",
        ],
    ),
    ("blame", &["why", "debug", "profile"]),
    ("lease", &["borrow", "reserve", "allocate"]),
    ("history", &["log", "journal"]),
    ("watch", &["monitor", "daemon", "metrics"]),
    ("snapshot", &["capture", "dump"]),
];

/// Adds the command that was meant to the error about an unknown command.
pub fn with_synonym(mut error: Error, command_line: &[OsString]) -> Error {
    let first = command_line
        .iter()
        .skip(1)
        .find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let meant = first.and_then(|word| {
        let is_word = |(_, words): &&(&str, &[&str])| words.iter().any(|one| *word == **one);
        SYNONYMS.iter().find(is_word)
    });
    if let (ErrorKind::InvalidSubcommand, Some((command, _))) = (error.kind(), meant) {
        let suggested = ContextValue::Strings(vec![(*command).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[&str]) -> String {
        let line: Vec<OsString> = ["quietcore"].iter().chain(words).map(OsString::from).collect();
        let error = crate::command().try_get_matches_from(&line).unwrap_err();
        with_synonym(error, &line).to_string()
    }

    #[test]
    fn a_habitual_word_suggests_the_command() {
        for (command, words) in SYNONYMS {
            for word in *words {
                let message = message(&["-v", word]);
                assert!(message.contains(&format!("'{command}'")), "{word}: {message}");
            }
        }
    }

    #[test]
    fn a_typing_error_still_suggests_the_similar_command() {
        assert!(message(&["aply"]).contains("'apply'"));
        // Below `boot` the word means something else.
        assert!(!message(&["boot", "stop"]).contains("'undo'"));
    }

    #[test]
    fn every_suggested_command_exists_and_no_command_is_a_synonym() {
        let command = crate::command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        for (suggested, words) in SYNONYMS {
            assert!(names.contains(suggested), "{suggested}");
            assert!(words.iter().all(|word| !names.contains(word)), "{words:?}");
        }
    }
}
