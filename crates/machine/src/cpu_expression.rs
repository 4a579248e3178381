//! Parses CPU expressions, as every `--cpus` accepts them: the kernel's lists and masks, and words that select CPUs by
//! topology, so that users need not count bits or read cache files.
//!
//! An expression is a list of items separated by commas; the result is their union:
//! - `3`, `2-3`, `0-31:2`, `0-15:1/4`: the kernel's list grammar; `N` is the last CPU, `all` every CPU there is;
//! - `0x8`, `ff`, `ff,ffffffff`: a hexadecimal mask. Without `0x` it needs a letter, or further groups of eight
//!   digits, because a bare number is a CPU;
//! - `package:1`, `node:0`: the CPUs of a package or a memory node (`package:0-1` for several);
//! - `package-of:7`, `node-of:7`, `llc-of:7`, `l2-of:7`, `core-of:7`: the CPUs that share it with CPU 7;
//! - `online`, `performance`, `efficiency`: by state and by kind of core.

use crate::{CoreKind, Cpu, CpuId, CpuSet, ParseError, Topology};

/// The words without an argument.
const PLAIN_WORDS: [&str; 3] = ["online", "performance", "efficiency"];

/// The words with numbers after a colon.
const WORDS: [&str; 7] = ["package", "node", "package-of", "node-of", "llc-of", "l2-of", "core-of"];

/// Evaluates an expression on a machine. Plain numbers and masks need not exist there.
///
/// `N` and `all` mean the present CPUs; if those are unknown, the possible ones. The kernel's own `N` counts empty
/// sockets too, which is never intended in `--cpus`.
///
/// # Errors
/// An empty or malformed expression, a word that does not apply to the machine, a place that does not exist.
pub fn evaluate_cpus(expression: &str, topology: &Topology) -> Result<CpuSet, ParseError> {
    let text = expression.trim();
    if text.is_empty() {
        return Err(bad(expression, "it is empty and names no CPU"));
    }
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    let known = known_cpus(topology);
    let mut set = CpuSet::new();
    let mut place = 0;
    while let Some(item) = items.get(place) {
        let groups = items[place + 1..].iter().take_while(|next| is_low_group(next)).count();
        if starts_mask(item, groups) {
            set = set.or(&CpuSet::parse_mask(&items[place..=place + groups].join(","))?);
            place += groups;
        } else if item.is_empty() {
            return Err(bad(expression, "an item between two commas is missing"));
        } else if let Some(word) = PLAIN_WORDS.iter().find(|word| *word == item) {
            set = set.or(&plain_word(word, expression, topology)?);
        } else if item.starts_with(|first: char| first.is_ascii_alphabetic()) && *item != "all" && *item != "N" {
            set = set.or(&place_word(item, expression, topology)?);
        } else {
            let parsed = match &known {
                Some(known) => CpuSet::parse_list_of(item, known),
                None => CpuSet::parse_list(item),
            };
            set = set.or(&parsed.map_err(|error| ParseError {
                expected: "a CPU expression",
                ..error
            })?);
        }
        place += 1;
    }
    Ok(set)
}

/// Every present CPU; else every possible one; `None` if both are unknown.
fn known_cpus(topology: &Topology) -> Option<CpuSet> {
    let listed: CpuSet = topology.present_cpus();
    let present = listed
        .or(&topology.online)
        .or(&topology.present.clone().unwrap_or_default());
    if present.is_empty() {
        topology.possible.clone().filter(|set| !set.is_empty())
    } else {
        Some(present)
    }
}

