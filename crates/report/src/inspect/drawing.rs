//! The CPUs, drawn as they stand in the machine: package, memory node, die, last-level cache, level-2 cache, core.
//!
//! Up to [`DRAWN`] CPUs every one is drawn; a larger machine gets one line per cache, node or package, whichever
//! fits a screen. The grouping is taken as the machine tells it, so a node over two packages, or two nodes with
//! the same CPUs, are shown as they are.

use super::View;
use crate::style::{COLUMNS, Role, Style, bytes, counted, wrap};
use machine::{CoreKind, Cpu, CpuId, CpuSet, Machine};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Most CPUs that are drawn one by one.
const DRAWN: usize = 160;

/// Most lines of the short form.
const LINES: usize = 48;

pub(super) fn write(machine: &Machine, view: &View, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cpu: &&Cpu| view.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu.id));
    let cpus: Vec<&Cpu> = machine.topology.cpus.iter().filter(shown).collect();
    if cpus.is_empty() {
        return writeln!(
            out,
            "  No CPU to show: the machine tells of none{}.",
            if view.cpus.is_some() { " of these" } else { "" }
        );
    }
    let marks = Marks::of(machine, view);
    if cpus.len() <= DRAWN {
        draw(machine, &cpus, &marks, style, out)?;
    } else {
        summarise(machine, &cpus, &marks, style, out)?;
    }
    legend(machine, &cpus, &marks, style, out)
}

/// One mark: a letter, the CPUs that bear it, what it means.
struct Mark {
    letter: char,
    cpus: CpuSet,
    meaning: &'static str,
    role: Role,
}

struct Marks(Vec<Mark>);

impl Marks {
    fn of(machine: &Machine, view: &View) -> Marks {
        let isolation = &machine.isolation;
        let partitioned = isolation
            .partitions
            .iter()
            .filter_map(super::isolation::partition_cpus);
        let partitioned = partitioned.fold(
            isolation.cpuset_isolated.clone().unwrap_or_default(),
            |all, set| all.or(set),
        );
        let topology = &machine.topology;
        let lowest: CpuSet = topology.online.first().into_iter().collect();
        let offline: CpuSet = topology
            .cpus
            .iter()
            .filter(|cpu| !cpu.online)
            .map(|cpu| cpu.id)
            .collect();
        let tasks = machine.tasks.as_deref().unwrap_or_default();
        let running = tasks
            .iter()
            .filter(|task| task.state == 'R' && Some(task.pid) != view.own_pid);
        let busy: CpuSet = running.filter_map(|task| task.cpu).collect();
        let mark = |letter, cpus, meaning, role| Mark {
            letter,
            cpus,
            meaning,
            role,
        };
        Marks(vec![
            mark(
                'b',
                isolation.boot_isolated.clone().unwrap_or_default(),
                "isolated at boot (isolcpus)",
                Role::Good,
            ),
            mark(
                't',
                isolation.nohz_full.clone().unwrap_or_default(),
                "tick may stop (nohz_full)",
                Role::Good,
            ),
            mark('p', partitioned, "isolated by a cpuset partition", Role::Good),
            mark('*', busy, "a task runs or waits here", Role::Care),
            mark('x', offline, "offline", Role::Quiet),
            mark('^', lowest, "lowest online CPU, never isolated", Role::Head),
        ])
    }

    fn letters(&self, cpu: CpuId) -> String {
        self.0
            .iter()
            .filter(|mark| mark.cpus.contains(cpu))
            .map(|mark| mark.letter)
            .collect()
    }

    fn role(&self, cpu: CpuId) -> Option<Role> {
        let mut roles = self
            .0
            .iter()
            .filter(|mark| mark.cpus.contains(cpu))
            .map(|mark| mark.role);
        roles
            .clone()
            .find(|role| matches!(role, Role::Quiet | Role::Care))
            .or_else(|| roles.next())
    }
}

/// Where a line of the drawing stands. `None` is unknown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    package: Option<i64>,
    node: Option<u32>,
    die: Option<i64>,
    llc: Option<CpuSet>,
}

type Lines<'a> = BTreeMap<(i64, u32), (Place, Vec<&'a Cpu>)>;

