//! Lists the reasons why an intent is refused.

use machine::CpuSet;
use root::{Failure, Status};
use std::fmt;

/// An intent that cannot be met safely. The text says what, why and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanRefusal {
    /// A name that cannot become a cgroup.
    Name {
        /// The name.
        name: String,
    },
    /// No CPU was named.
    NoCpus,
    /// CPUs that cannot be isolated.
    Cpus(CpuRefusal),
    /// A machine that is too small.
    TooSmall {
        /// Which CPUs are online.
        online: CpuSet,
    },
    /// The online CPUs of the machine are unknown.
    UnknownCpus,
    /// More CPUs than the rules allow.
    NotSoMany {
        /// The requested number.
        count: usize,
        /// The possible number.
        most: usize,
        /// The rule that prevents it.
        rule: String,
        /// The nearest that works.
        offer: String,
    },
    /// A device that is not close to any particular CPU.
    NoLocality {
        /// The device.
        device: String,
        /// Why.
        why: String,
    },
    /// A kind of core on a machine with one kind.
    OneKind {
        /// The kind.
        wanted: &'static str,
    },
    /// A request for a knob that cannot be met.
    Knob(KnobRefusal),
    /// A planned change that breaks a safety rule; a bug in a knob.
    Unsafe {
        /// The change.
        change: String,
        /// The rule that it breaks.
        why: String,
    },
}

/// Why the requested CPUs cannot be isolated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuRefusal {
    /// CPUs that the machine does not have.
    Missing {
        /// The CPUs.
        cpus: CpuSet,
        /// What exists.
        present: CpuSet,
    },
    /// CPUs that are offline.
    Offline {
        /// The CPUs.
        cpus: CpuSet,
        /// Which CPUs are online.
        online: CpuSet,
    },
    /// The lowest online CPU.
    LowestCpu {
        /// The CPU.
        cpu: u32,
        /// What may be isolated.
        others: CpuSet,
    },
    /// No CPU would be left for the rest of the machine.
    LastHousekeeping {
        /// The CPUs.
        cpus: CpuSet,
        /// Which CPUs are online.
        online: CpuSet,
    },
    /// CPUs that belong to another partition of ours.
    CpusInUse {
        /// The CPUs.
        cpus: CpuSet,
        /// The partition they belong to.
        name: String,
    },
}

/// Why a request for a knob cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobRefusal {
    /// An unknown knob.
    Unknown {
        /// The name.
        name: String,
        /// The names that may be meant, as a question; `None` if none is similar.
        meant: Option<String>,
    },
    /// A value that a knob does not accept.
    Value {
        /// The knob.
        knob: &'static str,
        /// The value.
        value: String,
        /// Accepted values.
        takes: String,
    },
    /// A knob that isolation requires.
    Needed {
        /// The knob.
        knob: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A knob requested twice with different settings.
    Twice {
        /// The knob.
        knob: &'static str,
    },
    /// A pattern that matches no interrupt.
    NoInterrupt {
        /// The pattern.
        pattern: String,
    },
}

impl From<CpuRefusal> for PlanRefusal {
    fn from(refusal: CpuRefusal) -> PlanRefusal {
        PlanRefusal::Cpus(refusal)
    }
}

impl From<KnobRefusal> for PlanRefusal {
    fn from(refusal: KnobRefusal) -> PlanRefusal {
        PlanRefusal::Knob(refusal)
    }
}

impl From<&PlanRefusal> for Failure {
    /// One arm for each variant: its exit status, what, why, next.
    fn from(refusal: &PlanRefusal) -> Failure {
        match refusal {
            PlanRefusal::Name { name } => Failure::usage(
                format!("`{name}` cannot be the name of a partition"),
                "a name has 1 to 32 letters, digits, `_` or `-`, and is not `housekeeping`",
                "choose another one with --partition",
            ),
            PlanRefusal::NoCpus => Failure::usage(
                "no CPU was named",
                "an empty list isolates nothing",
                "specify CPUs with --cpus CPUS; `quietcore inspect` lists them",
            ),
            PlanRefusal::Cpus(refusal) => refusal.into(),
            PlanRefusal::TooSmall { online } => Failure::unable(
                "this machine has no CPU that can be isolated",
                format!("CPU {online} is the only one online"),
                "use a machine with two or more CPUs",
            ),
            PlanRefusal::UnknownCpus => Failure::unable(
                "the machine does not report which CPUs are online",
                "/sys/devices/system/cpu/online is missing or unreadable",
                "mount /sys, or include it in the capture",
            ),
            PlanRefusal::NotSoMany {
                count,
                most,
                rule,
                offer,
            } => Failure::new(
                match most {
                    0 => Status::Unable,
                    _ => Status::Usage,
                },
                format!("{} are not available{}", cpus(*count), available(*most)),
                rule,
                offer,
            ),
            PlanRefusal::NoLocality { device, why } => Failure::unable(
                format!("it is unknown which CPUs are near {device}"),
                format!("{why}, and this machine has several memory nodes"),
                "leave out --near, or specify the place instead: --near node:1",
            ),
            PlanRefusal::OneKind { wanted } => Failure::unable(
                format!("this machine has no {wanted} cores to choose from"),
                "it does not report two kinds of core",
                "leave out --kind",
            ),
            PlanRefusal::Knob(refusal) => refusal.into(),
            PlanRefusal::Unsafe { change, why } => Failure::new(
                Status::Bug,
                format!("the planned change {change} is not safe"),
                why,
                "please report this as a bug",
            ),
        }
    }
}

