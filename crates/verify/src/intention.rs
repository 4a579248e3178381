//! Finds which CPUs are meant to be isolated: from the command line, `/etc/quietcore.toml`, the journal, the boot line and
//! other tools.

use apply::PartitionStatus;
use check::{IntendedIsolation, Intention, IntentionSource, IsolationMeans};
use machine::{CpuSet, Machine, Owner, Partition};
use plan::declared::{CpuSpec, Declaration};
use plan::{Finding, FindingId, Intent, Level, PartitionName, Profile};
use root::{Failure, Root};
use session::Session;
use session::declared::{self, DeclaredFile};
use session::isolation::{existing_cpus, settle};

/// The scope that the command line gives.
pub struct CheckScope<'a> {
    /// `--cpus`.
    pub cpus: Option<&'a str>,
    /// `--profile`.
    pub profile: Profile,
    /// Where the declarations come from.
    pub declarations: Declarations<'a>,
}

/// The source of the declarations.
#[derive(Clone, Copy)]
pub enum Declarations<'a> {
    /// Read now, from the machine's file.
    OfMachine,
    /// Read earlier: a watcher keeps the last usable ones.
    These(Option<&'a DeclaredFile>),
}

/// Uses the first source that names CPUs.
///
/// # Errors
/// CPUs that do not exist, and a declaration file that cannot be used.
pub fn find(session: &Session, machine: &Machine, scope: &CheckScope) -> Result<Intention, Failure> {
    let known = session.active_partitions(machine);
    let unseen: Vec<String> = unseen(machine, known.as_deref()).into_iter().collect();
    let standing = known.as_deref().unwrap_or_default();
    if let Some(expression) = scope.cpus {
        let cpus = existing_cpus(expression, machine)?;
        return Ok(Intention {
            source: IntentionSource::CommandLine,
            isolations: named(&cpus, scope.profile, machine, standing),
            unseen,
        });
    }
    let declared = of_file(session, machine, standing, scope.declarations)?;
    let sources = [
        (IntentionSource::Declared, declared),
        (IntentionSource::Journal, standing.iter().map(in_force).collect()),
        (IntentionSource::BootLine, boot_line(machine)),
        (IntentionSource::Cpuset, cpusets(machine)),
        (IntentionSource::Slices, slices(machine)),
        (IntentionSource::Tuned, tuned(machine)),
    ];
    let found = sources.into_iter().find(|(_, isolations)| !isolations.is_empty());
    let (source, isolations) = found.unwrap_or((IntentionSource::Nobody, Vec::new()));
    Ok(Intention {
        source,
        isolations,
        unseen,
    })
}

/// Reports an existing journal that cannot be read: it may contain more than any other source shows.
fn unseen(machine: &Machine, active: Option<&[PartitionStatus]>) -> Option<String> {
    let why = match (active, machine.is_captured()) {
        (Some(_), _) => return None,
        (None, false) => "could not be read",
        // A machine without a partition has no journal.
        (None, true) if has_partition(machine) => "is not in the archive",
        (None, true) => return None,
    };
    Some(format!(
        "what was applied, and whether it is still active: the journal in {} {why}",
        root::state::RUN_DIR
    ))
}

/// Whether the partition with the default name exists and was not made by partrt, which uses that name too.
fn has_partition(machine: &Machine) -> bool {
    let is_ours = !machine.cgroups.owners.contains(&Owner::Partrt);
    let usual = Intent::new(PartitionName::default(), CpuSet::new(), Profile::Minimal);
    is_ours && has_cgroup(machine, &usual)
}

fn in_force(one: &PartitionStatus) -> IntendedIsolation {
    IntendedIsolation {
        intent: one.intent.clone(),
        means: IsolationMeans::Partition,
        applied: one.applied.clone(),
        refused: one.refused.clone(),
        unrepaired: one.unrepaired.clone(),
        drift: one.drift.clone(),
    }
}

