//! Support for tests of metrics: the Prometheus tools, free ports, HTTP requests, and single values of a text.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Finds a Prometheus tool that is installed or unpacked by `scripts/setup test`. Prints a skip message if it is
/// missing.
pub fn tool(name: &str, test: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../prometheus/usr/bin");
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places)
        .chain([own])
        .map(|place| place.join(name))
        .find(|path| path.exists());
    if found.is_none() {
        println!("SKIP: {test}: no {name} is here; `scripts/setup test` gets it");
    }
    found
}

/// The root directory of the project.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a free port. If another process takes it before the test binds it, the test fails with that message.
pub fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the complete HTTP response to a request on loopback.
pub fn response_to(port: u16, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Retries for a minute until the value is available.
pub fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if let Some(found) = there() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not come within a minute")
}

/// Returns the value of the only line that starts with this text.
pub fn value(text: &str, start: &str) -> f64 {
    let mut lines = text.lines().filter(|line| line.starts_with(start));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no line begins with {start} in {text}"));
    assert_eq!(lines.next(), None, "only one line begins with {start}");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// A process that is killed when it is dropped.
pub struct ScopedChild(pub Child);

impl Drop for ScopedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
