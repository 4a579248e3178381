//! Models what a CPU does instead of running the program: one interrupt, softirq, thread, fault or system call in progress.

use crate::answer::{Confidence, Culprit, InterruptionSubject};
use crate::kernel_numbers;
use observe::{Class, of_softirq};

/// Maximum number of function names per context.
const MOST_DETAILS: usize = 4;

/// One context in progress.
#[derive(Clone, Debug)]
pub(crate) struct ExecutionContext {
    pub(crate) class: Class,
    pub(crate) what: ContextKind,
    /// Functions that ran in it, in order, without duplicates.
    pub(crate) details: Vec<String>,
    pub(crate) culprit: Option<Culprit>,
    pub(crate) confidence: Confidence,
    /// A thread that runs although one of higher priority could, because something allowed it.
    pub(crate) is_admitted: bool,
    /// It raised the softirq that completes disk requests, and so serves their senders too.
    pub(crate) raised_block: bool,
    /// A timer function, or a function that another CPU requested, has run in it.
    pub(crate) has_functions: bool,
    /// The threads that set those timers or requested those functions, if known.
    pub(crate) functions_of: Option<Culprit>,
    /// Its serial in the gaps.
    pub(crate) serial: u64,
    /// Its time inside gaps.
    pub(crate) in_gaps_ns: u64,
    /// The part of that time before its first event, if the kernel reports when user mode was left.
    pub(crate) way_in_ns: u64,
    /// It started on another CPU, which has counted it.
    pub(crate) is_rest: bool,
}

/// Kind of a context; determines which event ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContextKind {
    Irq { irq: i64, name: String },
    Vector { name: String },
    Nmi,
    Softirq { vec: u32 },
    Task { pid: i32, comm: String },
    Work { function: String, worker: String },
    Syscall { nr: i64 },
    Fault,
}

impl ContextKind {
    /// Whether the program requested it itself.
    pub(crate) const fn is_own(&self) -> bool {
        matches!(self, ContextKind::Syscall { .. } | ContextKind::Fault)
    }
}

impl ExecutionContext {
    pub(crate) fn new(what: ContextKind, serial: u64) -> ExecutionContext {
        ExecutionContext {
            class: class_of(&what),
            what,
            details: Vec::new(),
            culprit: None,
            confidence: Confidence::Traced,
            is_admitted: false,
            raised_block: false,
            has_functions: false,
            functions_of: None,
            serial,
            in_gaps_ns: 0,
            way_in_ns: 0,
            is_rest: false,
        }
    }

    /// A function ran in it.
    pub(crate) fn detail(&mut self, function: String) {
        if self.details.len() < MOST_DETAILS && !self.details.contains(&function) {
            self.details.push(function);
        }
    }

    /// It served a thread that was unknown when it started.
    pub(crate) fn served(&mut self, by: &Culprit) {
        let is_thread = self.culprit.as_ref().is_some_and(|culprit| culprit.pid != 0);
        if !is_thread {
            self.culprit = Some(by.before(self.culprit.as_ref()));
        }
    }

    /// What it is about.
    pub(crate) fn subject(&self) -> InterruptionSubject {
        match &self.what {
            ContextKind::Irq { irq, .. } => InterruptionSubject::Irq(*irq),
            ContextKind::Task { pid, .. } if self.is_admitted => InterruptionSubject::LetIn(*pid),
            ContextKind::Task { pid, .. } => InterruptionSubject::Thread(*pid),
            ContextKind::Work { worker, .. } => InterruptionSubject::Worker(worker.clone()),
            ContextKind::Vector { .. }
            | ContextKind::Nmi
            | ContextKind::Softirq { .. }
            | ContextKind::Syscall { .. }
            | ContextKind::Fault => InterruptionSubject::None,
        }
    }

    /// A timer function runs in it.
    pub(crate) fn timer(&mut self, function: String, setter: Option<Culprit>) {
        self.has_functions = true;
        self.functions_of.clone_from(&setter);
        // The thread that set the timer is to blame, not the interrupt that only found it expired.
        if self.culprit.as_ref().is_none_or(|by| by.pid == 0) {
            self.culprit = setter.or(self.culprit.take());
        }
        self.detail(function);
    }