/// Everything that isolates CPUs of this machine or is declared to, from all sources.
///
/// # Errors
/// As [`find`].
pub fn every_isolation(session: &Session, machine: &Machine) -> Result<Intention, Failure> {
    let scope = CheckScope {
        cpus: None,
        profile: Profile::Minimal,
        declarations: Declarations::OfMachine,
    };
    let mut found = find(session, machine, &scope)?;
    let rest = machine.topology.online.minus(&found.cpus());
    let others = named(&rest, Profile::Minimal, machine, &[]);
    found
        .isolations
        .extend(others.into_iter().filter(|one| one.means.isolates()));
    Ok(found)
}

/// What the machine declares, and what else is active.
fn of_file(
    session: &Session,
    machine: &Machine,
    active: &[PartitionStatus],
    declarations: Declarations,
) -> Result<Vec<IntendedIsolation>, Failure> {
    let root = session.root();
    let read;
    let file = match declarations {
        Declarations::OfMachine => {
            read = declared::read(session, None)?;
            read.as_ref()
        }
        Declarations::These(file) => file,
    };
    let Some(file) = file.filter(|file| !file.declarations.is_empty()) else {
        return Ok(Vec::new());
    };
    let reserved = file.named_cpus(machine)?;
    let isolation = |one: &Declaration| {
        declaration(root, machine, active, one, &reserved).map_err(|error| file.at(one.line, error))
    };
    let mut isolations: Vec<_> = file.declarations.iter().map(isolation).collect::<Result<_, _>>()?;
    let is_declared = |one: &&PartitionStatus| {
        file.declarations
            .iter()
            .any(|declared| *declared.name() == one.intent.name)
    };
    isolations.extend(active.iter().filter(|one| !is_declared(one)).map(in_force));
    Ok(isolations)
}

fn declaration(
    root: &Root,
    machine: &Machine,
    active: &[PartitionStatus],
    one: &Declaration,
    reserved: &CpuSet,
) -> Result<IntendedIsolation, Failure> {
    if let Some(partition) = active.iter().find(|partition| partition.intent.name == *one.name()) {
        let mut isolation = in_force(partition);
        isolation.drift.extend(other_intent(one, machine, partition));
        return Ok(isolation);
    }
    let others: Vec<Intent> = active.iter().map(|one| one.intent.clone()).collect();
    let settled = settle(one, machine, root, &others, reserved).map(|(intent, _)| intent);
    // What cannot be met now, for example because a CPU is offline, is still intended.
    let intent = match (settled, &one.cpus) {
        (Ok(intent), _) => intent,
        (Err(_), CpuSpec::Named(expression)) => Intent {
            cpus: existing_cpus(expression, machine)?,
            ..one.template.clone()
        },
        (Err(error), CpuSpec::Chosen { .. }) => return Err(error),
    };
    // A captured machine has no journal; its cgroup shows whether the partition existed.
    let is_there = machine.is_captured() && has_cgroup(machine, &intent);
    Ok(IntendedIsolation::new(
        intent,
        if is_there {
            IsolationMeans::Partition
        } else {
            IsolationMeans::Missing
        },
    ))
}

fn has_cgroup(machine: &Machine, intent: &Intent) -> bool {
    machine.cgroups.cpuset.as_ref().is_some_and(|hierarchy| {
        let path = intent.cgroup_path(hierarchy);
        path.strip_prefix(&hierarchy.mount)
            .is_some_and(|set| hierarchy.set(set).is_some())
    })
}

/// Detects a declaration that was edited since it was applied.
fn other_intent(one: &Declaration, machine: &Machine, partition: &PartitionStatus) -> Option<Finding> {
    let intent = &partition.intent;
    let cpus = match &one.cpus {
        CpuSpec::Named(expression) => existing_cpus(expression, machine).ok()?,
        CpuSpec::Chosen { .. } => intent.cpus.clone(),
    };
    let declared = Intent {
        cpus,
        ..one.template.clone()
    };
    let owner = "owner";
    let is_same = declared.cpus == intent.cpus
        && declared.profile == intent.profile
        && declared.without == intent.without
        && declared.irq_here == intent.irq_here
        && declared
            .with
            .iter()
            .all(|with| intent.with.get_key_value(with.0) == Some(with))
        && intent
            .with
            .keys()
            .all(|knob| knob == owner || declared.with.contains_key(knob));
    (!is_same).then(|| {
        let message = format!(
            "line {} of /etc/quietcore.toml declares `{}`, and `{}` is active",
            one.line,
            declared.arguments(),
            intent.arguments()
        );
        Finding::new(
            Level::Error,
            FindingId::PARTITION_DIFFERS,
            intent.name.to_string(),
            message,
        )
        .fix(format!("`quietcore apply --resize {}`", declared.arguments()))
    })
}

