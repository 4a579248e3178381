//! Rules about `nohz_full=` and its requirements: configuration, a tick that may stop, a stable clock, isolated domains.

use super::Check::{Dropped, Each, Last, One, Words};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};

const NOHZ_OFF: &[&str] = &["off", "0", "n", "no", "N", "OFF", "Off", "false", "f", "F"];
const NOHZ_ON: &[&str] = &["on", "1", "y", "yes", "Y", "ON", "On", "true", "t", "T"];

pub(super) const OFF_DEFEATS: LintRule = rule(
    "nohz-off-defeats-nohz-full",
    Error,
    "nohz=off keeps the periodic tick on every CPU, so the tick of nohz_full CPUs never stops, although /sys and the \
     kernel's messages say that it does, and all costs of nohz_full remain (slower system calls, RCU offloading)",
    "remove nohz=off for CPUs without a tick; or remove nohz_full= for a steady tick, and keep rcu_nocbs=",
    One(|line| {
        let (place, word) = line.is("nohz", NOHZ_OFF)?;
        let tickless = line.tickless();
        let hit = || {
            word.hit()
                .because(format!("the line requests no tick on CPU {tickless}"))
                .drop(line.places("nohz").into_iter().chain([place]))
        };
        let unread = line.has("nohz_full") && line.cpus("nohz_full").is_none();
        (!tickless.is_empty() || unread).then(hit)
    }),
);

pub(super) const UNSUPPORTED: LintRule = rule(
    "nohz-full-unsupported",
    Error,
    "without CONFIG_NO_HZ_FULL the kernel ignores nohz_full= (\"Housekeeping: nohz unsupported\") and the tick stays",
    "use a kernel with CONFIG_NO_HZ_FULL=y, or remove the parameter",
    Last("nohz_full", |line, _, word| match line.facts.has("CONFIG_NO_HZ_FULL") {
        Some(true) => None,
        Some(false) => {
            // It included RCU callbacks; if the kernel can, they get their own parameter.
            let alone = line.facts.has("CONFIG_RCU_NOCB_CPU") == Some(true) && !line.has("rcu_nocbs");
            let own = alone && !line.nohz_full.is_empty();
            let edit = own.then(|| LineEdit::Add(format!("rcu_nocbs={}", line.nohz_full)));
            Some(word.hit().drop(line.places("nohz_full")).edits(edit))
        }
        None => Some(word.hit().unknown_option("CONFIG_NO_HZ_FULL")),
    }),
);

pub(super) const LISTS_DIFFER: LintRule = rule(
    "isolation-lists-differ",
    Error,
    "from 4.15 to 5.17 the kernel has one mask for both: isolcpus= and nohz_full= must name the same CPUs, or the \
     second on the line is ignored (\"must match\")",
    "write the same CPUs in both",
    One(|line| {
        // Up to 4.14 each has its own mask.
        if line.facts.since((4, 15)) == Some(false) {
            return None;
        }
        if let Some(hit) = super::empty::drops_the_other(line) {
            return Some(hit);
        }
        let (place, word) = line.counting("nohz_full")?;
        let one = line.isolcpus.first()?;
        let cpus = one
            .cpus
            .as_ref()
            .filter(|cpus| **cpus != line.nohz_full && !line.nohz_full.is_empty())?;
        let level = line.before((5, 18))?;
        let edit = (level == Error).then(|| LineEdit::Set(place, format!("nohz_full={cpus}")));
        let hit = word.hit().because(format!("isolcpus= has {cpus}"));
        Some(hit.at(level).edits(edit))
    }),
);

pub(super) const WITHOUT_DOMAIN: LintRule = rule(
    "nohz-full-without-domain",
    Warning,
    "nohz_full= does not move tasks away: the tick returns with the second task, and on 7.x unbound kernel work is not \
     moved either",
    "add isolcpus=managed_irq,domain,CPUS, or create an isolated cpuset partition at run time",
    One(|line| {
        let open = line.tickless().minus(&line.domain);
        let hit = || {
            LintHit::on(open.to_string()).fix(format!(
                "{}; or isolate them with a cpuset partition at run time",
                super::isolcpus::naming(line, &open)
            ))
        };
        (!open.is_empty()).then(hit)
    }),
);