/// Groups CPUs into lines; the lowest CPU of a place decides its order within the package.
fn lines<'a>(cpus: &[&'a Cpu], place_of: impl Fn(&Cpu) -> Place) -> Lines<'a> {
    let mut places: BTreeMap<Place, Vec<&'a Cpu>> = BTreeMap::new();
    for &cpu in cpus {
        places.entry(place_of(cpu)).or_default().push(cpu);
    }
    // What has no known package comes last.
    let key = |place: &Place, cpus: &[&Cpu]| {
        (
            place.package.unwrap_or(i64::MAX),
            cpus.first().map_or(0, |cpu| cpu.id.0),
        )
    };
    places
        .into_iter()
        .map(|(place, cpus)| (key(&place, &cpus), (place, cpus)))
        .collect()
}

fn full_place(cpu: &Cpu) -> Place {
    if !cpu.online && cpu.package.is_none() {
        return Place {
            package: None,
            node: None,
            die: None,
            llc: None,
        };
    }
    // A cache that a core has for itself would put every core on a line of its own.
    let own = |llc: &CpuSet| {
        cpu.siblings
            .as_ref()
            .is_some_and(|siblings| llc.is_subset(siblings))
    };
    let llc = cpu.llc.clone().filter(|llc| !own(llc));
    Place {
        package: cpu.package,
        node: cpu.node,
        die: cpu.die,
        llc,
    }
}

/// The labels of a line, where the machine has more than one of the thing.
struct Labels<'a> {
    machine: &'a Machine,
    nodes: usize,
    node_width: usize,
    dies: bool,
}