/// CPUs that the user named: what isolates each of them, and those that nothing isolates.
fn named(cpus: &CpuSet, profile: Profile, machine: &Machine, active: &[PartitionStatus]) -> Vec<IntendedIsolation> {
    let mut isolations: Vec<IntendedIsolation> = active
        .iter()
        .filter(|one| one.intent.cpus.intersects(cpus))
        .map(in_force)
        .collect();
    let mut rest = isolations
        .iter()
        .fold(cpus.clone(), |rest, isolation| rest.minus(&isolation.intent.cpus));
    for mut isolation in boot_line(machine)
        .into_iter()
        .chain(cpusets(machine))
        .chain(slices(machine))
        .chain(tuned(machine))
    {
        isolation.intent.cpus = isolation.intent.cpus.and(&rest);
        isolation.intent.profile = profile;
        rest = rest.minus(&isolation.intent.cpus);
        if !isolation.intent.cpus.is_empty() {
            isolations.push(isolation);
        }
    }
    if !rest.is_empty() {
        isolations.push(IntendedIsolation::new(
            Intent::new(PartitionName::default(), rest, profile),
            IsolationMeans::Nothing,
        ));
    }
    isolations
}

/// Isolation by other tools is compared with `minimal`, because nothing promised more.
fn of_others(name: &str, cpus: CpuSet, means: IsolationMeans) -> Option<IntendedIsolation> {
    let letters: String = name
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
        .take(32)
        .collect();
    let name = PartitionName::new(&letters).unwrap_or_default();
    (!cpus.is_empty()).then(|| IntendedIsolation::new(Intent::new(name, cpus, Profile::Minimal), means))
}

fn boot_line(machine: &Machine) -> Vec<IntendedIsolation> {
    let isolation = &machine.isolation;
    let requested = [&isolation.boot_isolated, &isolation.nohz_full];
    let cpus = CpuSet::union(requested.into_iter().flatten());
    of_others(
        "boot-line",
        cpus.and(&machine.topology.online),
        IsolationMeans::BootLine,
    )
    .into_iter()
    .collect()
}

/// Cpusets that take CPUs from all other tasks: v2 partitions, v1 sets without load balancing, the sets of cset and partrt.
fn cpusets(machine: &Machine) -> Vec<IntendedIsolation> {
    let sets = machine.cgroups.cpuset.iter().flat_map(|hierarchy| &hierarchy.sets);
    let owners = &machine.cgroups.owners;
    let is_shield = |set: &Partition| match set.name.as_str() {
        "/user" => owners.contains(&Owner::Cset),
        "/rt" => owners.contains(&Owner::Partrt),
        _ => false,
    };
    let mut isolations: Vec<IntendedIsolation> = Vec::new();
    for set in sets.filter(|set| set.takes_cpus() || is_shield(set)) {
        let taken = CpuSet::union(isolations.iter().map(|isolation| &isolation.intent.cpus));
        let cpus = set.listed_cpus().minus(&taken);
        isolations.extend(of_others(&set.name, cpus, IsolationMeans::Cpuset(set.name.clone())));
    }
    isolations
}

/// CPUs that systemd keeps services and sessions off.
fn slices(machine: &Machine) -> Vec<IntendedIsolation> {
    let free = machine.isolation.kept_free.clone().unwrap_or_default();
    of_others("slices", free, IsolationMeans::Slices).into_iter().collect()
}

fn tuned(machine: &Machine) -> Vec<IntendedIsolation> {
    let cores = machine.tuned.as_ref().and_then(|tuned| tuned.isolated_cores.clone());
    cores
        .and_then(|cores| {
            let there: CpuSet = machine.topology.cpus.iter().map(|cpu| cpu.id).collect();
            of_others("tuned", cores.and(&there), IsolationMeans::Tuned)
        })
        .into_iter()
        .collect()
}
