//! Writes event streams as a kernel would, with the formats of a real one.

use events::{Endian, EventFormat, Formats, PageRecord, StreamItem, Symbol};
use std::path::Path;

/// The functions of the simulated kernel.
const FUNCTIONS: &[(u64, &str)] = &[
    (0x100, "tick_nohz_handler"),
    (0x200, "membarrier"),
    (0x300, "ipi_mb"),
    (0x400, "flush_tlb_func"),
    (0x500, "vmstat_update"),
    (0x600, "perf_event_nmi_handler"),
    (0x700, "__blk_mq_complete_request_remote"),
    (0x780, "process_timeout"),
];

/// An event of context tracking, in the format of 6.1.
const TRACKING: &str = "name: NAME
ID: NUMBER
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int dummy;\toffset:8;\tsize:4;\tsigned:1;

print fmt: \"%s\", \"\"
";

/// The names of these functions.
pub struct TestNames;

impl events::AddressNames for TestNames {
    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let (start, function) = FUNCTIONS.iter().rfind(|(start, _)| *start <= address)?;
        Some(Symbol {
            function,
            offset: address - start,
            size: 0x80,
            module: None,
        })
    }

    fn text(&self, _: u64) -> Option<&str> {
        None
    }
}

enum Item {
    Event { cpu: u32, at: u64, payload: Vec<u8> },
    Lost { cpu: u32, count: u64 },
}

/// A stream that is being written.
pub struct TestStream {
    pub formats: Formats,
    items: Vec<Item>,
    cpu: u32,
    pid: i32,
    flags: u8,
}

fn comm(pid: i32) -> String {
    match pid {
        0 => "swapper/1".to_owned(),
        50 => "kworker/1:1".to_owned(),
        60 => "ksoftirqd/1".to_owned(),
        100 => "probe".to_owned(),
        pid => format!("task-{pid}"),
    }
}

/// Formats of kprobes, as a kernel describes them: each field with its type.
const KPROBES: &[(&str, &[(&str, usize)])] = &[
    (
        "asks_one",
        &[
            ("u32 cpu", 4),
            ("u64 call", 8),
            ("u32 flags", 4),
            ("u64 function", 8),
            ("u64 callsite", 8),
        ],
    ),
    (
        "queues_one",
        &[
            ("u32 cpu", 4),
            ("u64 call", 8),
            ("u32 flags", 4),
            ("u64 function", 8),
            ("u64 callsite", 8),
        ],
    ),
    ("asks_many", &[("u64 function", 8), ("u64 callsite", 8)]),
    ("reschedules", &[("u32 cpu", 4), ("u64 callsite", 8)]),
    ("calls_one", &[("u32 cpu", 4), ("u64 callsite", 8)]),
    ("calls_many", &[("u64 mask[1]", 8), ("u64 callsite", 8)]),
];

impl TestStream {
    /// A stream of a kernel before 6.4 with our kprobes.
    pub fn with_kprobes() -> TestStream {
        let mut stream = TestStream::new();
        let mut formats = Formats::new(Endian::Little);
        for format in stream.formats.all() {
            if !matches!(format.system.as_str(), "ipi" | "csd") {
                formats.add(format.clone()).unwrap();
            }
        }
        for (number, (name, fields)) in KPROBES.iter().enumerate() {
            let mut text = format!("name: {name}\nID: {}\nformat:\n", 3_000 + number);
            for (field, offset, size) in [
                ("unsigned short common_type", 0, 2),
                ("unsigned char common_flags", 2, 1),
                ("unsigned char common_preempt_count", 3, 1),
                ("int common_pid", 4, 4),
            ] {
                text.push_str(&format!(
                    "\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:0;\n"
                ));
            }
            text.push_str("\n\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n");
            let mut offset = 16;
            for (field, size) in *fields {
                text.push_str(&format!(
                    "\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:0;\n"
                ));
                offset += size;
            }
            text.push_str("\nprint fmt: \"(%lx)\", REC->__probe_ip\n");
            formats.add(EventFormat::parse("quietcore_77", &text).unwrap()).unwrap();
        }
        stream.formats = formats;
        stream
    }