    /// A function that another CPU requested runs in it.
    pub(crate) fn call(&mut self, function: String, requester: Option<Culprit>) {
        self.has_functions = true;
        self.functions_of.clone_from(&requester);
        if function.contains("flush_tlb") {
            self.class = Class::TlbShootdown;
        }
        // The interrupt may have a different sender, whose call arrived first.
        if requester.is_some() {
            self.culprit = requester;
        }
        self.detail(function);
    }

    /// Its name in the answer.
    pub(crate) fn name(&self) -> String {
        let plain = match &self.what {
            ContextKind::Irq { irq, name } => format!("irq {irq} {name}"),
            ContextKind::Vector { name } => name.clone(),
            ContextKind::Nmi => "nmi".to_owned(),
            ContextKind::Softirq { vec } => kernel_numbers::softirq_name(*vec).to_owned(),
            ContextKind::Task { comm, .. } => comm.clone(),
            ContextKind::Work { function, .. } => function.clone(),
            ContextKind::Syscall { nr } => kernel_numbers::call_label(*nr),
            ContextKind::Fault => "page fault".to_owned(),
        };
        if self.details.is_empty() {
            plain
        } else {
            format!("{plain}: {}", self.details.join(", "))
        }
    }
}

fn class_of(what: &ContextKind) -> Class {
    match what {
        ContextKind::Irq { name, .. } => match name.as_str() {
            "arch_timer" | "twd" | "riscv-timer" => Class::Tick,
            _ => Class::Device,
        },
        ContextKind::Vector { name } => of_vector(name),
        ContextKind::Nmi => Class::Nmi,
        ContextKind::Softirq { vec } => of_softirq(kernel_numbers::softirq_name(*vec)),
        ContextKind::Task { comm, .. } => match comm.as_str() {
            comm if is_kernel_thread(comm) => Class::KernelThread,
            _ => Class::Preemption,
        },
        ContextKind::Work { .. } => Class::Work,
        ContextKind::Syscall { .. } => Class::SystemCall,
        ContextKind::Fault => Class::PageFault,
    }
}

/// Kernel threads that are well known, or whose names end in the number of their CPU. A program may use such a name; with
/// `/proc` available the caller knows better.
pub(crate) fn is_kernel_thread(comm: &str) -> bool {
    const STEMS: &[&str] = &[
        "kworker/",
        "ksoftirqd/",
        "migration/",
        "cpuhp/",
        "rcuc/",
        "rcuop/",
        "rcuog/",
        "rcuos/",
        "irq/",
        "idle_inject/",
        "irq_work/",
        "ktimers/",
        "posixcputmr/",
        "osnoise/",
        "timerlat/",
        "backlog_napi/",
        "stopper/",
    ];
    const WHOLE: &[&str] = &[
        "kthreadd",
        "khugepaged",
        "kcompactd0",
        "kswapd0",
        "rcu_preempt",
        "rcu_sched",
        "khungtaskd",
    ];
    STEMS.iter().any(|stem| comm.starts_with(stem)) || WHOLE.contains(&comm)
}

/// Class of an x86 vector (`arch/x86/include/asm/trace/irq_vectors.h`) or an arm IPI (`arch/arm64/kernel/smp.c`).
fn of_vector(name: &str) -> Class {
    match name {
        "local_timer" => Class::Tick,
        "reschedule" | "Rescheduling interrupts" => Class::Reschedule,
        "call_function" | "call_function_single" | "Function call interrupts" => Class::FunctionCall,
        "irq_work" | "IRQ work interrupts" => Class::IrqWork,
        "thermal_apic" => Class::Thermal,
        "threshold_apic" | "deferred_error_apic" => Class::MachineCheck,
        "x86_platform_ipi" | "error_apic" => Class::Other,
        "spurious_apic" => Class::Spurious,
        "Timer broadcast interrupts" => Class::TimerBroadcast,
        name if name.starts_with("CPU ") => Class::CpuControl,
        _ => Class::Other,
    }
}

/// `TICK_DEP_MASK_*` (`include/linux/tick.h`).
pub(crate) const fn dependency_name(dependency: u64) -> &'static str {
    match dependency {
        0 => "nothing",
        1 => "a POSIX CPU timer",
        2 => "perf events",
        4 => "the scheduler (more than one runnable task)",
        8 => "an unstable clock",
        16 => "RCU",
        32 => "RCU, expedited",
        _ => "several reasons",
    }
}
