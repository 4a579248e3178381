//! The guest's own program: creates tasks, inspects them, records, and kills commands at a chosen system call.
//!
//! One static binary without dependencies on the guest. All output is JSON or plain lines that scenarios assert on.

mod bare;
mod collide;
mod disturb;
mod exchange;
mod killat;
mod known_calls;
mod local_user;
mod log_wait;
mod opens;
mod population;
mod report;
mod state;
mod sweep;
mod tasks;
mod terminal;
mod truth;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: lab-guest VERB ...
  rec NAME COMMAND...             run, report status, output and time on the second serial port
  done                            report the end of the scenario
  sleepers COUNT [NAME]           leave COUNT sleeping processes behind, print their pids
  threads COUNT [NAME]            stay, with COUNT sleeping threads of that name
  spin CPU POLICY SECONDS         other:NICE or fifo:PRIORITY, pinned to CPU (- for no pin); prints context switches
  storm STOPFILE LIFE_MS          fork a child every 2 ms that lives LIFE_MS, beside a fork-and-exit chain
  asks CALLS FAULTS               make so many system calls and page faults; prints the time in the kernel, in ns
  exchange CPU COUNT              hand a byte back and forth between two threads there
  collide CPU BUSY IDLE SECONDS   have interrupts on CPU meet the probes of what is asked of BUSY; prints how often it tried
  hold CPU                        sleep for ever, pinned to CPU
  breed COUNT DONE                fork a sleeping child every 2 ms, COUNT in all, make the file DONE, and stay; they end with it
  bare JOURNAL | bare-undo JOURNAL   write what a journal says that was written, and nothing else; prints the time
  careful JOURNAL                 as bare, and the mask of every task before and after
  left CPU                        how many movable tasks may run on the CPU: user, kernel, and whether kthreadd may
  who CPU                         JSON lines: every task whose allowed mask has the CPU
  named NAME...                   the same of every task that has one of the names
  as UID COMMAND...               run as another user, without any privilege
  listhas LIST CPU                status 0 when a kernel list has the CPU
  on CPUS                         pin itself to a list like 0,2 and print what the kernel made of it
  lock FILE SECONDS               hold the lock of a file (flock) for so long
  silent ADDRESS COUNT SECONDS    open so many connections, print `open`, say nothing and keep them
  scrape ADDRESS                  ask for /metrics there; prints the first line of the answer
  scribble FILE TEXT SECONDS      write TEXT there again and again; prints how often
  ask SOCKET TEXT                 say TEXT to a daemon and print its answer
  logged LOG FROM SECONDS ID SUBJECT   when `appeared` and then `gone` of it is in a log of watch after its first FROM
                                  lines, in seconds since boot, or never
  truth [--only NAME,NAME] ...    disturb a CPU in every known way while blame watches; a table of what it said
  terminal COMMAND...             run on a terminal of its own and print what was drawn
  victim DIR                      make files in a known order, to be killed at
  opens FILE... -- COMMAND        how often the command reads each file, and its status
  state                           everything that isolation may change, as sorted lines
  diff A B                        compare two states; status 1 and the differences when they differ
  killat N|count MODE -- COMMAND  SIGKILL at the N-th state-changing call; MODE entry|exit, or term|int|hup for that signal
  sweep MODE STEP OFFSET -- APPLY -- UNDO [-- SETUP]   kill APPLY at call OFFSET, OFFSET+STEP ..., undo, compare
                                  with the state before SETUP
  sweep-undo MODE STEP OFFSET -- APPLY -- UNDO   the same for UNDO, which is then run again
  meanwhile LINE STEP OFFSET -- APPLY -- UNDO [-- SETUP]   as sweep, but the shell runs LINE while APPLY is stopped
                                  at the call, and APPLY goes on";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["rec", name, command @ ..] => report::rec(name, command),
        ["done"] => report::report_end(),
        ["sleepers", count, rest @ ..] => population::sleepers(number(count), rest.first().copied()),
        ["threads", count, rest @ ..] => population::threads(number(count), rest.first().copied()),
        ["busy", name] => population::busy(name),
        ["spin", cpu, policy, seconds] => population::spin(cpu.parse().ok(), policy, number(seconds)),
        ["storm", stop, life_ms] => population::storm(stop, number(life_ms)),
        ["breed", count, done] => population::breed(number(count), done),
        ["bare", journal] => bare::apply(journal),
        ["careful", journal] => bare::careful(journal),
        ["bare-undo", journal] => bare::undo(journal),
        ["left", cpu] => tasks::left(number(cpu)),
        ["asks", calls, faults] => known_calls::run(number(calls), number(faults)),
        ["exchange", cpu, count] => exchange::run(number(cpu), number(count)),
        ["collide", cpu, busy, idle, seconds] => collide::run(number(cpu), number(busy), number(idle), number(seconds)),
        ["hold", cpu] => population::sleep_on(number(cpu)),
        ["lock", file, seconds] => lock(file, Duration::from_secs(number(seconds))),
        ["silent", address, count, seconds] => {
            local_user::silent(address, number(count), Duration::from_secs(number(seconds)))
        }
        ["scrape", address] => local_user::scrape(address),
        ["scribble", path, text, seconds] => local_user::scribble(path, text, Duration::from_secs(number(seconds))),
        ["ask", socket, text] => query(socket, text),
        ["terminal", command @ ..] => terminal::run(command),
        ["logged", log, from, seconds, id, subject] => {
            log_wait::wait(log, number(from), Duration::from_secs(number(seconds)), id, subject)
        }
        ["truth", words @ ..] => truth::run(words),
        ["victim", dir] => population::victim(dir),
        ["listhas", list, cpu] => {
            return if tasks::list_has(list, number(cpu)) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            };
        }
        ["as", user, command @ ..] => population::run_as(number(user), command),
        ["named", names @ ..] => tasks::named(names),
        ["who", cpu] => tasks::print_tasks_on(number(cpu)),
        ["brood", pid] => tasks::brood(number(pid)),
        ["on", cpus] => population::on(cpus),
        ["opens", words @ ..] => opens::run(words),
        ["state"] => state::print(),
        ["diff", before, after] => return state::diff_files(before, after),
        ["killat", at, mode, "--", command @ ..] => killat::main(at, mode, command),
        [
            verb @ ("sweep" | "sweep-undo" | "meanwhile"),
            mode,
            step,
            offset,
            "--",
            commands @ ..,
        ] => sweep::main(verb, mode, number(step), number(offset), commands),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("lab-guest: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Parses a number of the command line. Scenarios are trusted, so invalid input ends the program.
fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| {
        eprintln!("lab-guest: {text} is not a number that fits here");
        std::process::exit(2)
    })
}

/// Holds a lock file, as another running quietcore does. The file must exist.
fn lock(file: &str, time: Duration) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{file}: {error}");
    let held = std::fs::File::open(file).map_err(failed)?;
    // SAFETY: a plain system call on a file that is open until the end of this function.
    if unsafe { libc::flock(held.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    std::thread::sleep(time);
    Ok(())
}

fn query(socket: &str, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{socket}: {error}");
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    println!("{answer}");
    Ok(())
}
