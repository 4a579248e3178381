//! Tracks moves of a program's threads between CPUs: one event changes on which of the requested CPUs a thread waits.

use super::{Change, Cpu};
use crate::kernel_event::KernelEvent;

/// Records on which CPU each thread of the program may run. `on`, `by` and `at` are the event's CPU, thread and time; an
/// event on any CPU can move a thread to another one.
pub(crate) fn follow(cpus: &mut [Cpu], (on, by, at): (u32, i32, u64), event: &KernelEvent) {
    match *event {
        KernelEvent::Born { thread, of_process } => {
            for cpu in cpus {
                cpu.victims.born(by, thread.pid, of_process);
            }
        }
        KernelEvent::Waking { thread, target_cpu } => want(cpus, at, thread.pid, target_cpu),
        KernelEvent::Begun { pid, target_cpu } => want(cpus, at, pid, target_cpu),
        KernelEvent::Migrate { pid, to } => {
            for cpu in cpus.iter_mut().filter(|cpu| cpu.cpu != to) {
                cpu.elsewhere(at, pid, Change::Left);
            }
            want(cpus, at, pid, to);
            carry(cpus, pid, to);
        }
        KernelEvent::Switch { next, .. } => {
            for cpu in cpus.iter_mut().filter(|cpu| cpu.cpu != on) {
                cpu.elsewhere(at, next.pid, Change::Left);
            }
        }
        _ => {}
    }
}

/// A thread's request to the kernel continues on its new CPU.
fn carry(cpus: &mut [Cpu], pid: i32, to: u32) {
    let others = cpus.iter_mut().filter(|cpu| cpu.cpu != to);
    let contexts: Vec<_> = others.flat_map(|cpu| cpu.hands_over(pid)).collect();
    if let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.cpu == to) {
        cpu.takes_over(pid, contexts);
    }
}

fn want(cpus: &mut [Cpu], at: u64, pid: i32, on: u32) {
    if let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.cpu == on) {
        cpu.elsewhere(at, pid, Change::Wants);
    }
}
