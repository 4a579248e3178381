//! Takes the pages out of the buffers while they fill, into memory of a bounded size.

use crate::error::TraceError;
use crate::source::{Source, Way};
use crate::stats::Stats;
use events::{Event, Layout, Merge};
use machine::CpuId;
use root::Root;

/// Which pages stay when there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The first: who begins to read is there in time.
    First,
    /// The last: what ends the recording is in them.
    Last,
}

/// Reads the buffers of some CPUs.
pub struct Recorder {
    layout: Layout,
    cpus: Vec<Cpu>,
    /// Bytes that may be kept in all.
    most: usize,
    stays: Stays,
    kept: usize,
    full: bool,
    page: Vec<u8>,
}

struct Cpu {
    cpu: CpuId,
    source: Source,
    pages: Vec<u8>,
}

/// What one CPU wrote.
#[derive(Clone, Debug)]
pub struct CpuRecording {
    /// Which.
    pub cpu: CpuId,
    /// Its pages, one after the other, each of the layout's length.
    pub pages: Vec<u8>,
    /// The kernel's account after the last read.
    pub stats: Stats,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Layout of the pages.
    pub layout: Layout,
    /// CPU by CPU.
    pub cpus: Vec<CpuRecording>,
    /// The memory was full before the end: what came later, or earlier, is not here.
    pub full: bool,
}

impl Recorder {
    /// Opens the buffers of an instance. `most` is the memory for pages, in bytes.
    ///
    /// # Errors
    /// A buffer that cannot be opened.
    pub fn open(
        instance: &str,
        cpus: &[CpuId],
        layout: Layout,
        most: usize,
        stays: Stays,
        way: Way,
    ) -> Result<Recorder, TraceError> {
        let open = |cpu: &CpuId| {
            Ok(Cpu {
                cpu: *cpu,
                source: Source::open(&format!("{instance}/per_cpu/cpu{cpu}/trace_pipe_raw"), way)?,
                pages: Vec::new(),
            })
        };
        Ok(Recorder {
            layout,
            cpus: cpus.iter().map(open).collect::<Result<_, TraceError>>()?,
            most,
            stays,
            kept: 0,
            full: false,
            page: vec![0; layout.page_len],
        })
    }

    /// Takes what is there now, without waiting. The bytes taken; 0 when all buffers were empty or the memory is full.
    ///
    /// # Errors
    /// A buffer that cannot be read.
    pub fn drain(&mut self) -> Result<usize, TraceError> {
        let mut taken = 0;
        for place in 0..self.cpus.len() {
            loop {
                if self.kept + self.page.len() > self.most {
                    self.full = true;
                    if !self.forget() {
                        return Ok(taken);
                    }
                }
                let Some(cpu) = self.cpus.get_mut(place) else {
                    break;
                };
                let read = cpu.source.read(&mut self.page, &self.layout)?;
                if read == 0 {
                    break;
                }
                // A kernel gives whole pages; the rest of a shorter one says nothing.
                self.page.iter_mut().skip(read).for_each(|byte| *byte = 0);
                cpu.pages.extend_from_slice(&self.page);
                self.kept += self.page.len();
                taken += self.page.len();
            }
        }
        Ok(taken)
    }

    /// Makes room for what comes: half of what each CPU has goes. Whether there is room now.
    fn forget(&mut self) -> bool {
        if self.stays == Stays::First {
            return false;
        }
        for cpu in &mut self.cpus {
            let pages = cpu.pages.len() / self.layout.page_len.max(1);
            cpu.pages.drain(..pages.div_ceil(2) * self.layout.page_len);
        }
        self.kept = self.cpus.iter().map(|cpu| cpu.pages.len()).sum();
        self.kept + self.page.len() <= self.most
    }

    /// Ends it: the pages, and the kernel's account of each buffer.
    ///
    /// # Errors
    /// An account that cannot be read.
    pub fn finish(self, root: &Root, instance: &str) -> Result<Recording, TraceError> {
        let mut cpus = Vec::new();
        for cpu in self.cpus {
            let text = root.text(&format!("{instance}/per_cpu/cpu{}/stats", cpu.cpu))?;
            cpus.push(CpuRecording {
                cpu: cpu.cpu,
                pages: cpu.pages,
                stats: Stats::parse(&text.unwrap_or_default()),
            });
        }
        Ok(Recording {
            layout: self.layout,
            cpus,
            full: self.full,
        })
    }
}

impl Recording {
    /// All events in the order of time.
    pub fn events<'a>(&'a self) -> impl Iterator<Item = Event<'a>> {
        let source = |cpu: &'a CpuRecording| {
            let pages = cpu.pages.chunks(self.layout.page_len);
            events::Source::new(cpu.cpu.0, self.layout, pages)
        };
        Merge::new(self.cpus.iter().map(source).collect())
    }
}
