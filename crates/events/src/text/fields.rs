//! Parses names and values in the text of an event.

/// Names and values in the text of this event, in order: `key=value`, and the unnamed values of older tracers and trace-cmd
/// under the names in the kernel's own format.
#[must_use]
pub fn fields<'a>(name: &str, text: &'a str) -> Vec<(&'a str, &'a str)> {
    let found = match name {
        "function" => function(text),
        "sched_switch" => numbers(text, " ==> [").or_else(|| plugin_switch(text)),
        "sched_wakeup" | "sched_wakeup_new" | "sched_waking" => numbers(text, " + [").or_else(|| plugin_wakeup(text)),
        name if name.ends_with("_noise") || name == "sample_threshold" => noise(text),
        _ => None,
    };
    found.unwrap_or_else(|| pairs(text))
}

/// `key=value key=value`. A value may contain spaces: it ends where the next key starts.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices('=') {
        let before = text.get(..at).unwrap_or_default();
        let key = before.trim_end_matches(is_key).len();
        let begins = text
            .get(..key)
            .is_some_and(|head| head.is_empty() || head.ends_with([' ', ',', '(', '{', '\t']));
        let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        // `a==b`, `a=>b` and `x=` inside a word are not keys.
        if key < at && begins && text.get(key..).is_some_and(|rest| rest.starts_with(letter)) {
            starts.push((key, at));
        }
    }
    let ends = starts.iter().skip(1).map(|(key, _)| *key).chain([text.len()]);
    let pair = |((key, at), end): (&(usize, usize), usize)| {
        let value = text.get(at + 1..end)?.trim();
        let value = value.strip_suffix("==>").unwrap_or(value);
        Some((text.get(*key..*at)?, value.trim_end_matches([' ', ','])))
    };
    starts.iter().zip(ends).filter_map(pair).collect()
}

/// `func <-caller`, with two hyphens in trace-cmd's text.
fn function(text: &str) -> Option<Vec<(&str, &str)>> {
    let (function, caller) = text.split_once(" <-")?;
    let caller = caller.trim_start_matches(['-', ' ']);
    Some(vec![("ip", function.trim()), ("parent_ip", caller.trim())])
}

/// `31594:115:R ==> [001]     6:120:R ksoftirqd` of the tracer `sched_switch` (until 2.6.38), which writes wake-ups with a
/// plus sign. The name belongs to the second thread.
fn numbers<'a>(text: &'a str, sign: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let (before, after) = text.split_once(sign)?;
    let (cpu, after) = after.split_once(']')?;
    let three = |text: &'a str| {
        let mut parts = text.trim().splitn(3, ':');
        Some((parts.next()?, parts.next()?.trim(), parts.next()?))
    };
    let first = three(before)?;
    let second = three(after)?;
    let (state, comm) = second.2.split_once(' ').unwrap_or((second.2, ""));
    let plain = |text: &'a str| text.trim();
    Some(if sign.contains('+') {
        vec![
            ("comm", plain(comm)),
            ("pid", second.0),
            ("prio", second.1),
            ("target_cpu", cpu),
        ]
    } else {
        vec![
            ("prev_pid", first.0),
            ("prev_prio", first.1),
            ("prev_state", plain(first.2)),
            ("next_comm", plain(comm)),
            ("next_pid", second.0),
            ("next_prio", second.1),
            ("next_state", state),
            ("target_cpu", cpu),
        ]
    })
}

/// `bash:21820 [120] S ==> bash:21829 [120]`, as trace-cmd's plugin writes it.
fn plugin_switch(text: &str) -> Option<Vec<(&str, &str)>> {
    let (before, after) = text.split_once(" ==> ")?;
    let (prev_comm, prev_pid, prev_prio, prev_state) = thread(before)?;
    let (next_comm, next_pid, next_prio, _) = thread(after)?;
    Some(vec![
        ("prev_comm", prev_comm),
        ("prev_pid", prev_pid),
        ("prev_prio", prev_prio),
        ("prev_state", prev_state),
        ("next_comm", next_comm),
        ("next_pid", next_pid),
        ("next_prio", next_prio),
    ])
}

/// `bash:21820 [120] success=1 CPU:000`; since 4.3 without `success`.
fn plugin_wakeup(text: &str) -> Option<Vec<(&str, &str)>> {
    let (comm, pid, prio, rest) = thread(text)?;
    let (_, cpu) = rest.split_once("CPU:")?;
    Some(vec![
        ("comm", comm),
        ("pid", pid),
        ("prio", prio),
        ("target_cpu", cpu.trim()),
    ])
}

/// `NAME:PID [PRIO] REST`.
fn thread(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (who, rest) = text.trim().rsplit_once(" [")?;
    let (prio, rest) = rest.split_once(']')?;
    let (comm, pid) = who.rsplit_once(':')?;
    let number = |text: &str| text.parse::<i64>().is_ok();
    (number(pid) && number(prio)).then_some((comm, pid, prio, rest.trim()))
}

/// `ahci[0000:87:00.0]:47 start 37384.833985696 duration 2390 ns`, of the tracer `osnoise`.
fn noise(text: &str) -> Option<Vec<(&str, &str)>> {
    let (who, rest) = text.split_once("start ")?;
    let (start, rest) = rest.split_once(" duration ")?;
    let (duration, rest) = rest.split_once(" ns")?;
    let mut found = Vec::new();
    if let Some((name, number)) = who.trim().rsplit_once(':') {
        found.push(("desc", name));
        found.push(("vector", number));
    }
    found.push(("start", start.trim()));
    found.push(("duration_ns", duration.trim()));
    if let Some((_, interference)) = rest.split_once("interference ") {
        found.push(("interference", interference.trim()));
    }
    Some(found)
}
