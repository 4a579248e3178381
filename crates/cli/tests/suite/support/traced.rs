//! Support for tests that trace this kernel.

use root::Tracefs;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Returns the tracing files of this kernel and mounts a private `/run`, or the reason why that is not possible.
pub fn tracing() -> Result<Tracefs, String> {
    let tracefs = match Tracefs::find() {
        Ok(Some(tracefs)) => tracefs,
        Ok(None) => return Err("this kernel has no tracefs".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    crate::support::alone::own_mount(Path::new("/run")).map_err(|error| format!("/run of our own: {error}"))?;
    Ok(tracefs)
}

/// Returns the current tracing instances of quietcore.
pub fn instances(tracefs: &Tracefs) -> Vec<String> {
    let names = fs::read_dir(tracefs.file("instances")).unwrap();
    let mut names: Vec<String> = names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("quietcore-"))
        .collect();
    names.sort();
    names
}

/// Pins this thread to one CPU.
pub fn pin_to(cpu: usize) {
    // SAFETY: `cpu_set_t` is plain data, and its size is passed.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0);
    }
}

/// Runs `work` while a thread `disturber` repeatedly pauses and then takes the CPU of the tests for this long. Also
/// returns how often it did.
pub fn disturbed<T>(pause: Duration, takes: Duration, work: impl FnOnce() -> T) -> (T, u64) {
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let disturb = || {
            pin_to(crate::support::alone::cpu().parse().unwrap());
            let mut times = 0;
            while !end.load(Ordering::Relaxed) {
                std::thread::sleep(pause);
                let began = Instant::now();
                while began.elapsed() < takes {}
                times += 1;
            }
            times
        };
        let disturber = std::thread::Builder::new().name("disturber".to_owned());
        let disturber = disturber.spawn_scoped(scope, disturb).unwrap();
        let done = crate::support::alone::until_over(&end, work);
        (done, disturber.join().unwrap())
    })
}

/// Checks that the times of one CPU in the answer of `blame` add up.
pub fn check_accounts(cpu: &Value) {
    let number = |name: &str| cpu[name].as_u64().unwrap();
    assert_eq!(
        number("stolen_ns"),
        number("explained_ns") + number("unexplained_ns"),
        "{cpu}"
    );
    let rows: u64 = cpu["interruptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["total_ns"].as_u64().unwrap())
        .sum();
    assert_eq!(rows, number("explained_ns"), "{cpu}");
    assert!(number("stolen_ns") <= number("duration_ns"), "{cpu}");
}
