//! Creates tasks of every kind that isolation must handle: sleepers, threads, spinners, fork storms, pinned ones.

use std::path::Path;
use std::time::{Duration, Instant};

/// Starts `count` sleeping processes and prints their PIDs on one line.
pub fn sleepers(count: u32, name: Option<&str>) -> Result<(), String> {
    let mut pids = Vec::new();
    for _ in 0..count {
        pids.push(child(|| {
            call_myself(name.unwrap_or("lab sleeper"));
            close_output();
            sleep_for_ever()
        })?);
    }
    println!("{}", pids.iter().map(i32::to_string).collect::<Vec<_>>().join(" "));
    Ok(())
}

/// Keeps running, with `count` sleeping threads in addition to the first one.
pub fn threads(count: u32, name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or("a (thread) b)").to_owned();
    for _ in 0..count {
        let name = name.clone();
        std::thread::spawn(move || {
            call_myself(&name);
            sleep_for_ever()
        });
    }
    sleep_for_ever()
}

/// Keeps running, with two additional threads that compute forever.
pub fn busy(name: &str) -> Result<(), String> {
    for _ in 0..2 {
        let name = name.to_owned();
        std::thread::spawn(move || {
            call_myself(&name);
            loop {
                std::hint::spin_loop();
            }
        });
    }
    sleep_for_ever()
}

/// Computes for some seconds with a policy, and prints what the kernel counted during that time.
pub fn spin(cpu: Option<u32>, policy: &str, seconds: u64) -> Result<(), String> {
    if let Some(cpu) = cpu {
        pin(&[cpu])?;
    }
    set_policy(policy)?;
    let before = switches();
    let ran_before = run_time_ns();
    let started = Instant::now();
    let mut rounds = 0_u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        rounds = rounds.wrapping_add(1);
    }
    let wall_ns = started.elapsed().as_nanos();
    let ran_ns = run_time_ns().saturating_sub(ran_before);
    let after = switches();
    let spent = |name: &str| after(name).saturating_sub(before(name));
    // SAFETY: a plain call without arguments.
    let now_on = unsafe { libc::sched_getcpu() };
    println!(
        "{}",
        serde_json::json!({
            "voluntary": spent("voluntary_ctxt_switches"), "nonvoluntary": spent("nonvoluntary_ctxt_switches"),
            "cpu": now_on, "rounds": rounds, "ran_ns": ran_ns, "wall_ns": u64::try_from(wall_ns).unwrap_or(u64::MAX),
        })
    );
    Ok(())
}

/// CPU time of this thread. Time that the host takes from a virtual CPU counts as running, so a busy host does not look
/// like a busy guest.
fn run_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Forks a child every 2 ms that lives `life_ms`. At the same time runs a chain in which every process forks the next
/// and exits. The chain's tasks live only a moment, so only a repeated pass or an inherited cgroup catches them. Both
/// end when the file `stop` appears, or after two minutes. Prints the number of children.
pub fn storm(stop: &str, life_ms: u64) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(120);
    let stop = Path::new(stop).to_owned();
    let blows = move || Instant::now() < until && !stop.exists();
    let chain_blows = blows.clone();
    // SAFETY: ignoring SIGCHLD makes the kernel reap children automatically. It is ignored before the first fork: a
    // child that exited earlier would stay a zombie for the whole storm.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    child(move || {
        call_myself("lab chain");
        close_output();
        while chain_blows() {
            std::thread::sleep(Duration::from_micros(500));
            fork_and_exit();
        }
    })?;
    let mut born = 0_u32;
    while blows() {
        child(move || {
            call_myself("lab storm");
            close_output();
            std::thread::sleep(Duration::from_millis(life_ms));
        })?;
        born += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("{born}");
    Ok(())
}

