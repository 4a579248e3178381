//! Formats cset's two tables, of cpusets and of tasks, for people and for programs.

use super::spec;
use super::tree::CpusetNode;
use machine::{CpuSet, Policy, Task};
use root::Root;
use session::accounts;
use std::collections::BTreeMap;

/// The audience of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingReader {
    /// People: columns with a maximum width, unless `-v` is given.
    Person(Width),
    /// Programs: fields separated by `;` (`-m`).
    Program,
}

/// The maximum width of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 80 columns.
    Screen,
    /// Unlimited (`-v`).
    Full,
}

/// The format of CPU and node sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Lists.
    List,
    /// Hexadecimal masks (`-x`).
    Hex,
}

const COLUMNS: usize = 79;

/// Displayed for a set without CPUs or nodes.
const NONE: &str = "*****";

/// The table of cpusets, without the prefix `cset: `.
pub fn sets(sets: &[&CpusetNode], reader: ListingReader, notation: Notation) -> String {
    let row = |set: &CpusetNode| {
        let written = |numbers: &CpuSet| match notation {
            _ if numbers.is_empty() => NONE.to_owned(),
            Notation::List => numbers.to_string(),
            Notation::Hex => spec::hex(numbers),
        };
        let own = |is: bool| if is { "y" } else { "n" };
        let (cpus, mems) = (written(&set.cpus), written(&set.mems));
        let (cpu_own, mem_own) = (own(set.cpu_exclusive), own(set.mem_exclusive));
        let CpusetNode {
            name,
            path,
            tasks,
            subsets,
            ..
        } = set;
        match reader {
            ListingReader::Program => {
                format!("{name};{cpus};{cpu_own};{mems};{mem_own};{tasks};{subsets};{path}\n")
            }
            ListingReader::Person(width) => {
                let row = format!(" {name:>12} {cpus:>10} {cpu_own} {mems:>7} {mem_own} {tasks:>5} {subsets:>4} ");
                let path = match width {
                    Width::Full => path.clone(),
                    Width::Screen => middle_out(path, COLUMNS.saturating_sub(row.len())),
                };
                format!("{row}{path}\n")
            }
        }
    };
    let rows: String = sets.iter().map(|set| row(set)).collect();
    match reader {
        ListingReader::Program => format!("cpuset_list_start\n{rows}cpuset_list_end\n"),
        ListingReader::Person(_) => format!(
            "\n         Name       CPUs-X    MEMs-X Tasks Subs Path\n \
             ------------ ---------- - ------- - ----- ---- ----------\n{rows}"
        ),
    }
}

/// Shortens a long path in the middle.
fn middle_out(path: &str, room: usize) -> String {
    const DOTS: &str = "...";
    let letters: Vec<char> = path.chars().collect();
    if letters.len() <= room || room < 2 * DOTS.len() {
        return path.to_owned();
    }
    let front = (room / 2).saturating_sub(DOTS.len());
    let back = room - DOTS.len() - front;
    let (front, back) = (letters.iter().take(front), letters.iter().skip(letters.len() - back));
    front.copied().chain(DOTS.chars()).chain(back.copied()).collect()
}

/// The rows of a table of tasks; for people with a heading, indented by `indent`.
pub fn tasks(tasks: &[&Task], root: &Root, reader: ListingReader, indent: usize) -> String {
    let names = accounts::user_names(root);
    let blank = " ".repeat(indent);
    let row = |task: &Task| {
        let tid = task.key.tid;
        let user = user(root, tid, &names);
        let state = format!("{}{}", task.state, class(task));
        let name = name(root, task);
        match reader {
            ListingReader::Program => format!("{user};{tid};{};{state};{}\n", task.ppid, name.trim_end()),
            ListingReader::Person(width) => {
                let row = format!(" {user:<8} {tid:>5} {:>5} {state:<4} ", task.ppid);
                let room = COLUMNS.saturating_sub(row.len());
                let name = match width {
                    Width::Screen if name.chars().count() > room => {
                        name.chars().take(room.saturating_sub(3)).chain("...".chars()).collect()
                    }
                    _ => name,
                };
                format!("{blank}{row}{name}\n")
            }
        }
    };
    let rows: String = tasks.iter().map(|task| row(task)).collect();
    match reader {
        ListingReader::Person(_) if !tasks.is_empty() => {
            format!("{blank} USER       PID  PPID SPPr TASK NAME\n{blank} -------- ----- ----- ---- ---------\n{rows}")
        }
        _ => rows,
    }
}

/// The letters after the state: policy and priority.
fn class(task: &Task) -> String {
    match task.policy {
        Policy::Fifo => format!("f{:_>2}", task.rt_priority),
        Policy::Rr => format!("r{:_>2}", task.rt_priority),
        Policy::Other => "oth".to_owned(),
        Policy::Batch => "bat".to_owned(),
        Policy::Idle => "idl".to_owned(),
        Policy::Deadline => "dea".to_owned(),
        Policy::Ext => "ext".to_owned(),
        Policy::Unknown => "?".to_owned(),
    }
}

/// The real user, truncated like in cset.
fn user(root: &Root, tid: u32, names: &BTreeMap<u32, String>) -> String {
    let Some([user, _]) = machine::tasks::users_of(root, tid) else {
        return "?".to_owned();
    };
    names
        .get(&user)
        .map_or_else(|| user.to_string(), |name| name.chars().take(8).collect())
}