    pub fn new() -> TestStream {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/6.18-x86_64/formats");
        let all = std::fs::read_to_string(path).unwrap();
        let mut formats = Formats::new(Endian::Little);
        for one in all.split("system: ").filter(|one| !one.is_empty()) {
            let (system, rest) = one.split_once('\n').unwrap();
            formats.add(EventFormat::parse(system, rest).unwrap()).unwrap();
        }
        // The kernel of these formats has no `nohz_full`. Kernels that have it describe the two events in this way.
        for (name, id) in [("user_enter", 9_001), ("user_exit", 9_002)] {
            let text = TRACKING.replace("NAME", name).replace("NUMBER", &id.to_string());
            formats
                .add(EventFormat::parse("context_tracking", &text).unwrap())
                .unwrap();
        }
        TestStream {
            formats,
            items: Vec::new(),
            cpu: 0,
            pid: 0,
            flags: 0,
        }
    }

    /// Sets the CPU and the current thread of the following events.
    pub fn on(&mut self, cpu: u32, pid: i32, flags: u8) {
        (self.cpu, self.pid, self.flags) = (cpu, pid, flags);
    }

    /// Names a thread, as its `sched_waking` on another CPU would.
    pub fn named(&mut self, pid: i32, comm: &str) {
        let at = 0;
        self.add_event(at, "sched_waking", &[("pid", pid as u64)], &[("comm", comm.to_owned())]);
    }

    pub fn interrupt(&mut self) -> &mut TestStream {
        self.flags = 8;
        self
    }

    pub fn task(&mut self) -> &mut TestStream {
        self.flags = 0;
        self
    }

    pub fn switch(&mut self, at: u64, prev: i32, state: u64, next: i32) {
        self.switch_prio(at, (prev, 120), state, (next, 120));
    }

    /// A switch between threads with priorities in the kernel's scale: below 100 is real time.
    pub fn switch_prio(&mut self, at: u64, prev: (i32, u64), state: u64, next: (i32, u64)) {
        let fields = [
            ("prev_pid", prev.0 as u64),
            ("prev_prio", prev.1),
            ("prev_state", state),
            ("next_pid", next.0 as u64),
            ("next_prio", next.1),
        ];
        self.add_event(
            at,
            "sched_switch",
            &fields,
            &[("prev_comm", comm(prev.0)), ("next_comm", comm(next.0))],
        );
    }

    pub fn at(&mut self, at: u64, name: &str, fields: &[(&str, u64)]) {
        let pid = fields
            .iter()
            .find(|(name, _)| *name == "pid")
            .map_or(0, |(_, pid)| *pid as i32);
        let texts = match name {
            "irq_handler_entry" => vec![("name", "disk".to_owned())],
            "sched_waking" | "task_newtask" => vec![("comm", comm(pid))],
            "block_rq_complete" => vec![("rwbs", "WS".to_owned())],
            name if name.starts_with("block_") => {
                vec![("rwbs", "WS".to_owned()), ("comm", comm(self.pid))]
            }
            _ => Vec::new(),
        };
        self.add_event(at, name, fields, &texts);
    }

    pub fn lose(&mut self, cpu: u32, count: u64) {
        self.items.push(Item::Lost { cpu, count });
    }

    fn add_event(&mut self, at: u64, name: &str, fields: &[(&str, u64)], texts: &[(&str, String)]) {
        let format = self.formats.all().iter().find(|format| format.name == name).unwrap();
        let end = format
            .fields
            .iter()
            .chain(&format.common)
            .map(|field| field.offset + field.size)
            .max()
            .unwrap();
        let mut payload = vec![0; end];
        let mut set = |name: &str, value: u64| {
            let field = format
                .field(name)
                .unwrap_or_else(|| panic!("{} has no {name}", format.name));
            payload[field.offset..field.offset + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
        };
        set("common_type", u64::from(format.id));
        set("common_flags", u64::from(self.flags));
        set("common_pid", self.pid as u64);
        for (name, value) in fields {
            set(name, *value);
        }
        for (name, text) in texts {
            let field = format.field(name).unwrap();
            let bytes = text.as_bytes();
            if field.shape == events::FieldShape::Text {
                payload[field.offset..field.offset + bytes.len()].copy_from_slice(bytes);
            } else {
                let place = ((bytes.len() as u32 + 1) << 16) | payload.len() as u32;
                payload[field.offset..field.offset + 4].copy_from_slice(&place.to_le_bytes());
                payload.extend(bytes);
                payload.push(0);
            }
        }
        self.items.push(Item::Event {
            cpu: self.cpu,
            at,
            payload,
        });
    }

    pub fn events(&self) -> impl Iterator<Item = StreamItem<'_>> {
        self.items.iter().map(|item| match item {
            Item::Event { cpu, at, payload } => StreamItem::Record {
                cpu: *cpu,
                record: PageRecord { at: *at, payload },
            },
            Item::Lost { cpu, count } => StreamItem::Lost {
                cpu: *cpu,
                count: Some(*count),
            },
        })
    }
}
