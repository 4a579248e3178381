//! Copies pages from the buffers to disk while they fill: a record of any length in the memory of one page.

use crate::TraceError;
use crate::stats::Stats;
use events::PageLayout;
use machine::CpuId;
use root::Root;
use root::pipe::Pipe;
use root::spool::Spool;
use std::path::Path;

/// Maximum number of pages per move: the capacity of a pipe.
const AT_ONCE: usize = 16;

/// Records several CPUs.
pub struct Spooler {
    cpus: Vec<CpuSpooler>,
    page: Vec<u8>,
}

struct CpuSpooler {
    cpu: CpuId,
    pipe: Pipe,
    spool: Spool,
    /// Whether the kernel can splice pages; otherwise they are read.
    moves: TransferMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferMode {
    Splice,
    Read,
}

/// The data of one CPU.
#[derive(Debug)]
pub struct SpoolResult {
    /// The CPU.
    pub cpu: CpuId,
    /// Its pages.
    pub spool: Spool,
    /// The kernel's statistics, as text.
    pub account: String,
    /// The kernel's statistics, as numbers.
    pub stats: Stats,
}

impl Spooler {
    /// Opens the buffers of an instance. Their content is stored on the disk of the file that will be written.
    ///
    /// # Errors
    /// A buffer or a file that cannot be opened.
    pub fn open(instance: &str, cpus: &[CpuId], layout: PageLayout, beside: &Path) -> Result<Spooler, TraceError> {
        let open = |cpu: &CpuId| {
            Ok(CpuSpooler {
                cpu: *cpu,
                pipe: Pipe::open(&format!("{instance}/per_cpu/cpu{cpu}/trace_pipe_raw"))?,
                spool: Spool::beside(beside)?,
                moves: TransferMode::Splice,
            })
        };
        Ok(Spooler {
            cpus: cpus.iter().map(open).collect::<Result<_, TraceError>>()?,
            page: vec![0; layout.page_len],
        })
    }

    /// Copies full pages, without waiting.
    ///
    /// # Errors
    /// A buffer that cannot be read, a full disk.
    pub fn drain(&mut self) -> Result<(), TraceError> {
        for cpu in &mut self.cpus {
            cpu.take(&mut self.page)?;
        }
        Ok(())
    }

    /// Copies the rest, including pages that are not full, and the kernel's statistics of each buffer. The trace must have
    /// ended.
    ///
    /// # Errors
    /// As [`Spooler::drain`].
    pub fn finish(mut self, root: &Root, instance: &str) -> Result<Vec<SpoolResult>, TraceError> {
        self.drain()?;
        let mut all = Vec::new();
        for mut cpu in self.cpus {
            cpu.moves = TransferMode::Read;
            cpu.take(&mut self.page)?;
            let account = root
                .text(&format!("{instance}/per_cpu/cpu{}/stats", cpu.cpu))?
                .unwrap_or_default();
            all.push(SpoolResult {
                cpu: cpu.cpu,
                spool: cpu.spool,
                stats: Stats::parse(&account),
                account,
            });
        }
        Ok(all)
    }
}

impl CpuSpooler {
    fn take(&mut self, page: &mut [u8]) -> Result<(), TraceError> {
        while self.moves == TransferMode::Splice {
            match self.spool.take(&self.pipe, page.len() * AT_ONCE) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.errno() == Some(EINVAL) => self.moves = TransferMode::Read,
                Err(error) => return Err(error.into()),
            }
        }
        loop {
            let read = self.pipe.read(page)?;
            if read == 0 {
                return Ok(());
            }
            // The kernel returns whole pages; clear the rest after a shorter read.
            page.iter_mut().skip(read).for_each(|byte| *byte = 0);
            self.spool.append(page)?;
        }
    }
}

/// The errno of splice where it is not supported.
const EINVAL: i32 = 22;
