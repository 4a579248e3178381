//! In its own process, because it forks while all other threads allocate: children can use the binary's allocator.

#![allow(clippy::unwrap_used)]

use quietcore::allocator;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Returns the child's exit status, or `None` if the child hung and was killed.
fn status_of(child: libc::pid_t) -> Option<i32> {
    let began = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the child is our own, and the kernel fills one `int`.
        unsafe {
            if libc::waitpid(child, &raw mut status, libc::WNOHANG) == child {
                return Some(status);
            }
            if began.elapsed() > Duration::from_secs(60) {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, &raw mut status, 0);
                return None;
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_forked_child_can_allocate_while_other_threads_allocate() {
    allocator::survives_forks();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::black_box(Vec::<u8>::with_capacity(100));
                }
            });
        }
        let stuck = (0..300).find(|_| {
            // SAFETY: the child only allocates, which is what this test checks, and exits without returning.
            let child = unsafe { libc::fork() };
            if child == 0 {
                std::hint::black_box(vec![1_u8; 1_000]);
                // SAFETY: exits the child.
                unsafe { libc::_exit(0) };
            }
            child < 0 || status_of(child) != Some(0)
        });
        over.store(true, Ordering::Relaxed);
        assert_eq!(stuck, None, "the child of this turn never came to its end");
    });
}
