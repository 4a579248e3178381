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
pub struct SenderProbe {
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
enum FetchedValues {
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
type ProbeRow = (&'static str, &'static [&'static str], FetchedValues);

const REQUESTS: [ProbeRow; 3] = [
    ("asks_one", &["generic_exec_single"], FetchedValues::Request),
    ("queues_one", &["__smp_call_single_queue"], FetchedValues::Request),
    (
        "asks_many",
        &["smp_call_function_many_cond", "smp_call_function_many"],
        FetchedValues::Function,
    ),
];

#[cfg(target_arch = "x86_64")]
const INTERRUPTS: [ProbeRow; 3] = [
    ("reschedules", &["native_smp_send_reschedule"], FetchedValues::Cpu),
    ("calls_one", &["native_send_call_func_single_ipi"], FetchedValues::Cpu),
    ("calls_many", &["native_send_call_func_ipi"], FetchedValues::Mask),
];

#[cfg(not(target_arch = "x86_64"))]
const INTERRUPTS: [ProbeRow; 3] = [
    (
        "reschedules",
        &["smp_send_reschedule", "arch_smp_send_reschedule"],
        FetchedValues::Cpu,
    ),
    ("calls_one", &["arch_send_call_function_single_ipi"], FetchedValues::Cpu),
    ("calls_many", &["arch_send_call_function_ipi_mask"], FetchedValues::Mask),
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
pub fn senders(highest_cpu: u32) -> Vec<SenderProbe> {
    let (first, second, caller) = REGISTERS;
    let words = (highest_cpu / 64 + 1).min(MOST_WORDS);
    let sender = |(event, functions, fetches): ProbeRow| SenderProbe {
        event,
        functions,
        naming: matches!(fetches, FetchedValues::Cpu | FetchedValues::Request).then_some("cpu"),
        fetches: match fetches {
            FetchedValues::Cpu => format!("cpu={first}:u32 callsite={caller}:x64"),
            FetchedValues::Mask => format!("mask=+0({first}):x64[{words}] callsite={caller}:x64"),
            FetchedValues::Request => {
                let (flags, function) = IN_REQUEST;
                format!(
                    "cpu={first}:u32 call={second}:x64 flags=+{flags}({second}):x32 \
                     function=+{function}({second}):x64 callsite={caller}:x64"
                )
            }
            FetchedValues::Function => format!("function={second}:x64 callsite={caller}:x64"),
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
pub(crate) struct SenderSupport {
    /// The senders, by its own events (6.4) or by our probes.
    pub(crate) sends: bool,
    /// Each function called in one (`csd:csd_function_entry`, absent in 6.1).
    pub(crate) calls: bool,
}

impl SenderSupport {
    /// What it reports with these events.
    pub(crate) fn of(formats: &Formats) -> SenderSupport {
        let by_probe = |format: &events::EventFormat| format.name == "reschedules" && is_group(&format.system);
        SenderSupport {
            sends: formats.named("ipi", "ipi_send_cpu").is_some() || formats.all().iter().any(by_probe),
            calls: formats.named("csd", "csd_function_entry").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_mask_is_fetched_up_to_the_highest_cpu() {
        let fetches = |highest| {
            let mut all = senders(highest).into_iter();
            all.find(|sender| sender.event == "calls_many")
                .map(|sender| sender.fetches)
        };
        for (highest, words) in [(0, "x64[1]"), (63, "x64[1]"), (64, "x64[2]"), (8_191, "x64[64]")] {
            assert!(fetches(highest).is_some_and(|text| text.contains(words)), "{highest}");
        }
    }

    #[test]
    fn only_kprobe_groups_with_a_pid_are_own_groups() {
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
