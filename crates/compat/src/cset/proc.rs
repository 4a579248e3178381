//! Implements `cset proc`: lists tasks of sets, starts programs in them, moves tasks between them.

use super::moving::{self, KernelThreads, SelectedTasks, Siblings};
use super::options::{Flag, ParsedOptions};
use super::place::{self, ProgramLaunch};
use super::tables::{self, ListingReader};
use super::talk::CsetOutput;
use super::tree::{CpusetNode, CpusetTree};
use super::{CsetCommand, CsetError, set, spec};
use machine::Task;
use root::Status;
use session::Session;
use std::collections::BTreeSet;

pub(super) const COMMAND: CsetCommand = CsetCommand {
    name: "proc",
    operands: "[path/program [args]]",
    flags: FLAGS,
    run,
};

const FLAGS: &[Flag] = &[
    Flag::plain('l', "list", "list the tasks of the cpuset"),
    Flag::plain(
        'e',
        "exec",
        "start the operands as a program there; write -- before one with options",
    ),
    Flag::word('u', "user", "with --exec: as this user (name or number)"),
    Flag::word('g', "group", "with --exec: with this group (name or number)"),
    Flag::plain(
        'm',
        "move",
        "move tasks: -m PIDSPEC cpuset, or all with --fromset and --toset",
    ),
    Flag::word('p', "pid", "tasks to move"),
    Flag::plain(' ', "threads", "also the other threads of their processes"),
    Flag::word('s', "set", "the cpuset"),
    Flag::word('t', "toset", "the cpuset that tasks move into"),
    Flag::word('f', "fromset", "the cpuset that tasks leave"),
    Flag::plain('k', "kthread", "move unbound kernel threads as well, or only them"),
    Flag::plain(' ', "force", "also move bound kernel threads, if the kernel allows it"),
    Flag::plain('v', "verbose", "rows in full width"),
];

fn run(session: &Session, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let tree = CpusetTree::read(session)?;
    let wants_move = ["move", "kthread", "pid"].iter().any(|option| given.has(option));
    match (given.has("exec"), wants_move && !given.has("list")) {
        (true, _) => exec(&tree, given, talk),
        (false, true) => start_move(&tree, given, talk),
        (false, false) => list(&tree, given, talk),
    }
}

fn list(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let names = given.names(&["set", "fromset", "toset"]);
    if names.is_empty() {
        let what = match given.has("list") {
            true => "cpuset not specified",
            false => "cpuset(s) to list not specified",
        };
        return Err(CsetError::failed(what));
    }
    for name in names {
        let set = tree.find(&name)?;
        let named = NamedSet { set, name: &set.name };
        show(tree, named, talk, 0);
    }
    Ok(Status::Done)
}

/// A set, and the name under which messages mention it.
#[derive(Clone, Copy)]
pub(super) struct NamedSet<'t> {
    pub(super) set: &'t CpusetNode,
    pub(super) name: &'t str,
}

impl NamedSet<'_> {
    /// `"user" cpuset of CPUSPEC(1-3) with 0 tasks running`
    pub(super) fn headline(&self) -> String {
        let NamedSet { set, name } = self;
        format!(
            "\"{name}\" cpuset of CPUSPEC({}) with {} {} running",
            set.cpus,
            set.tasks,
            task_word(set.tasks)
        )
    }
}

/// The header of a set, and the rows of its tasks.
pub(super) fn show(tree: &CpusetTree, named: NamedSet, talk: &mut CsetOutput, indent: usize) {
    let name = named.name;
    let tasks: Vec<&Task> = tree.members(named.set).collect();
    let rows = tables::tasks(&tasks, tree.session.root(), talk.reader, indent);
    match talk.reader {
        ListingReader::Program if tasks.is_empty() => talk.print(&format!("proc_list_no_tasks-{name}")),
        ListingReader::Program => {
            talk.print(&format!("proc_list_start-{name}"));
            talk.raw(&rows);
            talk.raw(&format!("proc_list_stop-{name}\n"));
        }
        ListingReader::Person(_) => {
            talk.print(&named.headline());
            talk.raw(&rows);
        }
    }
}

