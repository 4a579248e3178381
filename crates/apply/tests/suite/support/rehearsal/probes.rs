//! The simulated list of kernel probes (`kernel/trace/trace_kprobe.c`): a written line adds or removes a probe.

/// Returns the list after a line was written, or the errno. Functions named `absent…` do not exist, and `notrace…`
/// cannot be probed.
pub fn written(list: &str, line: &str) -> Result<String, i32> {
    let mut lines: Vec<&str> = list.lines().collect();
    let (command, rest) = line.split_once(':').ok_or(libc::EINVAL)?;
    let name = |line: &str| line.split([':', ' ']).nth(1).unwrap_or_default().to_owned();
    match command {
        "-" => {
            let before = lines.len();
            lines.retain(|line| name(line) != rest);
            if lines.len() == before {
                return Err(libc::ENOENT);
            }
        }
        "p" => {
            let mut words = rest.split(' ');
            let (event, function) = (words.next(), words.next().ok_or(libc::EINVAL)?);
            match function {
                function if function.starts_with("absent") => return Err(libc::ENOENT),
                function if function.starts_with("notrace") => return Err(libc::EINVAL),
                _ if lines.iter().any(|line| Some(name(line).as_str()) == event) => return Err(libc::EEXIST),
                _ => lines.push(line),
            }
        }
        _ => return Err(libc::EINVAL),
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}