/// Forks a sleeping child every 2 ms until there are `count`, while the chain of [`storm`] runs. Then creates the file
/// `done` and keeps running. The children end with this process.
pub fn breed(count: u32, done: &str) -> Result<(), String> {
    let finished = Path::new(done).to_owned();
    child(move || {
        call_myself("lab chain");
        close_output();
        while !finished.exists() {
            std::thread::sleep(Duration::from_micros(500));
            fork_and_exit();
        }
    })?;
    for _ in 0..count {
        child(|| {
            // SAFETY: a plain call with plain numbers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            call_myself("lab bred");
            close_output();
            sleep_for_ever()
        })?;
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::write(done, "").map_err(|error| format!("{done}: {error}"))?;
    sleep_for_ever()
}

/// Sleeps forever on one CPU.
pub fn sleep_on(cpu: u32) -> Result<(), String> {
    pin(&[cpu])?;
    call_myself("lab hold");
    sleep_for_ever()
}

/// Requests CPUs and prints the mask that the kernel granted.
pub fn on(cpus: &str) -> Result<(), String> {
    let cpu_numbers: Result<Vec<u32>, _> = cpus.split(',').map(str::parse).collect();
    pin(&cpu_numbers.map_err(|error| format!("{cpus}: {error}"))?)?;
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let granted = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    println!("{}", granted.unwrap_or_default().trim());
    Ok(())
}

/// Changes files in a known order, to test the injector: creates a directory, writes a, writes b, renames a to c,
/// writes d.
pub fn victim(dir: &str) -> Result<(), String> {
    let put = |name: &str, text: &str| std::fs::write(format!("{dir}/{name}"), text);
    let work = || {
        std::fs::create_dir(dir)?;
        put("a", "1")?;
        put("b", "2")?;
        std::fs::rename(format!("{dir}/a"), format!("{dir}/c"))?;
        put("d", "3")
    };
    work().map_err(|error: std::io::Error| format!("{dir}: {error}"))
}

/// Executes a command under another user and group ID.
pub fn run_as(user: u32, command: &[&str]) -> Result<(), String> {
    use std::os::unix::process::CommandExt;
    let (program, arguments) = command.split_first().ok_or("as UID COMMAND...")?;
    let error = std::process::Command::new(program)
        .args(arguments)
        .uid(user)
        .gid(user)
        .exec();
    Err(format!("{program}: {error}"))
}

/// Forks; the child runs `work` and exits. Returns the child's PID.
fn child(work: impl FnOnce()) -> Result<i32, String> {
    // SAFETY: this program has a single thread wherever it forks, so the child may do anything.
    match unsafe { libc::fork() } {
        0 => {
            work();
            std::process::exit(0)
        }
        -1 => Err(format!("fork: {}", std::io::Error::last_os_error())),
        pid => Ok(pid),
    }
}

/// Continues as a child of the caller; the parent exits.
fn fork_and_exit() {
    // SAFETY: as in `child`; `_exit` runs no destructors, which the child still needs.
    unsafe {
        if libc::fork() > 0 {
            libc::_exit(0);
        }
    }
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Closes our output, because its reader waits until the last holder closes it.
fn close_output() {
    // SAFETY: plain calls; nothing of this process uses the descriptors afterwards.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for descriptor in 0..=2 {
            libc::dup2(null, descriptor);
        }
    }
}

pub fn call_myself(name: &str) {
    let mut bytes: Vec<u8> = name.bytes().take(15).collect();
    bytes.push(0);
    // SAFETY: the name is NUL-terminated and shorter than the kernel's 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

pub fn pin(cpus: &[u32]) -> Result<(), String> {
    // SAFETY: cpu_set_t is plain data. CPU_SET does not check its argument, so numbers beyond its size are refused
    // here.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus.iter().filter(|cpu| **cpu < 1024) {
            libc::CPU_SET(*cpu as usize, &mut set);
        }
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(format!("sched_setaffinity: {}", std::io::Error::last_os_error()))
    }
}

pub fn set_policy(policy: &str) -> Result<(), String> {
    let (name, value) = policy
        .split_once(':')
        .ok_or("a policy is other:NICE or fifo:PRIORITY")?;
    let value: i32 = value.parse().map_err(|_| format!("{value} is not a number"))?;
    // Makes the system call directly: musl's function always fails, and its structure has other fields.
    let schedule = |policy: libc::c_int, priority: i32| {
        // SAFETY: the structure is one number, which outlives the call.
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) }
    };
    let status = match name {
        "fifo" => schedule(libc::SCHED_FIFO, value),
        // A new thread inherits the policy of its creator, and a nice value alone would not change that.
        _ => match schedule(libc::SCHED_OTHER, 0) {
            // SAFETY: a plain call.
            0 => unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value).into() },
            refused => refused,
        },
    };
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{policy}: {}", std::io::Error::last_os_error()))
    }
}

fn switches() -> impl Fn(&str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    move |name| {
        let start = format!("{name}:");
        status
            .lines()
            .find_map(|line| line.strip_prefix(&start)?.trim().parse().ok())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_time_thread_can_become_an_ordinary_one() {
        let policies = std::thread::spawn(|| {
            // SAFETY: a plain call.
            let now = || unsafe { libc::sched_getscheduler(0) };
            set_policy("fifo:1").map(|()| {
                let real_time = now();
                (real_time, set_policy("other:0"), now())
            })
        });
        match policies.join().expect("the thread has ended well") {
            Err(why) => println!("SKIP: a_real_time_thread_can_become_an_ordinary_one: {why}"),
            Ok(policies) => assert_eq!(policies, (libc::SCHED_FIFO, Ok(()), libc::SCHED_OTHER)),
        }
    }
}
