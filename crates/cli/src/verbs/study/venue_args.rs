//! Options for where a study runs: on this machine, in virtual machines, or on another machine.

use clap::ValueEnum;
use experiment::{BoardFiles, BoardOptions, Venue, VmOptions};
use guest::qemu::MOST_CPUS;
use machine::parse_duration;
use root::Failure;
use std::path::PathBuf;
use std::time::Duration;
use study::board::check_host;

/// Headings of these options in the help.
const VM: &str = "Virtual machines (--in vm)";
const HOST: &str = "Another host (--on HOST)";

/// Where a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VenueWord {
    /// On this machine
    Here,
    /// In virtual machines on this machine (QEMU), which itself is not changed
    Vm,
}

/// Options of a study about where it runs.
#[derive(clap::Args)]
pub struct VenueArgs {
    /// Where the study runs
    #[arg(long = "in", value_name = "WHERE", default_value = "here")]
    place: VenueWord,
    /// Kernel image of the boots for which the study names none
    #[arg(long, alias = "kernel", value_name = "IMAGE", help_heading = VM, hide_short_help = true)]
    vm_kernel: Option<PathBuf>,
    /// CPUs of each virtual machine [default: 4]
    #[arg(long, value_name = "N", help_heading = VM, hide_short_help = true, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_CPUS)))]
    vm_cpus: Option<u32>,
    /// Memory of each virtual machine, in MiB [default: 512]
    #[arg(long, value_name = "MIB", help_heading = VM, hide_short_help = true, value_parser = clap::value_parser!(u32).range(128..=1 << 20))]
    vm_memory: Option<u32>,
    /// Static quietcore of the same version that measures there [default: this one]
    #[arg(long, value_name = "FILE", help_heading = VM, hide_short_help = true)]
    vm_binary: Option<PathBuf>,
    /// End a machine that is silent for this time, beyond three times that of a run [default: 4min]
    #[arg(long, alias = "vm-patience", value_name = "TIME", help_heading = VM, hide_short_help = true, value_parser = parse_duration)]
    vm_timeout: Option<Duration>,
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
            ("--vm-kernel", self.vm_kernel.is_some()),
            ("--vm-cpus", self.vm_cpus.is_some()),
            ("--vm-memory", self.vm_memory.is_some()),
            ("--vm-binary", self.vm_binary.is_some()),
            ("--vm-timeout", self.vm_timeout.is_some()),
        ];
        let named = named.iter().find(|(_, is_there)| *is_there);
        if let Some(board) = self.board.options()? {
            return match (self.place, named) {
                (VenueWord::Here, None) => Ok(Venue::Board(board)),
                _ => Err(Failure::usage(
                    "two places were given for the study",
                    "--on selects another machine, and virtual machines run on this one",
                    "leave out --on, or --in vm and its options",
                )),
            };
        }
        match (self.place, named) {
            (VenueWord::Here, Some((option, _))) => Err(Failure::usage(
                format!("{option} is an option for virtual machines"),
                "this study runs on this machine",
                "add --in vm, or leave out the option",
            )),
            (VenueWord::Here, None) => Ok(Venue::Here),
            (VenueWord::Vm, _) => Ok(Venue::Vm(VmOptions {
                kernel: self.vm_kernel.clone(),
                cpus: self.vm_cpus,
                memory_mib: self.vm_memory,
                program: self.vm_binary.clone(),
                patience: self.vm_timeout,
            })),
        }
    }
}

/// Options of a study that runs on another machine.
#[derive(clap::Args)]
#[group(skip)]
pub struct BoardArgs {
    /// Run the study on this host, over ssh; the results are copied here
    #[arg(long, value_name = "[USER@]HOST", help_heading = HOST)]
    on: Option<String>,
    /// The ssh command, in shell syntax [default: ssh]
    #[arg(long, value_name = "COMMAND", help_heading = HOST, hide_short_help = true)]
    ssh: Option<String>,
    /// Static quietcore of the same version that runs there [default: this one]
    #[arg(long, alias = "binary", value_name = "FILE", help_heading = HOST, hide_short_help = true)]
    remote_binary: Option<PathBuf>,
    /// Directory of that host in which ours is created [default: that of a login]
    #[arg(long, alias = "there", value_name = "DIR", help_heading = HOST, hide_short_help = true)]
    remote_dir: Option<String>,
    /// Keep the files on that host when the study has ended
    #[arg(long, alias = "keep", help_heading = HOST, hide_short_help = true)]
    remote_keep: bool,
    /// Give up when the host is silent for this time, beyond three times that of a run [default: 4min]
    #[arg(long, alias = "on-patience", value_name = "TIME", help_heading = HOST, hide_short_help = true, value_parser = parse_duration)]
    remote_timeout: Option<Duration>,
}

impl BoardArgs {
    /// The named machine; `None` where none is named.
    ///
    /// # Errors
    /// An invalid name, or options of another machine where none is named.
    fn options(&self) -> Result<Option<BoardOptions>, Failure> {
        let named = [
            ("--ssh", self.ssh.is_some()),
            ("--remote-binary", self.remote_binary.is_some()),
            ("--remote-dir", self.remote_dir.is_some()),
            ("--remote-keep", self.remote_keep),
            ("--remote-timeout", self.remote_timeout.is_some()),
        ];
        let Some(host) = &self.on else {
            return match named.iter().find(|(_, is_there)| *is_there) {
                Some((option, _)) => Err(Failure::usage(
                    format!("{option} is an option for another machine"),
                    "this study runs on this one",
                    "add --on HOST, or leave out the option",
                )),
                None => Ok(None),
            };
        };
        check_host(host).map_err(|why| {
            Failure::usage(
                format!("{:?} is not a valid host name", report::safe(host)),
                why,
                "write it as for ssh: --on USER@HOST",
            )
        })?;
        Ok(Some(BoardOptions {
            host: host.clone(),
            ssh: self.ssh.clone(),
            program: self.remote_binary.clone(),
            above: self.remote_dir.clone(),
            files: if self.remote_keep {
                BoardFiles::Keep
            } else {
                BoardFiles::Removed
            },
            patience: self.remote_timeout,
        }))
    }
}