fn exec(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let named = ["set", "toset", "fromset"]
        .iter()
        .find_map(|option| given.value(option));
    let (name, command) = match (named, given.operands.split_first()) {
        (Some(name), _) => (name.to_owned(), given.operands.as_slice()),
        (None, Some((name, command))) => (name.to_string_lossy().into_owned(), command),
        (None, None) => return Err(CsetError::failed("cpuset not specified")),
    };
    let set = tree.find(&name)?;
    let start = ProgramLaunch {
        set,
        command,
        user: given.value("user"),
        group: given.value("group"),
    };
    Err(place::become_program(tree, &start, || last_message(set, talk)))
}

/// The message from which scripts parse the program's PID.
pub(super) fn last_message(set: &CpusetNode, talk: &mut CsetOutput) {
    talk.print(&format!(
        "--> last message, executed args into cpuset \"{}\", new pid is: {}",
        set.path,
        std::process::id()
    ));
}

/// The parameters of a move, in any syntax.
#[derive(Debug, Default, PartialEq, Eq)]
struct MoveParameters {
    pids: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// `-m PIDSPEC set`, `-m -p PIDSPEC set`, `-m from to`, with any of `-s`, `-f`, `-t` in place of an operand.
fn parse_request(given: &ParsedOptions) -> MoveParameters {
    let text = |option: &str| given.value(option).map(str::to_owned);
    let mut operands = given.names(&[]);
    let mut request = MoveParameters {
        pids: text("pid"),
        from: text("fromset"),
        to: text("toset"),
    };
    if request.pids.is_none() && request.from.is_none() && operands.first().is_some_and(|first| spec::is_pids(first)) {
        let needs_set = request.to.is_none() && text("set").is_none();
        if !needs_set || operands.len() > 1 {
            request.pids = Some(operands.remove(0));
        }
    }
    // `--set` is whichever of the two is missing.
    match (text("set"), request.to.is_some(), request.from.is_some()) {
        (Some(set), true, false) if request.pids.is_none() => request.from = Some(set),
        (Some(set), false, _) if request.pids.is_some() || request.from.is_some() || operands.is_empty() => {
            request.to = Some(set);
        }
        (Some(set), false, false) => request.from = Some(set),
        _ => {}
    }
    if request.to.is_none() {
        request.to = operands.pop();
    }
    if request.pids.is_none() && request.from.is_none() {
        request.from = operands.pop();
    }
    request
}

fn start_move(tree: &CpusetTree, given: &ParsedOptions, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let request = parse_request(given);
    let Some(to) = &request.to else {
        return Err(CsetError::failed("destination cpuset not specified"));
    };
    let to = tree.find(to)?;
    let from = request.from.as_deref().map(|from| tree.find(from)).transpose()?;
    let kernel = match (given.has("kthread"), given.has("force")) {
        (true, true) => KernelThreads::All,
        (true, false) => KernelThreads::Unbound,
        (false, _) => KernelThreads::None,
    };
    let siblings = match given.has("threads") {
        true => Siblings::Included,
        false => Siblings::Stay,
    };
    let chosen = match (&request.pids, from) {
        (Some(pidspec), from) => {
            let pids = moving::pids(tree, pidspec, siblings)?;
            if pids.is_empty() {
                talk.print("**> no tasks moved");
                talk.print("done");
                return Ok(Status::Done);
            }
            let listed: Vec<String> = pids.iter().map(u32::to_string).collect();
            talk.print(&format!("moving following pidspec: {}", listed.join(",")));
            moving::of_pids(tree, &pids, from, to, kernel)
        }
        (None, Some(from)) => {
            let mut chosen = moving::of_set(tree, from, to, kernel);
            match given.has("move") || !given.has("kthread") {
                true => talk.print(&format!("moving all tasks from {} to {}", from.name, to.path)),
                false => {
                    chosen.user.clear();
                    talk.print(&format!("moving all kernel threads from {} to {}", from.path, to.path));
                }
            }
            chosen
        }
        (None, None) => return Err(CsetError::failed("origination cpuset not specified")),
    };
    if let Some(from) = from.filter(|_| chosen.elsewhere > 0) {
        talk.print(&skipped(chosen.elsewhere, &from.name));
    }
    carry_out(tree, &chosen, to, talk)?;
    if let (None, Some(from)) = (&request.pids, from) {
        follow(tree.session, &chosen.user, &from.path, &to.path)?;
    }
    talk.print("done");
    Ok(Status::Done)
}

/// Programs that forked during the move left children behind: passes repeat until one finds no new task.
fn follow(session: &Session, moved: &[u32], from: &str, to: &str) -> Result<(), CsetError> {
    const PASSES: usize = 50;
    let mut tried: BTreeSet<u32> = moved.iter().copied().collect();
    for _ in 0..PASSES {
        if tried.is_empty() {
            break;
        }
        let tree = CpusetTree::read(session)?;
        let (from, to) = (tree.find(from)?, tree.find(to)?);
        let mut born = moving::of_set(&tree, from, to, KernelThreads::None).user;
        born.retain(|tid| tried.insert(*tid));
        if born.is_empty() {
            break;
        }
        set::move_tasks(&tree, &born, to)?;
    }
    Ok(())
}

fn carry_out(
    tree: &CpusetTree,
    chosen: &SelectedTasks,
    to: &CpusetNode,
    talk: &mut CsetOutput,
) -> Result<(), CsetError> {
    if chosen.len() == 0 {
        let hint = match (chosen.bound, chosen.kernel_left, chosen.missing) {
            (1.., ..) => "kernel tasks are bound, use --force if ok",
            (_, 1.., _) | (_, _, 1..) => "if you want to move kernel threads, use -k",
            _ => "tasks do not match all criteria, none moved",
        };
        talk.print("**> no task matched move criteria");
        return Err(CsetError::failed(hint));
    }
    if !chosen.user.is_empty() {
        talk.print(&format!("moving {} userspace tasks to {}", chosen.user.len(), to.path));
    }
    if !chosen.kernel.is_empty() {
        talk.print(&format!(
            "moving {} kernel threads to: {}",
            chosen.kernel.len(),
            to.path
        ));
    }
    if chosen.bound > 0 {
        talk.print(&format!(
            "--> not moving {} threads (not unbound, use --force)",
            chosen.bound
        ));
    }
    let moved = set::move_tasks(tree, &chosen.all(), to)?;
    talk.bar(chosen.len());
    if moved.exited + chosen.missing > 0 {
        let count = moved.exited + chosen.missing;
        talk.print(&format!("**> {count} tasks were not found, so were not moved"));
    }
    let stay = format!("{} tasks are not movable, impossible to move", moved.refused);
    match moved.refused {
        0 => {}
        all if all == chosen.len() => {
            let more = place::leaves_only(tree, to);
            return Err(CsetError::Failed { what: stay, more });
        }
        _ => talk.print(&format!("**> {stay}")),
    }
    Ok(())
}

/// Tasks that are not in the source set.
pub(super) fn skipped(count: usize, from: &str) -> String {
    format!(
        "**> skipped {count} {}, not in origination set \"{from}\"",
        task_word(count)
    )
}

fn task_word(count: usize) -> &'static str {
    if count == 1 { "task" } else { "tasks" }
}