impl From<&CpuRefusal> for Failure {
    fn from(refusal: &CpuRefusal) -> Failure {
        match refusal {
            CpuRefusal::Missing { cpus, present } => Failure::usage(
                format!("CPU {cpus} does not exist"),
                format!("this machine has CPUs {present}"),
                "choose from those; `quietcore inspect` lists them",
            ),
            CpuRefusal::Offline { cpus, online } => Failure::usage(
                format!("CPU {cpus} is offline"),
                "no program can run on an offline CPU",
                format!(
                    "bring it online first (echo 1 > /sys/devices/system/cpu/cpuN/online), or choose from CPU {online}"
                ),
            ),
            CpuRefusal::LowestCpu { cpu, others } => Failure::usage(
                format!("CPU {cpu} cannot be isolated"),
                "it is the lowest online CPU, where the kernel does time keeping, hotplug and all cpumask_first work",
                format!("choose from CPU {others}"),
            ),
            CpuRefusal::LastHousekeeping { cpus, online } => Failure::usage(
                format!("isolating {cpus} would leave no housekeeping CPU"),
                format!(
                    "all online CPUs are {online}, and the kernel, interrupts and every other task need at least one"
                ),
                "leave out at least one of them",
            ),
            CpuRefusal::CpusInUse { cpus, name } => Failure::new(
                Status::Conflict,
                format!("CPU {cpus} belongs to partition {name}"),
                "that partition is active",
                format!("choose other CPUs, or undo it with `quietcore undo --partition {name}` first"),
            ),
        }
    }
}

impl From<&KnobRefusal> for Failure {
    fn from(refusal: &KnobRefusal) -> Failure {
        match refusal {
            KnobRefusal::Unknown { name, meant } => Failure::usage(
                format!("there is no knob `{name}`"),
                "no setting that a plan can change has this name",
                meant
                    .as_deref()
                    .unwrap_or("`quietcore explain --list` shows every knob"),
            ),
            KnobRefusal::Value { knob, value, takes } => Failure::usage(
                format!("{knob} cannot be `{value}`"),
                format!("it accepts {takes}"),
                format!("`quietcore explain {knob}` describes the values"),
            ),
            KnobRefusal::Needed { knob, why } => Failure::usage(
                format!("{knob} cannot be left out"),
                *why,
                "leave out other knobs, or use --profile minimal",
            ),
            KnobRefusal::Twice { knob } => Failure::usage(
                format!("the options for {knob} contradict each other"),
                "it is both requested and left out, or requested with two values",
                "give it once, with --with or with --without",
            ),
            KnobRefusal::NoInterrupt { pattern } => Failure::usage(
                format!("no interrupt matches `{pattern}`"),
                "--irq-here accepts the number of an interrupt or its name, with * as a wildcard",
                "`quietcore inspect --irqs` lists them",
            ),
        }
    }
}

impl From<PlanRefusal> for Failure {
    fn from(refusal: PlanRefusal) -> Failure {
        Failure::from(&refusal)
    }
}

impl PlanRefusal {
    /// What was refused and why, in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        Failure::from(self).reason()
    }

    /// What the user can do.
    #[must_use]
    pub fn next_step(&self) -> String {
        Failure::from(self).next
    }
}

impl fmt::Display for PlanRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Failure::from(self).fmt(out)
    }
}

impl std::error::Error for PlanRefusal {}

fn available(most: usize) -> String {
    match most {
        0 => ", nor is a smaller number".to_owned(),
        most => format!(", only {most}"),
    }
}

fn cpus(count: usize) -> String {
    match count {
        1 => "a CPU".to_owned(),
        count => format!("{count} CPUs"),
    }
}
