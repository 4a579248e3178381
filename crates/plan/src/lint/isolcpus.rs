//! Rules about `isolcpus=`: its flags, pitfalls of its parser, and differences between kernel versions.

use super::Check::{Each, EachIsolcpus, One};
use super::line::{Isolcpus, LintedLine, parse_cpus};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::CpuSet;

pub(super) fn raw<'a>(line: &'a LintedLine, one: &Isolcpus) -> &'a str {
    line.words.get(one.word).map_or("", |word| word.raw)
}

pub(super) fn hit(line: &LintedLine, one: &Isolcpus) -> LintHit {
    LintHit::on(raw(line, one))
}

/// How to remove these CPUs from the scheduler domains on this line, with the flags that this kernel accepts.
///
/// A second `isolcpus=` would contradict the existing one, so the existing one must name them, even if it names no CPU
/// now: TuneD writes `isolcpus=` if its variable is empty.
pub(super) fn naming(line: &LintedLine, cpus: &CpuSet) -> String {
    let mut flags = match line.facts.since((5, 6)) {
        Some(false) => vec!["domain"],
        _ => vec!["managed_irq", "domain"],
    };
    // nohz_full= includes what the flag nohz does, and contradicts it unless both name the same CPUs.
    let is_useful = |flag: &&str| match *flag {
        "nohz" => line.nohz_full.is_empty(),
        "managed_irq" => line.facts.since((5, 6)) != Some(false),
        _ => true,
    };
    let own = line.isolcpus.iter().flat_map(Isolcpus::flags);
    for flag in own.filter(is_useful) {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    let named = line.isolcpus.iter().filter_map(|one| one.cpus.as_ref());
    let cpus = named.fold(cpus.clone(), |all, own| all.or(own));
    let word = Isolcpus::default().with(&flags, &cpus.to_string());
    match line.isolcpus.as_slice() {
        [] => format!("add {word}"),
        [one] if one.is_empty() => format!("write {word} in place of {}, which names no CPU", raw(line, one)),
        [one] => format!("write {word} in place of {}", raw(line, one)),
        _ => format!("write {word} in place of every isolcpus="),
    }
}

pub(super) const LETTER: LintRule = rule(
    "isolcpus-letter",
    Error,
    "isolcpus= reads a leading word as a flag, so a list that starts with `all` or `N` isolates nothing",
    "start with a number: isolcpus=1-N",
    EachIsolcpus(|line, one, hit| {
        let word = one.strange.iter().find(|word| is_list_word(word))?;
        // Written out if the machine is known.
        let list = [one.strange.join(","), one.list.clone()].join(",");
        let cpus = parse_cpus(list.trim_matches(','), line.facts).ok();
        let cpus = cpus.filter(|_| line.facts.possible.is_some());
        let edit = cpus.map(|cpus| LineEdit::Set(one.word, one.with(&one.flags(), &cpus.to_string())));
        Some(hit.because(format!("`{word}` is read as a flag")).edits(edit))
    }),
);

fn is_list_word(word: &str) -> bool {
    word.eq_ignore_ascii_case("all") || word == "N" || word.starts_with("N-") || word.starts_with("all:")
}

pub(super) const UNKNOWN_FLAG: LintRule = rule(
    "isolcpus-unknown-flag",
    Error,
    "the flags are domain, managed_irq and nohz; newer kernels skip any other word with a message, up to 5.7 it makes \
     the whole parameter fail",
    "remove the word",
    EachIsolcpus(|line, one, hit| {
        let word = one.strange.iter().find(|word| !is_list_word(word))?;
        // Without a known kernel, what newer ones skip is no error.
        let skips = line.facts.since((5, 8)) == Some(true) || line.facts.version.is_none();
        // Characters other than letters and `_` are not even skipped.
        let refused = !word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let level = if skips && !refused { Warning } else { Error };
        let parsed = one.cpus.is_some();
        let edit = parsed.then(|| LineEdit::Set(one.word, one.with(&one.flags(), &one.list)));
        Some(hit.because(format!("`{word}` is not a flag")).at(level).edits(edit))
    }),
);

pub(super) const NO_LIST: LintRule = rule(
    "isolcpus-no-list",
    Error,
    "flags without a list isolate nothing",
    "add the CPUs: isolcpus=managed_irq,domain,2-3",
    Each(|line| {
        let torn: Vec<usize> = super::torn::torn(line).map(|(place, _)| place).collect();
        line.isolcpus
            .iter()
            .filter(|one| one.list.is_empty() && !one.flags.is_empty() && one.strange.is_empty())
            .filter(|one| !torn.contains(&one.word))
            .map(|one| {
                let hit = hit(line, one).drop([one.word]);
                match line.facts.since((5, 6)) {
                    Some(false) => hit.fix("add the CPUs: isolcpus=2-3"),
                    _ => hit,
                }
            })
            .collect()
    }),
);

pub(super) const FLAGS_TOO_NEW: LintRule = rule(
    "isolcpus-flags-too-new",
    Error,
    "flags need kernel 4.15; older kernels read them as a bad CPU list and ignore the parameter",
    "write the list alone",
    EachIsolcpus(|line, one, hit| {
        let is_flagged = !one.flags.is_empty() && one.cpus.is_some();
        let level = line.before((4, 15)).filter(|_| is_flagged)?;
        let hit = hit.at(level);
        Some(match level {
            Error => hit.edit(LineEdit::Set(one.word, one.with(&[], &one.list))),
            _ => hit.fix("keep it if the kernel is 4.15 or later, or its distribution added the flags"),
        })
    }),
);

pub(super) const MANAGED_TOO_NEW: LintRule = rule(
    "isolcpus-managed-irq-too-new",
    Error,
    "managed_irq needs kernel 5.6; from 4.15 to 5.5 the unknown flag makes the whole parameter fail",
    "remove managed_irq",
    EachIsolcpus(|line, one, hit| {
        // Up to 4.14 the rule about all flags speaks.
        let is_flagged = one.has("managed_irq") && one.cpus.is_some() && line.facts.since((4, 15)) != Some(false);
        let level = line.before((5, 6)).filter(|_| is_flagged)?;
        let hit = hit.at(level);
        Some(match level {
            Error => hit.edit(LineEdit::Set(one.word, one.without("managed_irq"))),
            _ => hit.fix("keep it if the kernel is 5.6 or later, or its distribution added the flag"),
        })
    }),
);

pub(super) const NO_DOMAIN: LintRule = rule(
    "isolcpus-no-domain",
    Info,
    "without the flag domain the scheduler still balances tasks onto these CPUs; that is right if a cpuset partition \
     isolates them at run time",
    "add the flag domain, or create an isolated cpuset partition",
    One(|line| {
        let others = line.managed.or(&line.nohz).minus(&line.domain);
        (!others.is_empty()).then(|| LintHit::on(others.to_string()))
    }),
);

fn without_nohz(one: &Isolcpus) -> LineEdit {
    match one.flags == ["nohz"] {
        true => LineEdit::Drop(one.word),
        false => LineEdit::Set(one.word, one.without("nohz")),
    }
}

pub(super) const NOHZ_REDUNDANT: LintRule = rule(
    "isolcpus-nohz-redundant",
    Warning,
    "nohz_full= includes everything that the nohz flag does; 7.x reports nohz_full= as unknown if both are given",
    "remove the flag nohz",
    EachIsolcpus(|line, one, hit| {
        let is_known = line.facts.since((7, 0)) == Some(true);
        let is_redundant = one.has("nohz") && one.cpus.as_ref() == Some(&line.nohz_full);
        // Without a flag the word would isolate domains, which was not requested.
        let hit = hit.at(if is_known { Warning } else { Info }).edit(without_nohz(one));
        is_redundant.then_some(hit)
    }),
);

pub(super) const NOHZ_DIFFERS: LintRule = rule(
    "isolcpus-nohz-differs",
    Error,
    "isolcpus=nohz, and nohz_full= must name the same CPUs on every kernel, or the second is ignored: \"must match\"",
    "remove the flag nohz",
    EachIsolcpus(|line, one, hit| {
        let own = one.cpus.as_ref().filter(|_| one.has("nohz"))?;
        let differs = !line.nohz_full.is_empty() && *own != line.nohz_full;
        let hit = hit.because(format!("nohz_full= has {}", line.nohz_full));
        differs.then(|| hit.edit(without_nohz(one)))
    }),
);

pub(super) const NOHZ_ONLY: LintRule = rule(
    "isolcpus-nohz-only",
    Warning,
    "up to about 6.13 the flag nohz alone moves less than nohz_full=: no RCU callbacks, no timers, no kernel threads",
    "write nohz_full=CPUS",
    One(|line| {
        let is_unsupported = line.facts.has("CONFIG_NO_HZ_FULL") == Some(false);
        if line.nohz.is_empty() || !line.nohz_full.is_empty() || is_unsupported {
            return None;
        }
        match line.facts.since((6, 14)) {
            Some(true) => None,
            Some(false) => Some(LintHit::on(line.nohz.to_string())),
            None => Some(LintHit::on(line.nohz.to_string()).at(Info)),
        }
    }),
);

pub(super) const NOT_BUILT: LintRule = rule(
    "isolcpus-unsupported",
    Error,
    "isolcpus= needs CONFIG_CPU_ISOLATION (and SMP)",
    "use a kernel with CONFIG_CPU_ISOLATION=y",
    EachIsolcpus(|line, one, hit| {
        let lacks = line.facts.since((4, 15)) == Some(true) && line.facts.has("CONFIG_CPU_ISOLATION") == Some(false);
        lacks.then(|| hit.drop([one.word]))
    }),
);

pub(super) const MANAGED_MISSING: LintRule = rule(
    "managed-irq-missing",
    Warning,
    "interrupts whose mask the kernel manages (NVMe, virtio, many storage adapters) move only with \
     isolcpus=managed_irq, and no run-time setting replaces it",
    "write isolcpus=managed_irq,domain,CPUS",
    One(|line| {
        let needed = line.undisturbed();
        if line.facts.since((5, 6)) != Some(true) || needed.is_subset(&line.managed) {
            return None;
        }
        let level = if line.facts.managed_interrupts == Some(true) {
            Warning
        } else {
            Info
        };
        let hit = LintHit::on(needed.to_string()).at(level).fix(naming(line, &needed));
        let plain = line.isolcpus.iter().find(|one| {
            one.cpus.as_ref() == Some(&line.domain)
                && !one.has("managed_irq")
                && one.has("domain")
                && one.strange.is_empty()
        });
        // The flag is added only if the line already isolates with isolcpus=.
        let lone = line.isolcpus.len() == 1 && line.facts.has("CONFIG_CPU_ISOLATION") != Some(false);
        let edit = plain.filter(|_| lone).map(|one| {
            let mut flags = vec!["managed_irq"];
            flags.extend(if one.flags.is_empty() {
                vec!["domain"]
            } else {
                one.flags()
            });
            LineEdit::Set(one.word, one.with(&flags, &one.list))
        });
        Some(hit.edits(edit))
    }),
);

pub(super) const DEPRECATED: LintRule = rule(
    "isolcpus-deprecated-mark",
    Info,
    "the kernel's documents of 4.15 to 7.1 call isolcpus= deprecated; it always worked, and 7.2 no longer calls it \
     deprecated",
    "",
    One(|line| {
        let old = line.facts.since((4, 15)) != Some(false) && line.facts.since((7, 2)) != Some(true);
        let one = line.isolcpus.first().filter(|_| old && !line.domain.is_empty());
        one.map(|one| hit(line, one))
    }),
);

pub(super) const NOT_BALANCED: LintRule = rule(
    "isolcpus-not-balanced",
    Info,
    "the scheduler does not distribute tasks over isolated CPUs: all threads of a program may run on the first of them",
    "pin every thread to its own CPU",
    One(|line| (line.domain.len() > 1).then(|| LintHit::on(line.domain.to_string()))),
);

pub(super) const SCHED_EXT: LintRule = rule(
    "isolcpus-sched-ext",
    Error,
    "sched_ext schedulers refuse to start while isolcpus=domain is active",
    "use an isolated cpuset partition (7.x) or stop the sched_ext scheduler",
    One(|line| {
        let level = match (line.facts.sched_ext, line.facts.has("CONFIG_SCHED_CLASS_EXT")) {
            (Some(true), _) => Error,
            (_, Some(true)) => Info,
            _ => return None,
        };
        let hit = || LintHit::on(line.domain.to_string()).at(level);
        (!line.domain.is_empty()).then(hit)
    }),
);
