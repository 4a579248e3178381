//! Collects what virtual machines need from this one: QEMU, a processor for them, kernels, and a program that runs in them.
//! Missing requirements are reported before anything runs.

use super::accelerator::accelerator;
use super::{KernelImage, VmOptions};
use crate::StudyFile;
use crate::forecast::Forecast;
use guest::image::{self, HEAD_BYTES};
use guest::qemu::{Accelerator, GuestSize};
use machine::{CpuSet, Kernel as Known, Machine, Topology};
use root::{Failure, input};
use session::isolation::existing_cpus;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum size of the program: one with all symbols is smaller.
const MOST_PROGRAM: u64 = 512 << 20;

/// The silence limit; guests that share an emulated processor are slow.
const SILENCE: Duration = Duration::from_secs(240);

/// The requirements of the guests.
pub struct GuestRequirements {
    /// Their processor.
    pub accelerator: Accelerator,
    /// Their sizes.
    pub sizes: GuestSize,
    /// The kernel of each boot of the study.
    pub kernels: Vec<KernelImage>,
    /// The program that runs in them.
    pub program: Vec<u8>,
    /// How long a guest may be silent beyond the duration of its runs.
    pub patience: Duration,
}

impl GuestRequirements {
    /// Checks that everything is available.
    ///
    /// # Errors
    /// A usage error with what is missing and what to install or specify.
    pub fn set_up(options: &VmOptions, study: &StudyFile) -> Result<GuestRequirements, Failure> {
        let boots = &study.study().boots;
        let kernels = boots
            .iter()
            .map(|boot| match &boot.kernel {
                Some(kernel) => image(&located(kernel)),
                None => options.kernel.as_deref().map_or_else(|| Err(no_kernel()), image),
            })
            .collect::<Result<Vec<KernelImage>, _>>()?;
        let program = program(options.program.as_deref())?;
        let sizes = GuestSize {
            cpus: options.cpus.unwrap_or(4),
            memory_mib: options.memory_mib.unwrap_or(512),
        };
        Ok(GuestRequirements {
            accelerator: accelerator(sizes, kernels.first())?,
            sizes,
            kernels,
            program,
            patience: options.patience.unwrap_or(SILENCE),
        })
    }

    /// Checks the study against its future guests. The guests report themselves what is impossible inside them.
    ///
    /// # Errors
    /// CPUs that they do not have.
    pub fn forecast(&self, study: StudyFile, file: &Path) -> Result<Forecast, Failure> {
        let machine = self.machine();
        let cpus = existing_cpus(&study.study().cpus.text, &machine).map_err(|error| study.at_cpus(file, error))?;
        if cpus.contains(machine::CpuId(0)) {
            let why = "the first CPU of a machine keeps everything that cannot be moved";
            let error = Failure::usage("CPU 0 cannot be measured", why, "measure another CPU");
            return Err(study.at_cpus(file, error));
        }
        Forecast::on(study, file, machine, cpus)
    }

    /// A description as text.
    pub fn text(&self) -> String {
        format!(
            "{} CPUs and {} MiB ({})",
            self.sizes.cpus,
            self.sizes.memory_mib,
            self.accelerator.word()
        )
    }

    /// Notes for the user before anything runs.
    pub fn note(&self) -> Option<String> {
        let emulated = "KVM is not available, so the processor is emulated: actions and counters are real, but times \
             mean nothing and get no verdict";
        (self.accelerator == Accelerator::Tcg).then(|| emulated.to_owned())
    }

    /// What is known of a guest before it runs. Its processor name stands for everything that must not change between two calls.
    fn machine(&self) -> Machine {
        let all = CpuSet::range(0, self.sizes.cpus.saturating_sub(1));
        Machine {
            origin: root::Origin::Captured,
            kernel: Known {
                release: self.kernels.first().map(|kernel| kernel.release.clone()),
                ..Known::default()
            },
            topology: Topology {
                possible: Some(all.clone()),
                present: Some(all.clone()),
                online: all,
                model_name: Some(format!("QEMU, {}", self.text())),
                ..Topology::default()
            },
            ..Machine::default()
        }
    }
}

/// The path of a kernel in the study file: a path, or a release that is installed here.
fn located(kernel: &str) -> PathBuf {
    match study::is_image(kernel) {
        true => PathBuf::from(kernel),
        false => PathBuf::from(format!("/boot/vmlinuz-{kernel}")),
    }
}

fn no_kernel() -> Failure {
    Failure::usage(
        "no kernel was given for the virtual machines",
        "the study does not specify one for each of its boots",
        "specify an image: --vm-kernel /boot/vmlinuz-RELEASE",
    )
}

fn image(path: &Path) -> Result<KernelImage, Failure> {
    let refused = |why: String| {
        Failure::usage(
            format!(
                "{} is not a kernel image for a virtual machine",
                report::safe_path(path)
            ),
            why,
            "use an image of a kernel for x86-64, such as /boot/vmlinuz-RELEASE from a package of a distribution",
        )
    };
    let mut head = Vec::new();
    input::lines(path)
        .map_err(|error| refused(error.to_string()))?
        .take(HEAD_BYTES)
        .read_to_end(&mut head)
        .map_err(|error| refused(error.to_string()))?;
    let release = image::release(&head).map_err(|error| refused(error.to_string()))?;
    Ok(KernelImage {
        path: path.to_owned(),
        release,
    })
}

fn program(named: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let path = named.unwrap_or(Path::new("/proc/self/exe"));
    let refused = |why: String| {
        let what = match named {
            Some(path) => report::safe_path(path),
            None => "this quietcore".to_owned(),
        };
        Failure::usage(
            format!("{what} cannot run in a virtual machine that contains no other files"),
            why,
            "use a static quietcore for x86-64 of this version: --vm-binary FILE; `make dist` builds one",
        )
    };
    let bytes = input::bytes(path, MOST_PROGRAM).map_err(|error| refused(error.to_string()))?;
    guest::program::check(&bytes).map_err(|error| refused(error.to_string()))?;
    Ok(bytes)
}