/// The command line, with cset's blank after each word; the name in brackets if there is none.
fn name(root: &Root, task: &Task) -> String {
    let line = root.bytes(&format!("/proc/{}/cmdline", task.key.tid)).ok().flatten();
    match line.filter(|line| !line.is_empty()) {
        Some(line) => report::safe(&String::from_utf8_lossy(&line).replace('\0', " ")),
        None => format!("[{}]", report::safe(&task.comm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, path: &str, cpus: &str, counts: (usize, usize)) -> CpusetNode {
        let list = |text| CpuSet::parse_list(text).unwrap();
        let is_root = path == "/";
        CpusetNode {
            name: name.to_owned(),
            path: path.to_owned(),
            place: path.to_owned(),
            cpus: list(cpus),
            cpu_exclusive: is_root,
            mems: list("0"),
            mem_exclusive: is_root,
            tasks: counts.0,
            subsets: counts.1,
        }
    }

    /// The table of the tutorial's section "Implementing Hierarchy with Set and Proc".
    #[test]
    fn the_table_of_the_tutorial_is_reproduced() {
        let all = [
            set("root", "/", "0-3", (344, 2)),
            set("system", "/system", "0", (0, 0)),
            set("prio_all", "/prio_all", "0-3", (0, 1)),
            set("prio_high", "/prio_all/prio_high", "1-3", (0, 1)),
            set("prio_med", "/prio_all/prio_high/prio_med", "2-3", (0, 1)),
            set("prio_low", "/prio_all/prio_high/prio_med/prio_low", "3", (0, 0)),
        ];
        let all: Vec<&CpusetNode> = all.iter().collect();
        let screen = sets(&all, ListingReader::Person(Width::Screen), Notation::List);
        assert_eq!(
            screen,
            "
         Name       CPUs-X    MEMs-X Tasks Subs Path
 ------------ ---------- - ------- - ----- ---- ----------
         root        0-3 y       0 y   344    2 /
       system          0 n       0 n     0    0 /system
     prio_all        0-3 n       0 n     0    1 /prio_all
    prio_high        1-3 n       0 n     0    1 /prio_all/prio_high
     prio_med        2-3 n       0 n     0    1 /prio_all/prio_high/prio_med
     prio_low          3 n       0 n     0    0 /prio_all/pr...rio_med/prio_low
"
        );
        let full = sets(&all, ListingReader::Person(Width::Full), Notation::List);
        assert!(full.ends_with(" /prio_all/prio_high/prio_med/prio_low\n"), "{full}");
    }

    #[test]
    fn machine_readable_rows_and_masks_are_printed() {
        let empty = set("a_quite_long_name_here", "/qc_t/a_quite_long_name_here", "", (0, 1));
        let root = set("root", "/", "0-1", (133, 0));
        assert_eq!(
            sets(&[&root, &empty], ListingReader::Program, Notation::List),
            "cpuset_list_start\nroot;0-1;y;0;y;133;0;/\n\
             a_quite_long_name_here;*****;n;0;n;0;1;/qc_t/a_quite_long_name_here\ncpuset_list_end\n"
        );
        let row = sets(&[&root], ListingReader::Person(Width::Screen), Notation::Hex);
        assert!(
            row.ends_with("\n         root          3 y       1 y   133    0 /\n"),
            "{row}"
        );
    }

    fn task(tid: u32, state: char, policy: Policy, rt_priority: u32) -> Task {
        Task {
            pid: tid,
            key: machine::TaskKey { tid, start_time: 1 },
            ppid: 13983,
            comm: "migration/0".to_owned(),
            state,
            flags: 0,
            cpu: None,
            allowed: None,
            policy,
            rt_priority,
            nice: 0,
            cgroup: None,
        }
    }

    /// Rows as cset 1.6 wrote them for such tasks.
    #[test]
    fn task_rows_are_printed_as_by_cset() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: String, content: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        put(
            "etc/passwd".to_owned(),
            "root:x:0:0:root:/root:/bin/sh\nsystemd-network:x:998:998::/:/bin/false\n",
        );
        let long = format!("sh\0-c\0sleep 107; echo {} bbb\0", "a".repeat(80));
        for (tid, uid, line) in [
            (13992, 0, "sleep\u{0}101\u{0}"),
            (13993, 54321, "sleep\u{0}102\u{0}"),
            (13997, 998, "sleep\u{0}105\u{0}"),
            (13999, 0, long.as_str()),
            (18, 0, ""),
        ] {
            put(
                format!("proc/{tid}/status"),
                &format!("Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"),
            );
            put(format!("proc/{tid}/cmdline"), line);
        }
        let root = Root::open(dir.path()).unwrap();
        let all = [
            task(13992, 'S', Policy::Fifo, 5),
            task(13993, 'S', Policy::Rr, 50),
            task(13997, 'S', Policy::Other, 0),
            task(13999, 'S', Policy::Other, 0),
            task(18, 'S', Policy::Fifo, 99),
        ];
        let all: Vec<&Task> = all.iter().collect();
        assert_eq!(
            tasks(&all, &root, ListingReader::Person(Width::Screen), 0),
            " USER       PID  PPID SPPr TASK NAME
 -------- ----- ----- ---- ---------
 root     13992 13983 Sf_5 sleep 101 
 54321    13993 13983 Sr50 sleep 102 
 systemd- 13997 13983 Soth sleep 105 
 root     13999 13983 Soth sh -c sleep 107; echo aaaaaaaaaaaaaaaaaaaaaaaaaaa...
 root        18 13983 Sf99 [migration/0]
"
        );
        let shield = tasks(&all[..1], &root, ListingReader::Person(Width::Screen), 2);
        assert!(shield.starts_with("   USER       PID"), "{shield}");
        assert_eq!(
            tasks(&all[1..2], &root, ListingReader::Program, 0),
            "54321;13993;13983;Sr50;sleep 102\n"
        );
        assert!(tasks(&all[3..4], &root, ListingReader::Person(Width::Full), 0).contains(" bbb \n"));
    }
}
