//! What tests of metrics share: the programs that they are for, ports, and one number of a text.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// A tool of Prometheus: installed, or where `scripts/setup test` puts it. Says so where it is missing.
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

/// Where the project is.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A port that nobody has. Somebody may take it meanwhile; then the test fails and says so.
pub fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The whole answer to a request, by HTTP on loopback.
pub fn response_to(port: u16, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Tries until it is there, for a minute.
pub fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        if let Some(found) = there() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not come within a minute")
}

/// The value of the only line that begins so.
pub fn value(text: &str, start: &str) -> f64 {
    let mut lines = text.lines().filter(|line| line.starts_with(start));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no line begins with {start} in {text}"));
    assert_eq!(lines.next(), None, "only one line begins with {start}");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// A program that ends with its test.
pub struct ScopedChild(pub Child);

impl Drop for ScopedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
