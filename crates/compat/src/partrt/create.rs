//! Implements `partrt create`: quietcore's own apply, with partrt's knobs. Each of its options skips one knob.

use super::{ParsedOption, PartitionNames, PartrtError, detail, getopts, mask, names, wrong};
use apply::{ApplyOutcome, ApplyRequest, ChangeEntry, ChangeOutcome};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::parameters::ParameterCost;
use plan::{FindingId, Intent, Level, PartitionName, Profile, knobs, partition_path};
use root::Failure;
use root::Root;
use session::Session;
use session::isolation;
use std::collections::BTreeSet;
use terminal::Screen;

/// What partrt changes besides partition, tasks and interrupts: the option that skips it, and our knob with partrt's
/// value.
const TURNED: &[(char, &str)] = &[
    ('t', "sched_rt_runtime_us=-1"),
    ('m', "stat_interval=1000"),
    ('a', "writeback_numa"),
    ('w', "watchdog=0"),
    ('b', "wq_sysfs_cpumask"),
    ('c', "check_interval=0"),
    ('r', "timer_migration"),
];

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct CreateOptions {
    /// Letters of the skipped knobs.
    without: BTreeSet<char>,
    node: Option<String>,
    mask: Option<String>,
}

/// Runs it.
///
/// # Errors
/// Wrong options, masks and names, and errors of apply; the machine is unchanged then.
pub fn create(
    session: &Session,
    words: &[String],
    names: &PartitionNames,
    screen: &mut Screen,
) -> Result<(), PartrtError> {
    let arguments = CreateOptions::parse(words)?;
    let root = session.root();
    let stop = session::stop_flag();
    let machine = session.machine().for_plan(root);
    let hierarchy = machine.cgroups.cpuset.as_ref();
    let hierarchy = hierarchy.ok_or_else(|| PartrtError::Message("Kernel is lacking support for cpuset".to_owned()))?;
    let mut intent = arguments.intent(names, &machine, hierarchy.version)?;
    let others = session.in_force_because();
    refuse_existing(hierarchy, names, root, &others)?;
    intent.share_housekeeping(&session.in_force());
    if has_foreign(hierarchy, &machine, &others) {
        screen.note(
            "WARNING: Other partitions exists that might interfere with partitions created by this tool.\n         \
             This might be because you use systemd, which also defines CPU partitions.\n",
        );
    }
    if machine.isolation.workqueue_cpumask.is_none() {
        screen.note("WARNING: Your kernel doesn't support reconfiguring of unbound workqueues cpumask.\n");
    }
    // Checked early, to fail as soon as possible; planned again under the lock.
    isolation::plan_on(session, &machine, &intent).map_err(Failure::from)?;
    let changing = session.lock()?;
    session.refresh();
    let machine = session.machine().for_plan(root);
    let plan = isolation::plan_on(session, &machine, &intent).map_err(Failure::from)?;
    let request = ApplyRequest {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        reason: &names::reason(&names.rest),
        tool: env!("CARGO_PKG_VERSION"),
        guard: None,
        stop,
    };
    let applied = apply::apply(&*changing.host, changing.state(), &request).map_err(Failure::from)?;
    report_applied(&applied, screen);
    screen.text(&divided(names, &plan.isolated, &plan.housekeeping));
    Ok(())
}

impl CreateOptions {
    fn parse(words: &[String]) -> Result<CreateOptions, PartrtError> {
        let mut request = CreateOptions::default();
        let (found, rest) = getopts(":abcdhmn:rtuw", words);
        for one in found {
            match one {
                ParsedOption::Option('h', _) => return Err(PartrtError::Usage),
                ParsedOption::Option('n', node) => request.node = node,
                ParsedOption::Option(letter, _) => drop(request.without.insert(letter)),
                other => return Err(wrong(&other, "-")),
            }
        }
        request.mask = rest.first().filter(|mask| !mask.is_empty()).cloned();
        if request.mask.is_none() && request.node.is_none() {
            return Err(PartrtError::Message("Missing mandatory cpumask".to_owned()));
        }
        Ok(request)
    }

    fn intent(&self, names: &PartitionNames, machine: &Machine, version: Version) -> Result<Intent, PartrtError> {
        let name = PartitionName::new(&names.rt).map_err(Failure::from)?;
        if names.rest == names.rt {
            return Err(PartrtError::Message(format!(
                "{}: the two partitions need different names",
                names.rt
            )));
        }
        let rest = PartitionName::new(&names.rest).map_err(Failure::from)?;
        let mut intent = Intent::new(name, self.cpus(machine)?, Profile::Minimal);
        // On v2 the partition itself removes its CPUs from all others, and no task has to move.
        intent.housekeeping = (version == Version::V1).then_some(rest);
        let mut turned = TURNED.iter().filter(|(letter, _)| !self.without.contains(letter));
        turned
            .try_for_each(|(_, knob)| intent.take(knob))
            .map_err(Failure::from)?;
        if self.without.contains(&'u') {
            intent.leave_out("workqueue_cpumask").map_err(Failure::from)?;
        }
        Ok(intent)
    }

