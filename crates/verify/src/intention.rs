//! Finds which CPUs are meant to be isolated: from the command line, `/etc/quietcore.toml`, the journal, the boot line and
//! other tools.

use apply::Standing;
use check::{Intention, Means, Source, Wish};
use machine::{CpuSet, Machine, Owner, Partition};
use plan::declared::{CpuWish, Declaration};
use plan::{Finding, FindingId, Intent, Level, PartitionName, Profile, partition_path};
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
pub fn find(session: &Session, machine: &Machine, asked: &CheckScope) -> Result<Intention, Failure> {
    let known = session.standing(machine);
    let unseen: Vec<String> = unseen(machine, known.as_deref()).into_iter().collect();
    let standing = known.as_deref().unwrap_or_default();
    let some = |source, wishes: Vec<Wish>| {
        (!wishes.is_empty()).then(|| Intention {
            source,
            wishes,
            unseen: unseen.clone(),
        })
    };
    if let Some(expression) = asked.cpus {
        let cpus = existing_cpus(expression, machine)?;
        return Ok(Intention {
            source: Source::CommandLine,
            wishes: named(&cpus, asked.profile, machine, standing),
            unseen,
        });
    }
    if let Some(found) = some(
        Source::Declared,
        of_file(session, machine, standing, asked.declarations)?,
    ) {
        return Ok(found);
    }
    let found = some(Source::Journal, standing.iter().map(in_force).collect())
        .or_else(|| some(Source::BootLine, boot_line(machine)))
        .or_else(|| some(Source::Cpuset, cpusets(machine)))
        .or_else(|| some(Source::Slices, slices(machine)))
        .or_else(|| some(Source::Tuned, tuned(machine)));
    Ok(found.unwrap_or(Intention {
        source: Source::Nobody,
        wishes: Vec::new(),
        unseen,
    }))
}

/// Reports an existing journal that cannot be read: it may contain more than any other source shows.
fn unseen(machine: &Machine, standing: Option<&[Standing]>) -> Option<String> {
    let why = match (standing, machine.is_captured()) {
        (Some(_), _) => return None,
        (None, false) => "could not be read",
        // A machine without a partition has no journal.
        (None, true) if has_partition(machine) => "is not in the archive",
        (None, true) => return None,
    };
    Some(format!(
        "what was applied, and whether it still holds: the journal in {} {why}",
        root::state::RUN_DIR
    ))
}

/// Whether the partition with the default name exists and was not made by partrt, which uses that name too.
fn has_partition(machine: &Machine) -> bool {
    let is_ours = !machine.cgroups.owners.contains(&Owner::Partrt);
    let usual = Intent::new(PartitionName::default(), CpuSet::new(), Profile::Minimal);
    is_ours && has_cgroup(machine, &usual)
}

fn in_force(one: &Standing) -> Wish {
    Wish {
        intent: one.intent.clone(),
        means: Means::Partition,
        applied: one.applied.clone(),
        refused: one.refused.clone(),
        unmended: one.unmended.clone(),
        drift: one.drift.clone(),
    }
}

/// What the machine declares, and what else is active.
fn of_file(
    session: &Session,
    machine: &Machine,
    standing: &[Standing],
    declarations: Declarations,
) -> Result<Vec<Wish>, Failure> {
    let root = session.root();
    let read = match declarations {
        Declarations::OfMachine => declared::read(session, None)?,
        Declarations::These(_) => None,
    };
    let file = match declarations {
        Declarations::OfMachine => read.as_ref(),
        Declarations::These(file) => file,
    };
    let Some(file) = file.filter(|file| !file.declarations.is_empty()) else {
        return Ok(Vec::new());
    };
    let reserved = file.named_cpus(machine)?;
    let mut wishes = Vec::new();
    for one in &file.declarations {
        let wish = declaration(root, machine, standing, one, &reserved);
        wishes.push(wish.map_err(|error| file.at(one.line, error))?);
    }
    let is_declared = |one: &&Standing| {
        file.declarations
            .iter()
            .any(|declared| *declared.name() == one.intent.name)
    };
    wishes.extend(standing.iter().filter(|one| !is_declared(one)).map(in_force));
    Ok(wishes)
}

fn declaration(
    root: &Root,
    machine: &Machine,
    standing: &[Standing],
    one: &Declaration,
    reserved: &CpuSet,
) -> Result<Wish, Failure> {
    if let Some(standing) = standing
        .iter()
        .find(|standing| standing.intent.name == *one.name())
    {
        let mut wish = in_force(standing);
        wish.drift.extend(other_intent(one, machine, standing));
        return Ok(wish);
    }
    let others: Vec<Intent> = standing.iter().map(|one| one.intent.clone()).collect();
    let settled = settle(one, machine, root, &others, reserved).map(|(intent, _)| intent);
    // What cannot be met now, for example because a CPU is offline, is still intended.
    let intent = match (settled, &one.cpus) {
        (Ok(intent), _) => intent,
        (Err(_), CpuWish::Named(expression)) => Intent {
            cpus: existing_cpus(expression, machine)?,
            ..one.template.clone()
        },
        (Err(error), CpuWish::Chosen { .. }) => return Err(error),
    };
    // A captured machine has no journal; its cgroup shows whether the partition existed.
    let is_there = machine.is_captured() && has_cgroup(machine, &intent);
    Ok(Wish::new(
        intent,
        if is_there {
            Means::Partition
        } else {
            Means::Missing
        },
    ))
}

