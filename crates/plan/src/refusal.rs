//! Why an intent is not planned.

use machine::CpuSet;
use root::{Failure, Status};

/// An intent that cannot be met safely. The text says what, why and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A name that cannot become a cgroup.
    #[error(
        "`{name}` cannot be the name of a partition\n\
         a name has 1 to 32 letters, digits, `_` or `-`, and is not `housekeeping`\n\
         choose another one with --partition"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// No CPU was named.
    #[error(
        "no CPU was named\nan empty list isolates nothing\nname CPUs with --cpus LIST; `quietcore inspect` shows them"
    )]
    NoCpus,
    /// CPUs that the machine does not have.
    #[error(
        "CPU {cpus} does not exist\nthis machine has CPUs {present}\nchoose among those; `quietcore inspect` shows them"
    )]
    Missing {
        /// The CPUs.
        cpus: CpuSet,
        /// What exists.
        present: CpuSet,
    },
    /// CPUs that are switched off.
    #[error(
        "CPU {cpus} is offline\nan offline CPU can run nothing\n\
         bring it online first (echo 1 > /sys/devices/system/cpu/cpuN/online), or choose among {online}"
    )]
    Offline {
        /// The CPUs.
        cpus: CpuSet,
        /// What runs.
        online: CpuSet,
    },
    /// The lowest online CPU.
    #[error(
        "CPU {cpu} cannot be isolated\n\
         it is the lowest online CPU, where the kernel puts time keeping, hotplug and every cpumask_first user\n\
         choose among {others}"
    )]
    LowestCpu {
        /// The CPU.
        cpu: u32,
        /// What may be isolated.
        others: CpuSet,
    },
    /// Nothing would be left for the rest of the machine.
    #[error(
        "isolating {cpus} would leave no housekeeping CPU\n\
         all online CPUs are {online}, and the kernel, interrupts and every other task need at least one\n\
         leave at least one of them out"
    )]
    LastHousekeeping {
        /// The CPUs.
        cpus: CpuSet,
        /// What runs.
        online: CpuSet,
    },
    /// CPUs that another partition of ours has.
    #[error(
        "CPU {cpus} belongs to partition {name}\nit is in force\n\
         choose other CPUs, or take it back with `quietcore undo --partition {name}` first"
    )]
    Taken {
        /// The CPUs.
        cpus: CpuSet,
        /// Whose they are.
        name: String,
    },
    /// A machine that is too small.
    #[error(
        "this machine has no CPU to spare\nCPU {online} is all that is online\nuse a machine with two or more CPUs"
    )]
    TooSmall {
        /// What runs.
        online: CpuSet,
    },
    /// The machine does not say which CPUs run.
    #[error(
        "the machine does not say which CPUs are online\n\
         /sys/devices/system/cpu/online is missing or unreadable\nmount /sys, or capture it too"
    )]
    UnknownCpus,
    /// More CPUs than the rules allow.
    #[error("{} cannot be had{}\n{rule}\n{offer}", cpus(*count), had(*most))]
    NotSoMany {
        /// How many were asked for.
        count: usize,
        /// How many can be had.
        most: usize,
        /// The rule that stands in the way.
        rule: String,
        /// The nearest that works.
        offer: String,
    },
    /// A device that is near no CPU in particular.
    #[error(
        "nothing tells which CPUs are near {device}\n{why}, and this machine has several memory nodes\n\
         leave --near out, or name the place instead: --near node:1"
    )]
    NoLocality {
        /// The device.
        device: String,
        /// Why.
        why: String,
    },
    /// A kind of core on a machine with one kind.
    #[error(
        "there are no {wanted} cores to choose\nthis machine does not tell of two kinds of core\nleave --kind out"
    )]
    OneKind {
        /// The kind.
        wanted: &'static str,
    },
    /// A knob that there is not.
    #[error(
        "there is no knob `{name}`\n`quietcore explain --list` shows every knob\n{}",
        meant(near)
    )]
    NoKnob {
        /// The name.
        name: String,
        /// What may be meant.
        near: Vec<&'static str>,
    },
    /// A value that a knob does not take.
    #[error("{knob} cannot be `{value}`\nit takes {takes}\n`quietcore explain {knob}` says what they mean")]
    KnobValue {
        /// The knob.
        knob: &'static str,
        /// The value.
        value: String,
        /// What it takes.
        takes: String,
    },
    /// A knob that isolation cannot do without.
    #[error("{knob} cannot be left out\n{why}\nleave others out, or use --profile minimal")]
    KnobNeeded {
        /// The knob.
        knob: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A knob that was asked for twice, in different ways.
    #[error(
        "what to do with {knob} is contradictory\n\
         it is taken by name and left out, or taken with two values\n\
         name it once, with --with or with --without"
    )]
    KnobTwice {
        /// The knob.
        knob: &'static str,
    },
    /// A pattern that no interrupt has.
    #[error(
        "no interrupt is called `{pattern}`\n\
         --irq-here takes the number of an interrupt or its name, with * for anything\n\
         `quietcore inspect --irqs` shows them"
    )]
    NoInterrupt {
        /// The pattern.
        pattern: String,
    },
    /// A planned change that breaks a safety rule; a bug in a knob.
    #[error("the planned change {change} is not safe\n{why}\nplease report this as a bug")]
    Unsafe {
        /// The change.
        change: String,
        /// The rule that it breaks.
        why: String,
    },
}

fn meant(near: &[&str]) -> String {
    match near {
        [] => "name one of those".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    }
}

fn had(most: usize) -> String {
    match most {
        0 => ", and no smaller number either".to_owned(),
        most => format!(", only {most}"),
    }
}

fn cpus(count: usize) -> String {
    match count {
        1 => "a CPU".to_owned(),
        count => format!("{count} CPUs"),
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let status = match refusal {
            Refusal::TooSmall { .. }
            | Refusal::UnknownCpus
            | Refusal::NoLocality { .. }
            | Refusal::OneKind { .. }
            | Refusal::NotSoMany { most: 0, .. } => Status::Unable,
            Refusal::Taken { .. } => Status::Conflict,
            Refusal::Unsafe { .. } => Status::Bug,
            _ => Status::Usage,
        };
        Failure::of_lines(status, &refusal)
    }
}
