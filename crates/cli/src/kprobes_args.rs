//! The option `--no-kprobes` of `trace record` and `blame`.

use tracing::ipi_senders::Kprobes;

/// Whether kprobes may be made.
#[derive(clap::Args)]
#[group(skip)]
pub struct KprobesArgs {
    /// On a kernel without events for the sending of interrupts (before 6.4), do not put kprobes at the functions that send
    /// them: who interrupts other CPUs is then not told
    #[arg(long)]
    no_kprobes: bool,
}

impl KprobesArgs {
    /// The choice.
    pub fn kprobes(&self) -> Kprobes {
        match self.no_kprobes {
            true => Kprobes::Forbidden,
            false => Kprobes::Allowed,
        }
    }
}
