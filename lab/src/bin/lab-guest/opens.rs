//! Counts how often a command reads files: `check` must read the machine and the journal only once.

use std::ffi::CString;
use std::io::Error;
use std::process::Command;

/// Watches opens and closes. The kernel merges consecutive equal events (`inotify_handle_inode_event`), so the opens
/// are needed to separate the closes.
const WATCHED: u32 = libc::IN_OPEN | libc::IN_CLOSE_NOWRITE;

/// `lab-guest opens FILE... -- COMMAND`: runs the command. Prints one line per file with the number of opens for
/// reading, and one line with the exit status. No other program may open the files during that time.
pub fn run(words: &[&str]) -> Result<(), String> {
    let place = words.iter().position(|word| *word == "--").ok_or("-- is missing")?;
    let (files, command) = (&words[..place], &words[place + 1..]);
    let (program, args) = command.split_first().ok_or("no command")?;
    // SAFETY: a plain call; the code below only reads from the descriptor.
    let watching = unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) };
    if watching < 0 {
        return Err(format!("inotify_init1: {}", Error::last_os_error()));
    }
    let mut watches = Vec::new();
    for file in files {
        let path = CString::new(*file).map_err(|error| error.to_string())?;
        // SAFETY: `path` is NUL-terminated and outlives the call.
        let watch = unsafe { libc::inotify_add_watch(watching, path.as_ptr(), WATCHED) };
        if watch < 0 {
            return Err(format!("{file}: inotify_add_watch: {}", Error::last_os_error()));
        }
        watches.push((watch, *file, 0_usize));
    }
    let status = Command::new(program).args(args).status();
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    count(watching, &mut watches);
    for (_, file, opens) in watches {
        println!("{opens} {file}");
    }
    println!("{} status", status.code().unwrap_or(-1));
    Ok(())
}

/// Counts the pending events: one for each read-only descriptor that was closed.
fn count(watching: i32, watches: &mut [(i32, &str, usize)]) {
    const HEADER: usize = size_of::<libc::inotify_event>();
    let mut buffer = [0_u8; 1 << 16];
    loop {
        // SAFETY: the buffer has the given length.
        let length = unsafe { libc::read(watching, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Some(mut rest) = usize::try_from(length).ok().and_then(|length| buffer.get(..length)) else {
            return;
        };
        while rest.len() >= HEADER {
            // SAFETY: the slice has a whole header; the read allows any alignment.
            let event = unsafe { rest.as_ptr().cast::<libc::inotify_event>().read_unaligned() };
            let is_read = event.mask & libc::IN_CLOSE_NOWRITE != 0;
            if let Some(watch) = watches.iter_mut().find(|(watch, ..)| is_read && *watch == event.wd) {
                watch.2 += 1;
            }
            rest = rest.get(HEADER + event.len as usize..).unwrap_or_default();
        }
    }
}