#[cfg(test)]
mod tests {
    use super::super::options;
    use super::*;
    use std::ffi::OsString;

    fn of(line: &str) -> (Option<String>, Option<String>, Option<String>) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let wanted = parse_request(&options::parse(FLAGS, &words).unwrap());
        (wanted.pids, wanted.from, wanted.to)
    }

    fn three(pids: &str, from: &str, to: &str) -> (Option<String>, Option<String>, Option<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(pids), some(from), some(to))
    }

    /// Every form in the tutorial's section "Proc Subcommand Shortcuts".
    #[test]
    fn moves_are_parsed_in_every_notation() {
        for line in [
            "-m -p 4242,4243 -s myset",
            "-m 4242,4243 myset",
            "--move --pid=4242,4243 --toset=myset",
            "-m 4242,4243 -t myset",
        ] {
            assert_eq!(of(line), three("4242,4243", "", "myset"), "{line}");
        }
        for line in [
            "-m -f set1 -t set2",
            "-m -s set1 -t set2",
            "-m -f set1 -s set2",
            "-m set1 set2",
            "-k -f set1 -t set2",
        ] {
            assert_eq!(of(line), three("", "set1", "set2"), "{line}");
        }
        assert_eq!(of("-m -p 5 -f set1 -t set2"), three("5", "set1", "set2"));
        assert_eq!(of("-m 1"), three("", "", "1"), "one word is the set");
        assert_eq!(of("-m -f root"), three("", "root", ""));
        assert_eq!(of("-m"), three("", "", ""));
    }
}