    fn cpus(&self, machine: &Machine) -> Result<CpuSet, PartrtError> {
        if let Some(node) = &self.node {
            let mut nodes = machine.topology.nodes.iter();
            let found = nodes.find(|known| known.id.to_string() == *node);
            let missing = || PartrtError::Message(format!("NUMA node: {} does not exist", report::safe(node)));
            return found.map(|node| node.cpus.clone()).ok_or_else(missing);
        }
        let text = self.mask.as_deref().unwrap_or_default();
        let illegal = || PartrtError::Message(format!("Illegal CPU mask: {}", report::safe(text)));
        let cpus = mask(text).map_err(|_| illegal())?.ok_or_else(illegal)?;
        let there = machine.topology.present_cpus().or(&machine.topology.online);
        if cpus.intersects(&there) {
            Ok(cpus)
        } else {
            Err(illegal())
        }
    }
}

/// Neither of the two may exist already.
fn refuse_existing(
    hierarchy: &Hierarchy,
    names: &PartitionNames,
    root: &Root,
    in_force: &[(Intent, String)],
) -> Result<(), PartrtError> {
    let exists = |dir: &str| matches!(root.kind(dir), Ok(Some(_)));
    let rest = partition_path(hierarchy, &names.rest);
    // Later partitions share the set that the first one created, and may call it by another name.
    let is_shared = names::of_rest(hierarchy.version, in_force).contains(&names.rest);
    let makes_rest = hierarchy.version == Version::V1 && in_force.is_empty();
    let taken = Some(partition_path(hierarchy, &names.rt))
        .filter(|dir| exists(dir))
        .or_else(|| (is_shared || makes_rest && exists(&rest)).then_some(rest));
    match taken {
        Some(dir) => Err(PartrtError::Message(format!(
            "{dir}: Partition already exists, remove it first using 'undo' command."
        ))),
        None => Ok(()),
    }
}

/// Whether other programs have created partitions.
fn has_foreign(hierarchy: &Hierarchy, machine: &Machine, in_force: &[(Intent, String)]) -> bool {
    let rest = names::of_rest(hierarchy.version, in_force);
    let is_own = |name: &String| {
        let mut own = in_force.iter().map(|(intent, _)| intent.name.as_str());
        rest.contains(name) || own.any(|known| known == name)
    };
    let rows = names::all(machine, in_force);
    rows.iter().any(|(name, _)| !is_own(name))
}

/// Messages for the user: warnings, and changes with a cost in safety. With `-v` everything.
fn report_applied(applied: &ApplyOutcome, screen: &mut Screen) {
    detail(screen, &apply::entries_text(&applied.entries));
    for finding in &applied.findings {
        let fix = Some(&finding.fix).filter(|fix| !fix.is_empty());
        let fix = fix.map(|fix| format!("; {fix}")).unwrap_or_default();
        let line = format!("{}: {}{fix}\n", report::safe(&finding.subject), finding.message);
        match finding.level {
            // The original also skips what a machine does not have.
            Level::Info => detail(screen, &line),
            Level::Warning if finding.id == FindingId::KNOB_ABSENT => detail(screen, &line),
            Level::Warning | Level::Error => screen.note(&format!("WARNING: {line}")),
        }
    }
    for entry in &applied.entries {
        if let Some(line) = priced(entry) {
            screen.note(&line);
        }
    }
}

/// A change with a cost in safety, in one line.
fn priced(entry: &ChangeEntry) -> Option<String> {
    let knob = knobs::of_change(&entry.change).filter(|knob| knob.price == ParameterCost::Safety)?;
    let done = entry.outcome == ChangeOutcome::Done && entry.before != entry.after;
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    done.then(|| {
        format!(
            "partrt: {}: {} -> {} until `partrt undo`: {}\n",
            knob.name,
            value(&entry.before),
            value(&entry.after),
            knob.side_effects
        )
    })
}

