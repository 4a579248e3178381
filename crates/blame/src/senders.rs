//! Lists kernel functions that send interrupts to other CPUs, for kernels without an event for that (before 6.4): a kprobe
//! there provides the same facts. The cost is on the sending CPU only.
//!
//! The last function before the interrupt is the same for all of a kind and has the target. An earlier function has the
//! function to call there and its requester (`kernel/smp.c`, `arch/*/kernel/smp.c`).

use events::Formats;

/// Prefix of the probe groups, followed by an underscore and a number.
pub const GROUP: &str = "quietcore";

/// Maximum number of mask words that one probe fetches: the kernel's limit for an array (`MAX_ARRAY_LEN`).
const MOST_WORDS: u32 = 64;

/// One probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its name in the group.
    pub event: &'static str,
    /// The functions to probe: the first of these that the kernel accepts.
    pub functions: &'static [&'static str],
    /// Its fetch arguments, in the syntax of `kprobe_events`.
    pub fetches: String,
    /// A field with the interrupted CPU, if there is one.
    pub naming: Option<&'static str>,
}

/// Values to fetch.
#[derive(Clone, Copy)]
enum Fetches {
    /// The CPU.
    Cpu,
    /// The mask of CPUs.
    Mask,
    /// The CPU and the request of a function call (`struct __call_single_data`).
    Request,
    /// The function that several CPUs will call.
    Function,
}

/// Event, functions and fetched values, in the kernel's call order.
type Row = (&'static str, &'static [&'static str], Fetches);

const REQUESTS: [Row; 3] = [
    ("asks_one", &["generic_exec_single"], Fetches::Request),
    ("queues_one", &["__smp_call_single_queue"], Fetches::Request),
    (
        "asks_many",
        &["smp_call_function_many_cond", "smp_call_function_many"],
        Fetches::Function,
    ),
];

#[cfg(target_arch = "x86_64")]
const INTERRUPTS: [Row; 3] = [
    ("reschedules", &["native_smp_send_reschedule"], Fetches::Cpu),
    ("calls_one", &["native_send_call_func_single_ipi"], Fetches::Cpu),
    ("calls_many", &["native_send_call_func_ipi"], Fetches::Mask),
];

#[cfg(not(target_arch = "x86_64"))]
const INTERRUPTS: [Row; 3] = [
    (
        "reschedules",
        &["smp_send_reschedule", "arch_smp_send_reschedule"],
        Fetches::Cpu,
    ),
    ("calls_one", &["arch_send_call_function_single_ipi"], Fetches::Cpu),
    ("calls_many", &["arch_send_call_function_ipi_mask"], Fetches::Mask),
];

/// The registers of the first two arguments, and the location of a function's return address.
#[cfg(target_arch = "x86_64")]
const REGISTERS: (&str, &str, &str) = ("%di", "%si", "$stack0");
#[cfg(target_arch = "aarch64")]
const REGISTERS: (&str, &str, &str) = ("%x0", "%x1", "%x30");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: (&str, &str, &str) = ("%r0", "%r1", "%lr");

/// Offsets of flags and function in a request, after the pointer of a list.
#[cfg(target_pointer_width = "64")]
const IN_REQUEST: (u32, u32) = (8, 16);
#[cfg(not(target_pointer_width = "64"))]
const IN_REQUEST: (u32, u32) = (4, 8);

/// All probes, for a machine with CPU numbers up to this one.
#[must_use]
pub fn senders(highest_cpu: u32) -> Vec<Sender> {
    let (first, second, caller) = REGISTERS;
    let words = (highest_cpu / 64 + 1).min(MOST_WORDS);
    let sender = |(event, functions, fetches): Row| Sender {
        event,
        functions,
        naming: matches!(fetches, Fetches::Cpu | Fetches::Request).then_some("cpu"),
        fetches: match fetches {
            Fetches::Cpu => format!("cpu={first}:u32 callsite={caller}:x64"),
            Fetches::Mask => format!("mask=+0({first}):x64[{words}] callsite={caller}:x64"),
            Fetches::Request => {
                let (flags, function) = IN_REQUEST;
                format!(
                    "cpu={first}:u32 call={second}:x64 flags=+{flags}({second}):x32 \
                     function=+{function}({second}):x64 callsite={caller}:x64"
                )
            }
            Fetches::Function => format!("function={second}:x64 callsite={caller}:x64"),
        },
    };
    // Requests precede sends: an interrupt without its reason would be incomplete.
    REQUESTS.into_iter().chain(INTERRUPTS).map(sender).collect()
}

/// Whether an event system is a group of such probes.
#[must_use]
pub fn is_group(system: &str) -> bool {
    let number = system.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('_'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a kernel reports about interrupts between CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tells {
    /// The senders, by its own events (6.4) or by our probes.
    pub(crate) sends: bool,
    /// Each function called in one (`csd:csd_function_entry`, absent in 6.1).
    pub(crate) calls: bool,
}

impl Tells {
    /// What it reports with these events.
    pub(crate) fn of(formats: &Formats) -> Tells {
        let by_probe = |format: &events::Format| format.name == "reschedules" && is_group(&format.system);
        Tells {
            sends: formats.named("ipi", "ipi_send_cpu").is_some() || formats.all().iter().any(by_probe),
            calls: formats.named("csd", "csd_function_entry").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_fetched_as_far_as_the_machine_has_cpus() {
        let fetches = |highest| {
            let mut all = senders(highest).into_iter();
            all.find(|sender| sender.event == "calls_many")
                .map(|sender| sender.fetches)
        };
        for (highest, words) in [(0, "x64[1]"), (63, "x64[1]"), (64, "x64[2]"), (8_191, "x64[64]")] {
            assert!(
                fetches(highest).is_some_and(|text| text.contains(words)),
                "{highest}"
            );
        }
    }

    #[test]
    fn only_groups_with_a_number_are_ours() {
        assert!(is_group("quietcore_17"));
        for other in [
            "quietcore",
            "quietcore_",
            "quietcore_x",
            "kprobes",
            "quietcore_1x",
            "ipi",
        ] {
            assert!(!is_group(other), "{other}");
        }
    }
}
