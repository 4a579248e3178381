//! Parses `/proc/PID/task/TID/{stat,status,cgroup}` (`fs/proc/array.c`).

use super::{Policy, Task, TaskKey};
use crate::{CpuId, CpuSet, ParseError, Version};

/// Parses `stat`. The thread's process, mask and cgroup are not in it: `pid` is set to the thread's own number,
/// `allowed` and `cgroup` to `None`.
///
/// # Errors
/// Text that lacks the name in parentheses, or one of the fields up to the policy (41).
pub fn parse_stat(text: &str) -> Result<Task, ParseError> {
    let stat = stat_of(text.as_bytes()).ok_or_else(|| ParseError {
        text: text.chars().take(60).collect(),
        expected: "a line of /proc/PID/stat",
        why: "it needs a number, a name in parentheses and 39 more fields".to_owned(),
    })?;
    Ok(stat.task)
}

/// The content of one `stat`.
pub(super) struct Stat {
    pub task: Task,
    /// Threads of its process; 0 once it has ended.
    pub threads: u64,
}

/// The set in `Cpus_allowed_list` of `status`, or in the mask `Cpus_allowed` if an old kernel has no list.
#[must_use]
pub fn parse_status_allowed(text: &str) -> Option<CpuSet> {
    allowed_of(text.as_bytes())
}

/// The path of a task in the hierarchy of a version, from its `cgroup` file: the one with the cpuset controller on v1,
/// the unified one on v2.
#[must_use]
pub fn parse_cgroup_file(text: &str, version: Version) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_cpuset = match version {
            Version::V1 => controllers.split(',').any(|controller| controller == "cpuset"),
            Version::V2 => id == "0" && controllers.is_empty(),
        };
        // The kernel marks a cgroup that was removed while it held its last task.
        is_cpuset.then(|| path.strip_suffix(" (deleted)").unwrap_or(path).to_owned())
    })
}

pub(super) fn stat_of(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&byte| byte == b'(')?;
    // The name may contain parentheses and spaces, the fields after it may not.
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let tid = number(text.get(..open)?.trim_ascii())?;
    let comm = unescape(text.get(open + 1..close)?);
    // The first is field 3, the state; the numbers below are those of proc(5).
    let mut fields = text.get(close + 1..)?.trim_ascii().split(|&byte| byte == b' ');
    let mut at = 3;
    let mut field = |index: usize| {
        let found = fields.nth(index - at)?;
        at = index + 1;
        Some(found)
    };
    let state = char::from(*field(3)?.first()?);
    let ppid = number(field(4)?)?;
    let flags = number(field(9)?)?;
    let nice = signed(field(19)?)?;
    let threads = number(field(20)?)?;
    let start_time = number(field(22)?)?;
    let cpu = signed(field(39)?)?;
    let rt_priority = number(field(40)?)?;
    let policy = number(field(41)?)?;
    let task = Task {
        pid: u32::try_from(tid).ok()?,
        key: TaskKey {
            tid: u32::try_from(tid).ok()?,
            start_time,
        },
        ppid: u32::try_from(ppid).ok()?,
        comm,
        state,
        flags: u32::try_from(flags).ok()?,
        cpu: u32::try_from(cpu).ok().filter(|&cpu| cpu <= CpuSet::MAX_CPU).map(CpuId),
        allowed: None,
        policy: u32::try_from(policy).map_or(Policy::Unknown, Policy::of_number),
        rt_priority: u32::try_from(rt_priority).ok()?,
        nice: i32::try_from(nice).ok()?,
        cgroup: None,
    };
    Some(Stat { task, threads })
}

pub(super) fn allowed_of(status: &[u8]) -> Option<CpuSet> {
    // Only at the start of a line: a name is one line, and newlines in it are escaped.
    let line = |start: &[u8]| {
        let is_first = |at: &usize| {
            at.checked_sub(1)
                .is_none_or(|before| status.get(before) == Some(&b'\n'))
        };
        let begin = memchr::memmem::find_iter(status, start).find(is_first)? + start.len();
        let rest = status.get(begin..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        std::str::from_utf8(line).ok()
    };
    match line(b"Cpus_allowed_list:") {
        Some(list) => CpuSet::parse_list(list).ok(),
        None => CpuSet::parse_mask(line(b"Cpus_allowed:")?).ok(),
    }
}

/// `stat` writes a newline in a name as `\n` and a backslash as `\\` (`proc_task_name`).
fn unescape(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    if !text.contains('\\') {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('\\')) => plain.push('\\'),
            _ => {
                plain.push(letter);
                continue;
            }
        }
        letters.next();
    }
    plain
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