fn divided(names: &PartitionNames, isolated: &CpuSet, rest: &CpuSet) -> String {
    format!(
        "System was successfylly divided into following partitions:\nIsolated CPUs ({}):{isolated}\n\
         Non-isolated CPUS ({}):{rest}\n",
        names.rt, names.rest
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CreateOptions, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CreateOptions::parse(&words).map_err(message_of)
    }

    fn message_of(failed: PartrtError) -> String {
        match failed {
            PartrtError::Usage => "usage".to_owned(),
            PartrtError::Message(printed) | PartrtError::NotStarted(_, printed) => printed,
        }
    }

    /// Four CPUs in two memory nodes.
    fn machine() -> Machine {
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/machines/4x86-2p2n2c-v1-6.1.tar.gz"
        );
        Machine::read(&Root::open(std::path::Path::new(fixture)).unwrap())
    }

    fn intent(line: &str, rt: &str, rest: &str) -> Result<Intent, String> {
        let names = PartitionNames {
            rt: rt.to_owned(),
            rest: rest.to_owned(),
        };
        parse(line)?.intent(&names, &machine(), Version::V1).map_err(message_of)
    }

    #[test]
    fn command_lines_of_create_are_parsed() {
        let wanted = parse("-r -c -w 0xc").unwrap();
        assert_eq!(wanted.mask.as_deref(), Some("0xc"));
        assert_eq!(wanted.without.into_iter().collect::<String>(), "crw");
        assert_eq!(parse("-n 1").unwrap().node.as_deref(), Some("1"));
        for (line, printed) in [
            ("", "Missing mandatory cpumask"),
            ("-r", "Missing mandatory cpumask"),
            ("-n", "Invalid option: -n missing mandatory argument"),
            ("-q 0xc", "Invalid option: -q "),
            ("-h", "usage"),
        ] {
            assert_eq!(parse(line), Err(printed.to_owned()), "{line}");
        }
    }

    #[test]
    fn each_option_omits_one_knob() {
        let whole = intent("0xc", "rt", "nrt").unwrap();
        assert_eq!(
            (whole.cpus.to_string().as_str(), whole.profile),
            ("2-3", Profile::Minimal)
        );
        let value = |knob: &str| whole.with.get(knob).cloned().flatten().unwrap_or_default();
        assert_eq!(value("sched_rt_runtime_us"), "-1");
        assert_eq!(value("stat_interval"), "1000");
        assert_eq!(
            (value("watchdog").as_str(), value("check_interval").as_str()),
            ("0", "0")
        );
        for (letter, knob) in [
            ("a", "writeback_numa"),
            ("b", "wq_sysfs_cpumask"),
            ("c", "check_interval"),
            ("m", "stat_interval"),
            ("r", "timer_migration"),
            ("t", "sched_rt_runtime_us"),
            ("w", "watchdog"),
        ] {
            let less = intent(&format!("-{letter} 0xc"), "rt", "nrt").unwrap();
            let gone = whole.with.keys().filter(|name| !less.with.contains_key(*name));
            assert_eq!(gone.collect::<Vec<_>>(), [knob], "-{letter}");
        }
        assert!(plan::takes(&whole, "workqueue_cpumask") && plan::takes(&whole, "irq_affinity"));
        assert!(!plan::takes(&intent("-u c", "rt", "nrt").unwrap(), "workqueue_cpumask"));
        assert_eq!(intent("-d c", "rt", "nrt").unwrap(), whole);
    }

    #[test]
    fn cpus_are_given_by_mask_or_node_and_names_are_checked() {
        for (line, cpus) in [
            ("c", "2-3"),
            ("0x8", "3"),
            ("#2-3", "2-3"),
            ("0000000c", "2-3"),
            ("-n 1", "2-3"),
        ] {
            assert_eq!(intent(line, "rt", "nrt").unwrap().cpus.to_string(), cpus, "{line}");
        }
        for (line, wrong) in [
            ("0", "Illegal CPU mask: 0"),
            ("xyz", "Illegal CPU mask: xyz"),
            ("0xf0", "Illegal CPU mask: 0xf0"),
            ("-n 7", "NUMA node: 7 does not exist"),
        ] {
            assert_eq!(intent(line, "rt", "nrt"), Err(wrong.to_owned()), "{line}");
        }
        let named = intent("c", "rtset", "other").unwrap();
        assert_eq!(named.name.as_str(), "rtset");
        assert_eq!(named.housekeeping.as_ref().map(PartitionName::as_str), Some("other"));
        assert!(intent("c", "a/b", "nrt").is_err() && intent("c", "rt", "..").is_err());
        assert!(intent("c", "rt", "rt").unwrap_err().contains("different names"));
    }

    #[test]
    fn messages_equal_those_of_partrt() {
        let names = PartitionNames {
            rt: "rt".to_owned(),
            rest: "nrt".to_owned(),
        };
        assert_eq!(
            divided(&names, &CpuSet::range(2, 3), &CpuSet::range(0, 1)),
            "System was successfylly divided into following partitions:\nIsolated CPUs (rt):2-3\n\
             Non-isolated CPUS (nrt):0-1\n"
        );
        let entry = |change: &str, outcome: ChangeOutcome| ChangeEntry {
            seq: 1,
            change: change.to_owned(),
            before: Some("950000".to_owned()),
            after: Some("-1".to_owned()),
            outcome,
        };
        let line = priced(&entry("sched_rt_runtime_us", ChangeOutcome::Done)).unwrap();
        assert!(
            line.starts_with("partrt: sched_rt_runtime_us: 950000 -> -1 until `partrt undo`: "),
            "{line}"
        );
        assert_eq!(priced(&entry("sched_rt_runtime_us", ChangeOutcome::Already)), None);
        assert_eq!(priced(&entry("stat_interval", ChangeOutcome::Done)), None);
    }
}
