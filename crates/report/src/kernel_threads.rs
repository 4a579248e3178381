//! Describes well-known kernel threads: what each does on a CPU, and whether and how it can be moved away.
//!
//! Names are those in `/proc/PID/comm`, from users of `kernel/kthread.c`. Facts:
//! `Documentation/admin-guide/kernel-per-CPU-kthreads.rst`, `kernel/workqueue.c`, `kernel/rcu/tree_nocb.h`.

mod table;

pub use table::KERNEL_THREADS;

/// Whether a kernel thread can be moved away from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movability {
    /// It belongs to its CPU and cannot be moved.
    Bound,
    /// Its affinity can be changed like that of any task.
    Free,
    /// Another setting determines where it runs: an interrupt's affinity, a mask of workqueues.
    Follows,
}

/// One kind of kernel thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelThread {
    /// Its name; `#` stands for a number, `*` for anything.
    pub pattern: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it can be moved.
    pub moving: Movability,
    /// How to keep it quiet or move it away.
    pub cure: &'static str,
    /// Which kernels have it; empty for all.
    pub only: &'static str,
}

/// The cure of a thread that is harmless on any other CPU.
pub(crate) const MOVE_TO_HOUSEKEEPING: &str = "move it to housekeeping CPUs";
/// The row for a thread's name.
#[must_use]
pub fn kernel_thread(comm: &str) -> Option<&'static KernelThread> {
    KERNEL_THREADS
        .iter()
        .find(|row| matches(row.pattern.as_bytes(), comm.as_bytes()))
}

/// Whether a name matches a pattern. A pattern has at most one `*`, at its end, so this is linear.
fn matches(mut pattern: &[u8], mut name: &[u8]) -> bool {
    while let Some((&letter, rest)) = pattern.split_first() {
        match letter {
            b'*' => return true,
            b'#' => {
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if digits == 0 {
                    return false;
                }
                name = name.split_at(digits).1;
            }
            _ => match name.split_first() {
                Some((&first, tail)) if first == letter => name = tail,
                _ => return false,
            },
        }
        pattern = rest;
    }
    name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_names_match_their_row() {
        let cases = [
            ("migration/12", Some("migration/#")),
            ("kworker/3:1H-kblockd", Some("kworker/#:#H*")),
            ("kworker/3:1", Some("kworker/#:*")),
            ("kworker/3:1-events", Some("kworker/#:*")),
            ("kworker/u8:0-flush-8:0", Some("kworker/u*")),
            ("kworker/R-netns", Some("kworker/R-*")),
            ("irq/27-idma64.0", Some("irq/#-*")),
            ("rcu_preempt", Some("rcu_*")),
            ("rcuop/2", Some("rcuop/#")),
            ("kswapd0", Some("kswapd*")),
            ("migration/", None),
            ("migration/1x", None),
            ("xfsaild/sda1", Some("xfsaild/*")),
            ("nothing-known", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(kernel_thread(name).map(|row| row.pattern), wanted, "{name}");
        }
    }

    #[test]
    fn no_row_is_hidden_by_an_earlier_one() {
        for row in KERNEL_THREADS {
            let name = row.pattern.replace('#', "7").replace('*', "x");
            assert_eq!(kernel_thread(&name).map(|found| found.pattern), Some(row.pattern));
        }
    }
}
