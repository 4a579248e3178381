//! Options for where a study runs: on this machine, in virtual machines, or on another machine.

use clap::ValueEnum;
use experiment::{BoardFiles, BoardOptions, Venue, VmOptions};
use guest::qemu::MOST_CPUS;
use machine::parse_duration;
use root::Failure;
use std::path::PathBuf;
use std::time::Duration;
use study::board::check_host;

/// Where a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VenueWord {
    /// On this machine
    Here,
    /// In virtual machines that QEMU runs on this machine, which is not changed
    Vm,
}

/// Options of a study about where it runs.
#[derive(clap::Args)]
pub struct VenueArgs {
    /// Where it runs
    #[arg(long = "in", value_name = "WHERE", default_value = "here")]
    place: VenueWord,
    /// With --in vm: the kernel (bzImage) of boots for which the study names none
    #[arg(long, value_name = "IMAGE")]
    kernel: Option<PathBuf>,
    /// With --in vm: CPUs of each machine [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_CPUS)))]
    vm_cpus: Option<u32>,
    /// With --in vm: memory of each machine [default: 512]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(128..=1 << 20))]
    vm_memory: Option<u32>,
    /// With --in vm: the static quietcore that measures there, of the same version [default: this one]
    #[arg(long, value_name = "FILE")]
    vm_binary: Option<PathBuf>,
    /// With --in vm: how long a machine may be silent beyond three times what a run takes [default: 4min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    vm_patience: Option<Duration>,
    /// Those of another machine.
    #[command(flatten)]
    board: BoardArgs,
}

impl VenueArgs {
    /// Where the study runs.
    ///
    /// # Errors
    /// Options of virtual machines, or of another machine, for a study that does not run there.
    pub fn venue(&self) -> Result<Venue, Failure> {
        let named = [
            ("--kernel", self.kernel.is_some()),
            ("--vm-cpus", self.vm_cpus.is_some()),
            ("--vm-memory", self.vm_memory.is_some()),
            ("--vm-binary", self.vm_binary.is_some()),
            ("--vm-patience", self.vm_patience.is_some()),
        ];
        let named = named.iter().find(|(_, is_there)| *is_there);
        if let Some(board) = self.board.options()? {
            return match (self.place, named) {
                (VenueWord::Here, None) => Ok(Venue::Board(board)),
                _ => Err(Failure::usage(
                    "the study is to run in two places",
                    "--on names another machine, and virtual machines run on this one",
                    "leave out --on, or --in vm and its options",
                )),
            };
        }
        match (self.place, named) {
            (VenueWord::Here, Some((option, _))) => Err(Failure::usage(
                format!("{option} is an option of virtual machines"),
                "this study runs on this machine",
                "add --in vm, or leave it out",
            )),
            (VenueWord::Here, None) => Ok(Venue::Here),
            (VenueWord::Vm, _) => Ok(Venue::Vm(VmOptions {
                kernel: self.kernel.clone(),
                cpus: self.vm_cpus,
                memory_mib: self.vm_memory,
                program: self.vm_binary.clone(),
                patience: self.vm_patience,
            })),
        }
    }
}

/// Options of a study that runs on another machine.
#[derive(clap::Args)]
#[group(skip)]
pub struct BoardArgs {
    /// It runs on this machine, over ssh; its results come here
    #[arg(long, value_name = "[USER@]HOST")]
    on: Option<String>,
    /// With --on: how ssh is called, as a shell reads it [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    ssh: Option<String>,
    /// With --on: the static quietcore that runs there, of the same version [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// With --on: the directory there in which ours is made [default: where a login begins]
    #[arg(long, value_name = "DIR")]
    there: Option<String>,
    /// With --on: what was made there stays when the study has ended
    #[arg(long)]
    keep: bool,
    /// With --on: how long it may be silent or out of reach beyond three times what a run takes [default: 4min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    on_patience: Option<Duration>,
}

impl BoardArgs {
    /// The named machine; `None` where none is named.
    ///
    /// # Errors
    /// An invalid name, or options of another machine where none is named.
    fn options(&self) -> Result<Option<BoardOptions>, Failure> {
        let named = [
            ("--ssh", self.ssh.is_some()),
            ("--binary", self.binary.is_some()),
            ("--there", self.there.is_some()),
            ("--keep", self.keep),
            ("--on-patience", self.on_patience.is_some()),
        ];
        let Some(host) = &self.on else {
            return match named.iter().find(|(_, is_there)| *is_there) {
                Some((option, _)) => Err(Failure::usage(
                    format!("{option} is an option of another machine"),
                    "this study runs on this one",
                    "add --on HOST, or leave it out",
                )),
                None => Ok(None),
            };
        };
        check_host(host).map_err(|why| {
            Failure::usage(
                format!("{:?} cannot be the name of a machine", report::safe(host)),
                why,
                "name one as ssh knows it: --on USER@HOST",
            )
        })?;
        Ok(Some(BoardOptions {
            host: host.clone(),
            ssh: self.ssh.clone(),
            program: self.binary.clone(),
            above: self.there.clone(),
            files: if self.keep {
                BoardFiles::Keep
            } else {
                BoardFiles::Removed
            },
            patience: self.on_patience,
        }))
    }
}