pub(super) const DEFAULT: LintRule = rule(
    "nohz-on-redundant",
    Info,
    "nohz=on is the default and does not by itself stop the tick of a busy CPU",
    "",
    Words(&[("nohz", NOHZ_ON)]),
);

pub(super) const BAD_VALUE: LintRule = rule(
    "nohz-bad-value",
    Error,
    "nohz= accepts on or off; nohz_full= names the CPUs without a tick",
    "write nohz_full=CPUS, or remove it",
    Last("nohz", |line, place, word| {
        let known = NOHZ_ON.contains(&word.value()) || NOHZ_OFF.contains(&word.value());
        (!known && !super::torn::begins_torn_name(line, place)).then(|| word.hit().drop([place]))
    }),
);

pub(super) const LOW_RESOLUTION: LintRule = rule(
    "highres-off",
    Warning,
    "without high-resolution timers every timer waits for a tick",
    "remove it",
    Dropped(&[("highres", &["off", "0", "n"])]),
);

pub(super) const UNSTABLE_CLOCK: LintRule = rule(
    "unstable-clock-keeps-tick",
    Error,
    "the kernel never stops the tick of a nohz_full CPU while its clock is unstable",
    "remove it",
    Each(|line| {
        if line.tickless().is_empty() {
            return Vec::new();
        }
        line.found(&[
            ("tsc", &["unstable"]),
            ("clocksource", &["jiffies", "refined-jiffies"]),
            ("notsc", &[]),
        ])
        .map(|(place, word)| word.hit().drop([place]))
        .collect()
    }),
);

pub(super) const RESIDUAL: LintRule = rule(
    "nohz-full-residual-tick",
    Info,
    "before 4.17 one tick per second remains on every nohz_full CPU",
    "",
    One(|line| {
        let old = line.facts.since((4, 17)) == Some(false) && !line.nohz_full.is_empty();
        old.then(|| LintHit::on(line.nohz_full.to_string()))
    }),
);

pub(super) const TICK_REMAINS: LintRule = rule(
    "tick-and-rcu-remain",
    Warning,
    "isolated scheduler domains alone leave the tick and RCU callbacks on these CPUs",
    "add nohz_full=CPUS, which includes RCU callbacks; or rcu_nocbs=CPUS if you want a steady tick",
    One(|line| {
        // A parameter that this kernel does not know moves nothing.
        let with_option = |option: &str, cpus: machine::CpuSet| match line.facts.has(option) {
            Some(false) => machine::CpuSet::new(),
            _ => cpus,
        };
        let offloaded = with_option("CONFIG_RCU_NOCB_CPU", line.cpus("rcu_nocbs").unwrap_or_default())
            .or(&with_option("CONFIG_NO_HZ_FULL", line.tickless()));
        let left = line.domain.minus(&offloaded);
        if left.is_empty() {
            return None;
        }
        let hit = LintHit::on(left.to_string());
        Some(
            match (
                line.facts.has("CONFIG_NO_HZ_FULL"),
                line.facts.has("CONFIG_RCU_NOCB_CPU"),
            ) {
                (Some(false), Some(false)) => hit
                    .at(Info)
                    .because("this kernel has neither CONFIG_NO_HZ_FULL nor CONFIG_RCU_NOCB_CPU")
                    .fix("use a kernel with CONFIG_NO_HZ_FULL=y"),
                (Some(false), _) => hit
                    .fix("add rcu_nocbs=CPUS for the callbacks; only a kernel with CONFIG_NO_HZ_FULL=y stops the tick"),
                _ => hit,
            },
        )
    }),
);
