//! Parses `/proc/cpuinfo`: the processor's name and flags, and its cores on kernels without topology files.

use crate::CpuId;
use crate::CpuSet;
use crate::reading::RootReader;

/// The needed fields of `/proc/cpuinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// The listed CPUs: online ones only.
    pub processors: Vec<CpuinfoRecord>,
    /// `model name`, or the architecture's equivalent (`cpu`, `Model`, `Hardware`).
    pub model_name: Option<String>,
    /// Whether the flags contain `hypervisor` (x86).
    pub is_guest: bool,
    /// Arm's `CPU implementer` number; 0 is reserved for software and used by QEMU's emulator.
    pub implementer: Option<u32>,
}

/// One CPU of `/proc/cpuinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuinfoRecord {
    /// Its number.
    pub cpu: u32,
    /// `physical id` (x86).
    pub package: Option<i64>,
    /// `core id` (x86).
    pub core: Option<i64>,
}

impl CpuInfo {
    /// The listed CPUs.
    #[must_use]
    pub fn online(&self) -> CpuSet {
        self.processors.iter().map(|processor| CpuId(processor.cpu)).collect()
    }

    fn take(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            return;
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            // Old arm kernels also have a `Processor` line, which contains the name.
            b"processor" => match text().parse() {
                Ok(cpu) if cpu <= CpuSet::MAX_CPU => {
                    self.processors.push(CpuinfoRecord {
                        cpu,
                        package: None,
                        core: None,
                    });
                }
                Ok(_) => {}
                Err(_) => self.name(text()),
            },
            b"physical id" => self.last(|processor| processor.package = text().parse().ok()),
            b"core id" => self.last(|processor| processor.core = text().parse().ok()),
            b"model name" | b"Processor" | b"cpu" | b"Model" | b"Hardware" => self.name(text()),
            b"flags" => self.is_guest |= value.split(|&byte| byte == b' ').any(|flag| flag == b"hypervisor"),
            b"CPU implementer" if self.implementer.is_none() => {
                let digits = text();
                self.implementer = u32::from_str_radix(digits.trim_start_matches("0x"), 16).ok();
            }
            _ => {
                // s390: `processor 3: version = 00, ...`.
                let number = name
                    .strip_prefix(b"processor ")
                    .and_then(|text| std::str::from_utf8(text).ok());
                let cpu = number.and_then(|text| text.trim().parse().ok());
                if let Some(cpu) = cpu.filter(|&cpu| cpu <= CpuSet::MAX_CPU) {
                    self.processors.push(CpuinfoRecord {
                        cpu,
                        package: None,
                        core: None,
                    });
                }
            }
        }
    }

    fn last(&mut self, set: impl FnOnce(&mut CpuinfoRecord)) {
        if let Some(processor) = self.processors.last_mut() {
            set(processor);
        }
    }

    fn name(&mut self, name: String) {
        if self.model_name.is_none() && !name.is_empty() {
            self.model_name = Some(name);
        }
    }
}

/// Parses `/proc/cpuinfo` of any architecture.
#[must_use]
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    text.lines().for_each(|line| info.take(line.as_bytes()));
    info
}

/// Line by line: with a thousand CPUs the flags are megabytes.
pub(super) fn read(reader: &RootReader) -> CpuInfo {
    let mut info = CpuInfo::default();
    reader.lines("/proc/cpuinfo", &mut |line| info.take(line));
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_of_x86_is_parsed() {
        let info = parse_cpuinfo(
            "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\nphysical id\t: 1\ncore id\t\t: 2\n\
             flags\t\t: fpu hypervisor lahf_lm\n\nprocessor\t: 2\nmodel name\t: other\n",
        );
        assert_eq!(info.online().to_string(), "0,2");
        assert_eq!(
            info.processors[0],
            CpuinfoRecord {
                cpu: 0,
                package: Some(1),
                core: Some(2)
            }
        );
        assert_eq!(
            info.processors[1],
            CpuinfoRecord {
                cpu: 2,
                package: None,
                core: None
            }
        );
        assert_eq!(info.model_name.as_deref(), Some("QEMU TCG CPU version 2.5+"));
        assert!(info.is_guest);
    }

    #[test]
    fn cpuinfo_of_other_architectures_is_parsed() {
        let arm = parse_cpuinfo("Processor\t: ARMv7 Processor rev 2 (v7l)\nprocessor\t: 0\nprocessor\t: 1\n");
        assert_eq!(arm.online().to_string(), "0-1");
        assert_eq!(arm.model_name.as_deref(), Some("ARMv7 Processor rev 2 (v7l)"));
        let arm64 = parse_cpuinfo("processor : 0\nCPU implementer : 0x48\n");
        assert_eq!(arm64.implementer, Some(0x48));
        let s390 = parse_cpuinfo("# processors    : 2\nprocessor 0: version = 00\nprocessor 7: version = 00\n");
        assert_eq!(s390.online().to_string(), "0,7");
        let ppc = parse_cpuinfo("processor\t: 3\ncpu\t\t: POWER7 (raw), altivec supported\n");
        assert_eq!(ppc.model_name.as_deref(), Some("POWER7 (raw), altivec supported"));
        assert_eq!(parse_cpuinfo("").online(), CpuSet::new());
        assert_eq!(parse_cpuinfo("processor : 99999999\n:\nflags").processors, []);
    }
}
