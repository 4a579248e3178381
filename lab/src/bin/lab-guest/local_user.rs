//! Actions of a local user against a daemon: silent connections, a request for metrics, endless writes.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Opens this many connections, prints `open`, and keeps them for this time.
pub fn silent(address: &str, count: usize, time: Duration) -> Result<(), String> {
    let mut held = Vec::with_capacity(count);
    for _ in 0..count {
        held.push(TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?);
    }
    println!("open");
    std::thread::sleep(time);
    Ok(())
}

/// Requests metrics and prints the first line of the answer.
pub fn scrape(address: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).map_err(failed)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    println!("{}", answer.lines().next().unwrap_or_default());
    Ok(())
}

/// Writes a text to a file repeatedly for this time; prints the number of writes.
pub fn scribble(path: &str, text: &str, time: Duration) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let mut file = File::options().write(true).open(path).map_err(failed)?;
    let (start, mut count) = (Instant::now(), 0_u64);
    while start.elapsed() < time {
        file.rewind().map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        count += 1;
    }
    println!("{count}");
    Ok(())
}
