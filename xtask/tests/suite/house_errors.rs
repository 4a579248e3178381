//! Checks that errors have types. Text is an error only where a parser checks text and its caller adds the location: an
//! option, a file and a line.

use crate::house::code;
use crate::support::{none, product, sample};

/// Files whose functions return `Result<_, String>`, with the reason.
const PARSERS: &[(&str, &str)] = &[
    ("crates/cli/src/foreign.rs", VALUE),
    ("crates/cli/src/verbs/check.rs", VALUE),
    ("crates/cli/src/verbs/compare.rs", VALUE),
    ("crates/cli/src/verbs/measure/claim.rs", VALUE),
    ("crates/cli/src/verbs/report.rs", VALUE),
    ("crates/cli/src/verbs/study/options.rs", VALUE),
    ("crates/cli/src/verbs/study/report.rs", VALUE),
    ("crates/cli/src/verbs/trace/report.rs", VALUE),
    ("crates/cli/src/verbs/watch.rs", VALUE),
    ("crates/compat/src/count_ticks.rs", "the command line of the original"),
    ("crates/formats/src/hlog/packed.rs", "one histogram of a line"),
    ("crates/formats/src/requirement.rs", "one requirement"),
    ("crates/machine/src/cpu_expression.rs", "one word of a CPU expression"),
    ("crates/machine/src/time.rs", "one time"),
    ("crates/machine/src/units.rs", FIELD),
    ("crates/measure/src/configuration/own_form.rs", FIELD),
    ("crates/measure/src/sampler_policy.rs", "one policy"),
    ("crates/plan/src/declared/webhook.rs", FIELD),
    ("crates/plan/src/lint/cpu_list.rs", "one CPU list of a boot line"),
    ("crates/session/src/comm_pattern.rs", "one pattern"),
    ("crates/session/src/policy.rs", "one policy"),
];

const VALUE: &str = "the value of an option, to which clap adds the option";
const FIELD: &str = "the value of a field, to which serde adds the line";

/// The last of several arguments of a generic type whose text starts after its `<`. Empty if there is only one.
fn last_argument(arguments: &str) -> &str {
    let (mut depth, mut start) = (0_u32, 0);
    for (at, letter) in arguments.char_indices() {
        // `->` closes no bracket.
        let is_arrow = letter == '>' && arguments[..at].ends_with('-');
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if depth == 0 && !is_arrow && start == 0 => return "",
            '>' if depth == 0 && !is_arrow => return arguments[start..at].trim(),
            '>' if is_arrow => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !arguments[at + 1..].trim_start().starts_with('>') => start = at + 1,
            _ => {}
        }
    }
    ""
}

/// Whether code has a `Result` or a conversion whose error is a `String`.
fn has_text_error(code: &str) -> bool {
    let is_text = |(at, word): (usize, &str)| {
        let argument = last_argument(&code[at + word.len()..]);
        argument.trim_end_matches(',').trim_end() == "String"
    };
    code.contains("type Error = String") || code.match_indices("Result<").any(is_text)
}

/// Files with such an error that are not parsers.
fn with_text_errors(files: &[(String, String)]) -> Vec<String> {
    let is_parser = |name: &str| PARSERS.iter().any(|(parser, _)| *parser == name);
    let found = files
        .iter()
        .filter(|(name, text)| !is_parser(name) && has_text_error(&code(text)));
    found.map(|(name, _)| name.clone()).collect()
}

#[test]
fn an_error_outside_of_parsers_has_a_type() {
    let files = product();
    none(
        &with_text_errors(&files),
        "an error is a type with a variant per cause (or root::Failure), unless the file is a parser",
    );
    let has_none = |(parser, _): &&(&str, &str)| {
        let own = files.iter().find(|(name, _)| name == parser);
        own.is_none_or(|(_, text)| !has_text_error(&code(text)))
    };
    let over: Vec<String> = PARSERS
        .iter()
        .filter(has_none)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    none(&over, "a file of the list returns a text as error");
}

#[test]
fn a_text_as_error_is_found_in_every_form() {
    for text in [
        "fn x() -> Result<(), String> {}",
        "fn x() -> Result<Vec<(u32, Option<u64>)>, String> {}",
        "fn x() -> Result<\n    (A, B),\n    String,\n> {}",
        "type Join<'a> = &'a dyn Fn(u32) -> Result<(), String>;",
        "fn x(f: Result<fn(u8) -> u8, String>) {}",
        "fn x() -> Result<Result<A, String>, Failure> {}",
        "impl TryFrom<u8> for X {\n    type Error = String;\n}",
    ] {
        assert_eq!(with_text_errors(&sample("crates/x/src/y.rs", text)).len(), 1, "{text}");
    }
    for text in [
        "fn x() -> Result<String, Failure> {}",
        "fn x() -> Result<BTreeMap<u8, String>, Failure> {}",
        "fn x() -> Result<String> {}",
        "// Result<(), String>",
        "#[cfg(test)]\nmod tests {\n    fn x() -> Result<(), String> {}\n}",
    ] {
        none(&with_text_errors(&sample("crates/x/src/y.rs", text)), text);
    }
}