fn has_cgroup(machine: &Machine, intent: &Intent) -> bool {
    machine.cgroups.cpuset.as_ref().is_some_and(|hierarchy| {
        let path = partition_path(hierarchy, intent.name.as_str());
        path.strip_prefix(&hierarchy.mount)
            .is_some_and(|set| hierarchy.set(set).is_some())
    })
}

/// Detects a declaration that was edited since it was applied.
fn other_intent(one: &Declaration, machine: &Machine, standing: &Standing) -> Option<Finding> {
    let intent = &standing.intent;
    let cpus = match &one.cpus {
        CpuWish::Named(expression) => existing_cpus(expression, machine).ok()?,
        CpuWish::Chosen { .. } => intent.cpus.clone(),
    };
    let wanted = Intent {
        cpus,
        ..one.template.clone()
    };
    let owner = "owner";
    let is_same = wanted.cpus == intent.cpus
        && wanted.profile == intent.profile
        && wanted.without == intent.without
        && wanted.irq_here == intent.irq_here
        && wanted
            .with
            .iter()
            .all(|with| intent.with.get_key_value(with.0) == Some(with))
        && intent
            .with
            .keys()
            .all(|knob| knob == owner || wanted.with.contains_key(knob));
    (!is_same).then(|| {
        let message = format!(
            "line {} of /etc/quietcore.toml declares `{}`, and `{}` is in force",
            one.line,
            wanted.arguments(),
            intent.arguments()
        );
        Finding::new(
            Level::Error,
            FindingId::PARTITION_DIFFERS,
            intent.name.to_string(),
            message,
        )
        .fix(format!("`quietcore apply --resize {}`", wanted.arguments()))
    })
}

/// CPUs that the user named: what isolates each of them, and those that nothing isolates.
fn named(cpus: &CpuSet, profile: Profile, machine: &Machine, standing: &[Standing]) -> Vec<Wish> {
    let mut wishes: Vec<Wish> = standing
        .iter()
        .filter(|one| one.intent.cpus.intersects(cpus))
        .map(in_force)
        .collect();
    let mut rest = wishes
        .iter()
        .fold(cpus.clone(), |rest, wish| rest.minus(&wish.intent.cpus));
    for mut wish in boot_line(machine)
        .into_iter()
        .chain(cpusets(machine))
        .chain(slices(machine))
        .chain(tuned(machine))
    {
        wish.intent.cpus = wish.intent.cpus.and(&rest);
        wish.intent.profile = profile;
        rest = rest.minus(&wish.intent.cpus);
        if !wish.intent.cpus.is_empty() {
            wishes.push(wish);
        }
    }
    if !rest.is_empty() {
        wishes.push(Wish::new(
            Intent::new(PartitionName::default(), rest, profile),
            Means::Nothing,
        ));
    }
    wishes
}

/// Isolation by other tools is compared with `minimal`, because nothing promised more.
fn of_others(name: &str, cpus: CpuSet, means: Means) -> Option<Wish> {
    let letters: String = name
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
        .take(32)
        .collect();
    let name = PartitionName::new(&letters).unwrap_or_default();
    (!cpus.is_empty()).then(|| Wish::new(Intent::new(name, cpus, Profile::Minimal), means))
}

fn boot_line(machine: &Machine) -> Vec<Wish> {
    let isolation = &machine.isolation;
    let asked = [&isolation.boot_isolated, &isolation.nohz_full];
    let cpus = asked
        .into_iter()
        .flatten()
        .fold(CpuSet::new(), |all, cpus| all.or(cpus));
    of_others("boot-line", cpus.and(&machine.topology.online), Means::BootLine)
        .into_iter()
        .collect()
}

/// Cpusets that take CPUs from all other tasks: v2 partitions, v1 sets without load balancing, the sets of cset and partrt.
fn cpusets(machine: &Machine) -> Vec<Wish> {
    let sets = machine
        .cgroups
        .cpuset
        .iter()
        .flat_map(|hierarchy| &hierarchy.sets);
    let owners = &machine.cgroups.owners;
    let is_shield = |set: &Partition| match set.name.as_str() {
        "/user" => owners.contains(&Owner::Cset),
        "/rt" => owners.contains(&Owner::Partrt),
        _ => false,
    };
    let mut wishes: Vec<Wish> = Vec::new();
    for set in sets.filter(|set| set.takes_cpus() || is_shield(set)) {
        let cpus = set
            .cpus
            .clone()
            .filter(|cpus| !cpus.is_empty())
            .or_else(|| set.effective_cpus.clone());
        let taken = wishes
            .iter()
            .fold(CpuSet::new(), |taken, wish| taken.or(&wish.intent.cpus));
        let cpus = cpus.unwrap_or_default().minus(&taken);
        wishes.extend(of_others(&set.name, cpus, Means::Cpuset(set.name.clone())));
    }
    wishes
}

/// CPUs that systemd keeps services and sessions off.
fn slices(machine: &Machine) -> Vec<Wish> {
    let free = machine.isolation.kept_free.clone().unwrap_or_default();
    of_others("slices", free, Means::Slices).into_iter().collect()
}

fn tuned(machine: &Machine) -> Vec<Wish> {
    let cores = machine
        .tuned
        .as_ref()
        .and_then(|tuned| tuned.isolated_cores.clone());
    cores
        .and_then(|cores| {
            let there: CpuSet = machine.topology.cpus.iter().map(|cpu| cpu.id).collect();
            of_others("tuned", cores.and(&there), Means::Tuned)
        })
        .into_iter()
        .collect()
}