impl<'a> Labels<'a> {
    fn of(machine: &'a Machine, cpus: &[&Cpu]) -> Labels<'a> {
        let mut dies: Vec<(Option<i64>, i64)> = cpus
            .iter()
            .filter_map(|cpu| Some((cpu.package, cpu.die?)))
            .collect();
        dies.sort_unstable();
        dies.dedup();
        let mut packages: Vec<Option<i64>> = dies.iter().map(|(package, _)| *package).collect();
        packages.dedup();
        let nodes = machine.topology.nodes.len();
        let node_width = machine
            .topology
            .nodes
            .iter()
            .map(|node| node.id.to_string().len())
            .max()
            .unwrap_or(1);
        Labels {
            machine,
            nodes,
            node_width,
            dies: dies.len() > packages.len(),
        }
    }

    fn text(&self, place: &Place) -> String {
        let mut words = Vec::new();
        if let Some(node) = place.node.filter(|_| self.nodes > 1) {
            words.push(format!("node {node:<width$}", width = self.node_width));
        }
        if let Some(die) = place.die.filter(|_| self.dies) {
            words.push(format!("die {die}"));
        }
        if let Some(llc) = &place.llc {
            let caches = self.machine.topology.caches.iter().rev();
            if let Some(cache) = caches.clone().find(|cache| cache.shared_by == *llc) {
                let size = cache
                    .size_bytes
                    .map_or_else(String::new, |size| format!(" {}", bytes(size)));
                words.push(format!("L{}{size}", cache.level));
            }
        }
        words.join("  ")
    }
}

fn package_head(package: Option<i64>, cpus: &[&Cpu], all: &[&Cpu], style: Style) -> String {
    let name = match package {
        None if cpus.len() == all.len() => "CPUs, packages unknown".to_owned(),
        Some(number) => format!("Package {number}"),
        None if cpus.iter().all(|cpu| !cpu.online) => "Offline, place unknown".to_owned(),
        None => "Package unknown".to_owned(),
    };
    let mut cores: Vec<u32> = cpus
        .iter()
        .filter_map(|cpu| cpu.siblings.as_ref()?.first())
        .map(|cpu| cpu.0)
        .collect();
    cores.sort_unstable();
    cores.dedup();
    let count = counted(cpus.len(), "CPU");
    let count = if cores.is_empty() {
        count
    } else {
        format!("{}, {count}", counted(cores.len(), "core"))
    };
    format!(
        "{}  {}",
        style.paint(Role::Head, &name),
        style.paint(Role::Quiet, &count)
    )
}

fn draw(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = lines(cpus, full_place);
    let labels = Labels::of(machine, cpus);
    let label_width = lines
        .values()
        .map(|(place, _)| labels.text(place).len())
        .max()
        .unwrap_or(0);
    let digits = cpus
        .iter()
        .map(|cpu| cpu.id.0.to_string().len())
        .max()
        .unwrap_or(1);
    let threaded = cpus
        .iter()
        .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1));
    // Cores stand in columns: those with as many threads take the room of the widest, which marks may
    // have made wide.
    let inside = |core: &Core| {
        core.cpus
            .iter()
            .map(|cpu| digits + marks.letters(cpu.id).len() + 1)
            .sum::<usize>()
            - 1
    };
    let mut rooms: BTreeMap<usize, usize> = BTreeMap::new();
    for core in lines.values().flat_map(|(_, here)| cores(here, threaded)) {
        let room = rooms.entry(core.cpus.len()).or_default();
        *room = inside(&core).max(*room);
    }
    let room = |core: &Core| rooms.get(&core.cpus.len()).copied().unwrap_or(0);
    let mut before: Option<Option<i64>> = None;
    for (place, here) in lines.values() {
        if before != Some(place.package) {
            let package: Vec<&Cpu> = cpus
                .iter()
                .filter(|cpu| cpu.package == place.package)
                .copied()
                .collect();
            writeln!(out, "{}", package_head(place.package, &package, cpus, style))?;
            before = Some(place.package);
        }
        let indent = 2 + label_width + if label_width > 0 { 3 } else { 0 };
        let label = labels.text(place);
        let gap = indent - 2 - label.len();
        let mut line = format!("  {}{:gap$}", style.paint(Role::Quiet, &label), "");
        let mut column = indent;
        let cores = cores(here, threaded);
        let width = |core: &Core| core.open.chars().count() + core.close.len() + room(core);
        for (count, core) in cores.iter().enumerate() {
            // A group begins a new line when it does not fit into the rest of this one, but does into a whole one.
            let rest = cores.get(count..).unwrap_or_default();
            let members = rest
                .iter()
                .position(|core| core.close.ends_with(')'))
                .filter(|_| core.open.contains('('));
            let group: usize = rest
                .iter()
                .take(members.map_or(1, |last| last + 1))
                .map(|core| width(core) + 1)
                .sum();
            let needed = if indent + group <= COLUMNS {
                group
            } else {
                width(core) + 1
            };
            if count > 0 && column + needed > COLUMNS {
                writeln!(out, "{}", line.trim_end())?;
                line = " ".repeat(indent);
                column = indent;
            } else if count > 0 {
                line.push(' ');
                column += 1;
            }
            let entry = |cpu: &&Cpu| {
                let text = format!("{:>digits$}{}", cpu.id.0, marks.letters(cpu.id));
                marks
                    .role(cpu.id)
                    .map_or(text.clone(), |role| style.paint(role, &text))
            };
            let entries: Vec<String> = core.cpus.iter().map(entry).collect();
            let gap = room(core) - inside(core);
            line.push_str(&format!(
                "{}{}{}{:gap$}",
                core.open,
                entries.join(" "),
                core.close,
                ""
            ));
            column += width(core);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// One core with the brackets that begin and end around it.
struct Core<'a> {
    open: String,
    cpus: Vec<&'a Cpu>,
    close: String,
}

/// The cores of a line in the order of kind, level-2 cache and lowest CPU.
fn cores<'a>(cpus: &[&'a Cpu], threaded: bool) -> Vec<Core<'a>> {
    let lowest = |set: &Option<CpuSet>, cpu: &Cpu| set.as_ref().and_then(CpuSet::first).unwrap_or(cpu.id).0;
    let mut groups: BTreeMap<(Option<CoreKind>, u32, u32), Vec<&'a Cpu>> = BTreeMap::new();
    for &cpu in cpus {
        let core = lowest(&cpu.siblings, cpu);
        // Where the level-2 cache is unknown, a core is taken to have its own.
        let l2 = cpu
            .l2
            .as_ref()
            .and_then(CpuSet::first)
            .map_or(core, |first| first.0);
        let key = (cpu.kind, l2, core);
        groups.entry(key).or_default().push(cpu);
    }
    let keys: Vec<(Option<CoreKind>, u32, u32)> = groups.keys().copied().collect();
    // A level-2 cache is worth brackets when several cores share it, but not the whole line.
    let shares = |place: usize, other: Option<usize>| {
        let (here, there) = (keys.get(place), other.and_then(|other| keys.get(other)));
        matches!((here, there), (Some(here), Some(there)) if here.0 == there.0 && here.1 == there.1)
    };
    let whole = (1..keys.len()).all(|place| shares(place, Some(place - 1)));
    let mut cores = Vec::new();
    for (place, ((kind, ..), cpus)) in groups.into_iter().enumerate() {
        let (left, right) = (
            shares(place, place.checked_sub(1)),
            shares(place, Some(place + 1)),
        );
        let mut core = Core {
            open: String::new(),
            cpus,
            close: String::new(),
        };
        let first_of_kind = place == 0 || keys.get(place - 1).is_some_and(|before| before.0 != kind);
        match kind {
            Some(CoreKind::Performance) if first_of_kind => core.open.push_str("P "),
            Some(CoreKind::Efficiency) if first_of_kind => core.open.push_str("E "),
            _ => {}
        }
        if !whole && right && !left {
            core.open.push('(');
        }
        if threaded
            && core
                .cpus
                .iter()
                .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1))
        {
            core.open.push('[');
            core.close.push(']');
        }
        if !whole && left && !right {
            core.close.push(')');
        }
        cores.push(core);
    }
    cores
}

