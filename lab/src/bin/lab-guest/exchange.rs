//! `lab-guest exchange`: makes a known number of context switches, for traces whose buffers are too small for them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Passes a byte back and forth between two threads that may run on this CPU only. Each thread sleeps until the other
/// has run, so the CPU switches between them at least twice per byte.
pub fn run(cpu: u32, count: u64) -> Result<(), String> {
    crate::population::call_myself("exchange");
    crate::population::pin(&[cpu])?;
    let (here, there) = UnixStream::pair().map_err(|error| format!("a pair of sockets: {error}"))?;
    let echo = std::thread::spawn(move || handed(there, count, |end| take(end).and_then(|()| give(end))));
    handed(here, count, |end| give(end).and_then(|()| take(end)))?;
    match echo.join() {
        Ok(done) => done,
        Err(_) => Err("the thread that answers ended early".to_owned()),
    }
}

fn handed(
    mut end: UnixStream,
    count: u64,
    once: impl Fn(&mut UnixStream) -> std::io::Result<()>,
) -> Result<(), String> {
    (0..count)
        .try_for_each(|_| once(&mut end))
        .map_err(|error| format!("a byte: {error}"))
}

fn give(end: &mut UnixStream) -> std::io::Result<()> {
    end.write_all(&[1])
}

fn take(end: &mut UnixStream) -> std::io::Result<()> {
    end.read_exact(&mut [0])
}
