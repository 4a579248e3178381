//! Tracks moves of a program's threads between CPUs: one event changes on which of the requested CPUs a thread waits.

use super::{CpuTracker, ThreadStateChange};
use crate::kernel_event::KernelEvent;

/// Records on which CPU each thread of the program may run. `on`, `by` and `at` are the event's CPU, thread and time; an
/// event on any CPU can move a thread to another one.
pub(crate) fn follow(cpus: &mut [CpuTracker], (on, by, at): (u32, i32, u64), event: &KernelEvent) {
    match *event {
        KernelEvent::ThreadCreated { thread, of_process } => {
            for cpu in cpus {
                cpu.victims.create_thread(by, thread.pid, of_process);
            }
        }
        KernelEvent::Waking { thread, target_cpu } => set_runnable(cpus, at, thread.pid, target_cpu),
        KernelEvent::ThreadStart { pid, target_cpu } => set_runnable(cpus, at, pid, target_cpu),
        KernelEvent::Migrate { pid, to } => {
            for cpu in cpus.iter_mut().filter(|cpu| cpu.cpu != to) {
                cpu.elsewhere(at, pid, ThreadStateChange::Left);
            }
            set_runnable(cpus, at, pid, to);
            move_request(cpus, pid, to);
        }
        KernelEvent::Switch { next, .. } => {
            for cpu in cpus.iter_mut().filter(|cpu| cpu.cpu != on) {
                cpu.elsewhere(at, next.pid, ThreadStateChange::Left);
            }
        }
        _ => {}
    }
}

/// A thread's request to the kernel continues on its new CPU.
fn move_request(cpus: &mut [CpuTracker], pid: i32, to: u32) {
    let others = cpus.iter_mut().filter(|cpu| cpu.cpu != to);
    let contexts: Vec<_> = others.flat_map(|cpu| cpu.move_away(pid)).collect();
    if let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.cpu == to) {
        cpu.move_here(pid, contexts);
    }
}

fn set_runnable(cpus: &mut [CpuTracker], at: u64, pid: i32, on: u32) {
    if let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.cpu == on) {
        cpu.elsewhere(at, pid, ThreadStateChange::Runnable);
    }
}