fn summarise(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let labels = Labels::of(machine, cpus);
    let by_node = |cpu: &Cpu| Place {
        die: None,
        llc: None,
        ..full_place(cpu)
    };
    let by_package = |cpu: &Cpu| Place {
        node: None,
        ..by_node(cpu)
    };
    let mut rows = lines(cpus, full_place);
    if rows.len() > LINES {
        rows = lines(cpus, by_node);
    }
    if rows.len() > LINES {
        rows = lines(cpus, by_package);
    }
    let label_width = rows
        .values()
        .map(|(place, _)| labels.text(place).len())
        .max()
        .unwrap_or(0);
    let mut before: Option<Option<i64>> = None;
    for (place, here) in rows.values() {
        if before != Some(place.package) {
            let package: Vec<&Cpu> = cpus
                .iter()
                .filter(|cpu| cpu.package == place.package)
                .copied()
                .collect();
            writeln!(out, "{}", package_head(place.package, &package, cpus, style))?;
            before = Some(place.package);
        }
        let set: CpuSet = here.iter().map(|cpu| cpu.id).collect();
        let mut text = format!("CPU {set}");
        for mark in &marks.0 {
            let bearing = mark.cpus.and(&set);
            if !bearing.is_empty() {
                let which = if bearing == set {
                    "all".to_owned()
                } else {
                    bearing.to_string()
                };
                text.push_str(&format!("; {} {which}", mark.letter));
            }
        }
        let indent = 2 + label_width + if label_width > 0 { 3 } else { 0 };
        let label = labels.text(place);
        let gap = indent - 2 - label.len();
        writeln!(
            out,
            "  {}{:gap$}{}",
            style.paint(Role::Quiet, &label),
            "",
            wrap(&text, indent, COLUMNS)
        )?;
    }
    writeln!(
        out,
        "  {}",
        style.paint(Role::Quiet, "--cpus LIST draws some of them one by one")
    )
}

fn legend(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let set: CpuSet = cpus.iter().map(|cpu| cpu.id).collect();
    let mut words: Vec<String> = Vec::new();
    if cpus.len() <= DRAWN {
        if cpus
            .iter()
            .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1))
        {
            words.push("[ ] one core with its threads".to_owned());
        }
        let drawn = lines(cpus, full_place);
        if drawn
            .values()
            .any(|(_, here)| cores(here, false).iter().any(|core| core.close.contains(')')))
        {
            words.push("( ) cores that share an L2 cache".to_owned());
        }
        if cpus.iter().any(|cpu| cpu.kind.is_some()) {
            words.push("P performance, E efficiency cores".to_owned());
        }
    }
    let seen = marks.0.iter().filter(|mark| mark.cpus.intersects(&set));
    words.extend(seen.map(|mark| format!("{} {}", mark.letter, mark.meaning)));
    if machine.tasks.is_none() {
        words.push("which CPUs are busy is unknown here".to_owned());
    }
    let mut used = 2;
    write!(out, "\n  ")?;
    for (place, word) in words.iter().enumerate() {
        let width = word.chars().count() + 3;
        if place > 0 && used + width > COLUMNS {
            write!(out, "\n  ")?;
            used = 2;
        }
        let gap = if used > 2 { "   " } else { "" };
        write!(out, "{gap}{}", style.paint(Role::Quiet, word))?;
        used += width;
    }
    writeln!(out)
}
