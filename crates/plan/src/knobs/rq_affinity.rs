//! Sets the CPU on which a finished disk request is completed (`block/blk-mq.c`, `blk_mq_complete_need_ipi`).
//!
//! 0: on the CPU of the interrupt. 1: there too if that CPU shares its cache with the submitter, else on the submitter.
//! 2: always on the submitter.
//!
//! Which CPUs "share a cache" is decided by the scheduler (`cpus_share_cache`), and depends on isolation and version
//! (seen in the lab). A CPU of a run-time partition shares with no other CPU on 6.1, and still shares with its
//! neighbours on 7.2. A CPU of `isolcpus=` shares with the group of CPU 0 on 6.1, and with no other CPU on 7.2. So with
//! 1 and an interrupt that cannot leave an isolated CPU, some kernels complete the requests of its neighbours there.
//! With 2 all kernels complete each request on its submitter.
//!
//! Kernels before blk-mq completed on the first CPU of the cache group; no kernel from 4.14 on does. With threaded
//! interrupts (PREEMPT_RT, `threadirqs`) the file has no effect: the thread completes.

use super::knob_file::files;
use super::{Knob, KnobUse, KnobValueKind, Presence, declare};
use crate::{Plan, PlanContext, Profile};
use machine::{ImmovableReason, Preemption};

pub(super) const KNOB: Knob = Knob {
    name: "rq_affinity",
    files: &["/sys/block/DISK/queue/rq_affinity"],
    what: "on which CPU a disk request completes",
    isolation: "1 completes on the interrupt's CPU if it shares a cache with the submitter, else on the submitter; 2 \
         on the submitter itself, 0 on the interrupt's CPU: 2 keeps completions of other CPUs' requests off the \
         isolated ones, even if an interrupt cannot be moved; 0 is left alone while all interrupts can be moved",
    needs: "a disk with its own driver; loop and device-mapper disks complete where a worker runs",
    usage: KnobUse::From(Profile::Balanced),
    takes: KnobValueKind::Words(&["0", "1", "2"]),
    usual: "2",
    stops: &["soft_block", "function_call"],
    side_effects: "completions on housekeeping CPUs cost one more interrupt between them where 1 needed none; no cost \
         if interrupts are threads (PREEMPT_RT)",
    verify: "the files, and the row BLOCK of /proc/softirqs over time",
    refused: &[(declare::EINVAL, "this disk does not have this kind of request queue")],
    why: "a request completes on the CPU that submitted it, not on an isolated one that received the interrupt",
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let disks = files(knob, scene);
    if disks.is_empty() {
        return Presence::Absent;
    }
    let kernel = &scene.machine.kernel;
    let threaded =
        kernel.preemption == Some(Preemption::Rt) || kernel.cmdline.as_ref().is_some_and(|line| line.has("threadirqs"));
    let requested = scene.is_requested(knob);
    if threaded && !requested {
        return Presence::Here;
    }
    let stuck = has_stuck_interrupt(scene);
    for disk in disks {
        // With 0 no completion runs on an isolated CPU unless an interrupt does, not even for its own requests.
        let is_left_alone = scene.settings.get(&disk.path) == Some("0") && !stuck && !requested;
        if !is_left_alone {
            disk.set(scene, plan, scene.value_of(knob));
        }
    }
    Presence::Here
}

/// Whether an interrupt stays on an isolated CPU, because the kernel keeps it there or because it should not be moved.
fn has_stuck_interrupt(scene: &PlanContext) -> bool {
    let all_stay = !super::takes(scene.intent, "irq_affinity");
    let interrupts = scene.machine.interrupts.as_deref().unwrap_or_default();
    interrupts.iter().any(|interrupt| {
        let may_fire = interrupt
            .effective
            .as_ref()
            .is_some_and(|cpus| cpus.intersects(scene.isolated()));
        // A per-CPU interrupt and a timer complete no request, wherever they fire.
        let stays = match interrupt.immovable() {
            Some(ImmovableReason::PerCpu | ImmovableReason::Timer) => return false,
            Some(ImmovableReason::Managed | ImmovableReason::Fixed) => true,
            None => all_stay || interrupt.managed.is_none(),
        };
        stays && may_fire
    })
}