fn signed(digits: &[u8]) -> Option<i64> {
    match digits.strip_prefix(b"-") {
        Some(digits) => number(digits)
            .and_then(|value| i64::try_from(value).ok())
            .map(|value| -value),
        None => number(digits).and_then(|value| i64::try_from(value).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(comm: &str) -> String {
        format!(
            "4711 ({comm}) S 1 4711 4711 0 -1 69238848 0 0 0 0 0 0 0 0 -51 -5 1 0 4242 0 0 \
             18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 3 50 1 0 0 0 0 0 0 0 0 0 0 0"
        )
    }

    #[test]
    fn all_fields_of_stat_are_parsed() {
        let task = parse_stat(&line("irq/24-eth0")).unwrap();
        assert_eq!(
            task.key,
            TaskKey {
                tid: 4711,
                start_time: 4242
            }
        );
        assert_eq!((task.pid, task.ppid, task.state), (4711, 1, 'S'));
        assert_eq!(
            (task.nice, task.cpu, task.rt_priority, task.policy),
            (-5, Some(CpuId(3)), 50, Policy::Fifo)
        );
        assert_eq!(task.flags, 69_238_848);
        assert!(task.is_kernel() && !task.is_movable());
    }

    #[test]
    fn misleading_task_names_are_parsed() {
        let check = |printed: &str, name: &str| assert_eq!(parse_stat(&line(printed)).unwrap().comm, name);
        check("a b", "a b");
        check(") S 1 1 (", ") S 1 1 (");
        check("", "");
        check("(sd-pam)", "(sd-pam)");
        check("new\\nline", "new\nline");
        check("back\\\\slash", "back\\slash");
        check("back\\\\n", "back\\n");
        check("\u{fc}", "\u{fc}");
        check("end\\", "end\\");
    }

    #[test]
    fn malformed_stat_lines_are_refused() {
        for text in [
            "",
            "1",
            "1 (a",
            "1 (a) S",
            "x (a) S 1",
            ")(",
            "1 (a) S 1 2 3 4 5 6",
            &line("a")[..120],
        ] {
            assert!(parse_stat(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn allowed_cpus_are_parsed_from_status() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                parse_status_allowed(text).map(|set| set.to_string()).as_deref(),
                expected,
                "of {text:?}"
            );
        };
        check(
            "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-1,3\nMems_allowed:\t1\n",
            Some("0-1,3"),
        );
        check("Cpus_allowed:\t00000000,0000000a\n", Some("1,3"));
        check("Name:\tCpus_allowed_list:\t7\n", None);
        check("", None);
    }

    #[test]
    fn cgroup_paths_are_parsed() {
        let text = "5:cpuset:/a:b/c\n3:cpu,cpuacct:/x\n1:name=systemd:/init.scope\n0::/user.slice (deleted)\n";
        assert_eq!(parse_cgroup_file(text, Version::V1).as_deref(), Some("/a:b/c"));
        assert_eq!(parse_cgroup_file(text, Version::V2).as_deref(), Some("/user.slice"));
        assert_eq!(parse_cgroup_file("0::/\n", Version::V1), None);
        assert_eq!(parse_cgroup_file("garbage", Version::V2), None);
    }

    proptest! {
        #[test]
        fn any_task_name_is_parsed(name in "[^\\\\]{0,15}") {
            prop_assert_eq!(parse_stat(&line(&name.replace('\n', "\\n"))).unwrap().comm, name);
        }

        #[test]
        fn no_text_causes_a_panic(text in ".{0,200}") {
            let _ = parse_stat(&text);
            let _ = parse_status_allowed(&text);
            let _ = parse_cgroup_file(&text, Version::V1);
        }
    }
}