/// A lower group of a mask: exactly eight hexadecimal digits. No CPU number is that long.
fn is_low_group(item: &str) -> bool {
    item.len() == 8 && item.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn starts_mask(item: &str, low_groups: usize) -> bool {
    let digits = item.strip_prefix("0x").or_else(|| item.strip_prefix("0X"));
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digits {
        Some(_) => true,
        None => hex(item) && (low_groups > 0 || item.bytes().any(|byte| byte.is_ascii_alphabetic())),
    }
}

fn plain_word(word: &str, expression: &str, topology: &Topology) -> Result<CpuSet, ParseError> {
    let kind = match word {
        "performance" => CoreKind::Performance,
        "efficiency" => CoreKind::Efficiency,
        _ => return Ok(topology.online.clone()),
    };
    let set = topology.cpus_where(|cpu| cpu.kind == Some(kind));
    if set.is_empty() {
        return Err(bad(expression, &format!("this machine reports no {word} cores")));
    }
    Ok(set)
}

fn place_word(item: &str, expression: &str, topology: &Topology) -> Result<CpuSet, ParseError> {
    let (word, numbers) = item.split_once(':').unwrap_or((item, ""));
    if !WORDS.contains(&word) {
        let words = format!(
            "`{word}` is not a keyword of CPU expressions; there are {}: and {}",
            WORDS.join(":, "),
            PLAIN_WORDS.join(", ")
        );
        return Err(bad(expression, &words));
    }
    let numbers = CpuSet::parse_list(numbers).map_err(|error| bad(expression, &error.why))?;
    if numbers.is_empty() {
        return Err(bad(expression, &format!("`{word}:` needs a number, as in {word}:0")));
    }
    let mut set = CpuSet::new();
    for number in numbers.iter() {
        let part = match word {
            "package" | "node" => in_place(word, number.0, topology),
            _ => sharing(word, number, topology),
        };
        set = set.or(&part.map_err(|why| bad(expression, &why))?);
    }
    Ok(set)
}

/// CPUs of a package or node by its number.
fn in_place(word: &str, number: u32, topology: &Topology) -> Result<CpuSet, String> {
    let place = |cpu: &Cpu| {
        if word == "package" {
            cpu.package
        } else {
            cpu.node.map(i64::from)
        }
    };
    let set = topology.cpus_where(|cpu| place(cpu) == Some(i64::from(number)));
    if !set.is_empty() {
        return Ok(set);
    }
    if word == "node" && topology.nodes.iter().any(|node| node.id == number) {
        return Err(format!("node {number} has memory but no CPU"));
    }
    let mut there: Vec<i64> = topology.cpus.iter().filter_map(place).collect();
    there.sort_unstable();
    there.dedup();
    Err(match there.is_empty() {
        true => format!("this machine does not report its {word}s"),
        false => {
            let there: Vec<String> = there.iter().map(i64::to_string).collect();
            format!("there is no {word} {number}; this machine has {}", there.join(", "))
        }
    })
}

/// CPUs that share something with a CPU, itself included.
fn sharing(word: &str, number: CpuId, topology: &Topology) -> Result<CpuSet, String> {
    let Some(cpu) = topology.cpus.iter().find(|cpu| cpu.id == number) else {
        return Err(format!("there is no CPU {number}"));
    };
    let set = match word {
        "package-of" => cpu
            .package
            .map(|package| topology.cpus_where(|other| other.package == Some(package))),
        "node-of" => cpu
            .node
            .map(|node| topology.cpus_where(|other| other.node == Some(node))),
        "llc-of" => cpu.llc.clone(),
        "l2-of" => cpu.l2.clone(),
        _ => cpu.siblings.clone(),
    };
    let what = match word {
        "package-of" => "the package",
        "node-of" => "the node",
        "llc-of" => "the last-level cache",
        "l2-of" => "the level-2 cache",
        _ => "the core",
    };
    let reason = if cpu.online {
        "this machine does not report"
    } else {
        "the CPU is offline, so the kernel does not report"
    };
    set.ok_or_else(|| format!("{reason} {what} of CPU {number}"))
}

fn bad(expression: &str, why: &str) -> ParseError {
    let text = match expression.chars().count() {
        0..=60 => expression.to_owned(),
        _ => expression.chars().take(57).chain("...".chars()).collect(),
    };
    ParseError {
        text,
        expected: "a CPU expression",
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two threads each, CPU 7 offline, node 1 with memory only.
    fn topology() -> Topology {
        let pair = |low: u32| [CpuId(low), CpuId(low + 4)].into_iter().collect::<CpuSet>();
        let cpus = (0..8).map(|id| Cpu {
            package: (id != 7).then_some(i64::from(id % 4 / 2)),
            core: Some(i64::from(id % 2)),
            siblings: (id != 7).then(|| pair(id % 4)),
            llc: (id != 7).then(|| pair(id % 4 / 2 * 2).or(&pair(id % 4 / 2 * 2 + 1))),
            node: Some(0),
            ..Cpu::new(CpuId(id), id != 7)
        });
        let memory = crate::Node {
            id: 1,
            cpus: CpuSet::new(),
            has_memory: Some(true),
            distances: vec![],
        };
        Topology {
            possible: Some(CpuSet::range(0, 15)),
            online: CpuSet::range(0, 6),
            cpus: cpus.collect(),
            nodes: vec![memory],
            ..Topology::default()
        }
    }

    fn value(expression: &str) -> String {
        evaluate_cpus(expression, &topology())
            .map_or_else(|error| format!("error: {}", error.why), |set| set.to_string())
    }

    #[test]
    fn lists_masks_and_words_are_evaluated() {
        let cases = [
            ("3", "3"),
            ("2-3", "2-3"),
            ("5-7,2", "2,5-7"),
            ("0-31:2", "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30"),
            ("0-15:1/4", "0,4,8,12"),
            ("N", "7"),
            ("4-N", "4-7"),
            ("all", "0-7"),
            ("online", "0-6"),
            ("0x8", "3"),
            ("0xff,ffffffff", "0-39"),
            ("ff,ffffffff", "0-39"),
            ("ff", "0-7"),
            ("10", "10"),
            ("1,00000002", "1,32"),
            ("1,2", "1-2"),
            ("0x3,8", "0-1,8"),
            ("package:1", "2-3,6"),
            ("package:0-1", "0-6"),
            ("node:0", "0-7"),
            ("llc-of:1", "0-1,4-5"),
            ("core-of:3", "3,7"),
            (" core-of:0 , 2 ", "0,2,4"),
            ("package-of:6", "2-3,6"),
        ];
        for (expression, wanted) in cases {
            assert_eq!(value(expression), wanted, "{expression}");
        }
    }

    #[test]
    fn errors_in_expressions_name_the_cause() {
        let cases = [
            ("", "empty"),
            (" ", "empty"),
            ("1,,2", "an item between two commas is missing"),
            ("3-1", "reversed"),
            ("package:2", "this machine has 0, 1"),
            ("node:1", "has memory but no CPU"),
            ("llc-of:9", "there is no CPU 9"),
            ("llc-of:7", "offline"),
            ("package", "needs a number"),
            ("socket:1", "package:"),
            ("performance", "reports no"),
            ("70000", "65535"),
            ("0xzz", "not hexadecimal"),
            ("-1", "not a CPU number"),
            ("4294967296", "65535"),
        ];
        for (expression, wanted) in cases {
            let found = value(expression);
            assert!(
                found.starts_with("error: ") && found.contains(wanted),
                "{expression:?}: {found}"
            );
        }
    }

    #[test]
    fn numbers_work_on_a_machine_without_topology() {
        let nothing = Topology::default();
        assert_eq!(
            evaluate_cpus("1-2", &nothing).map(|set| set.to_string()),
            Ok("1-2".to_owned())
        );
        assert!(evaluate_cpus("all", &nothing).is_err());
        assert!(evaluate_cpus("N", &nothing).is_err());
    }
}
