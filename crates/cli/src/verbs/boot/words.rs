//! Selects the words for the boot line: from CPUs and a profile for the machine's kernel, from the declarations, or as given
//! by the user.

use crate::intent::ProfileWord;
use boot::{Loader, MachineTree, OwnChanges, former_line, on_line};
use machine::cmdline::words;
use plan::lint::{KernelFacts, lint};
use plan::{Level, Profile};
use root::Failure;
use session::Session;
use session::boot_files::words::BootIsolation;
use session::boot_files::words::{BootWordSelection, IsolationMerge, for_cpus};
use session::isolation;

/// What is asked for.
#[derive(clap::Args)]
pub struct BootWordArgs {
    /// Isolate these CPUs, and those that the line isolates without quietcore
    ///
    /// What quietcore added before is replaced.
    ///
    /// Without --cpus, --partition and --params, the line isolates the CPUs of the partitions that /etc/quietcore.toml
    /// declares with `boot = true`.
    #[arg(long, value_name = "CPUS", conflicts_with_all = ["params", "partition"])]
    cpus: Option<String>,
    /// Isolate the CPUs of this declared partition, with its profile
    #[arg(long, value_name = "NAME", conflicts_with = "params")]
    partition: Option<String>,
    /// How much to change [default: balanced]
    #[arg(long, value_name = "PROFILE", requires = "cpus")]
    profile: Option<ProfileWord>,
    /// Isolate only these CPUs, not those that the line isolates without quietcore
    #[arg(long, requires = "cpus")]
    only: bool,
    /// Add these words: 'isolcpus=2-3 nohz_full=2-3'; existing parameters get the new value
    #[arg(long, value_name = "WORDS")]
    params: Option<String>,
}

impl BootWordArgs {
    /// Selects the words for a machine.
    ///
    /// # Errors
    /// CPUs that cannot be isolated, or invalid words.
    pub fn choose(
        &self,
        session: &Session,
        loader: &'static Loader,
        ours: Option<&OwnChanges>,
    ) -> Result<BootWordSelection, Failure> {
        let root = session.root();
        let machine = session.machine();
        let facts = KernelFacts::of_machine(&machine);
        let former = former_line(&MachineTree::of(root), loader, ours)?;
        let mut chosen = match (&self.params, &self.cpus) {
            (Some(text), _) => BootWordSelection {
                words: words(text).map(str::to_owned).collect(),
                notes: Vec::new(),
            },
            (None, Some(expression)) => {
                let request = BootIsolation {
                    cpus: isolation::existing_cpus(expression, &machine)?,
                    profile: self.profile.map_or(Profile::Balanced, Into::into),
                };
                let beside = if self.only {
                    IsolationMerge::Alone
                } else {
                    IsolationMerge::United
                };
                for_cpus(&request, beside, &machine, &facts, &former)?
            }
            (None, None) => {
                let request = BootIsolation::declared(session, &machine, self.partition.as_deref())?;
                for_cpus(&request, IsolationMerge::United, &machine, &facts, &former)?
            }
        };
        if chosen.words.is_empty() {
            return Err(Failure::usage(
                "there are no parameters for the boot line",
                chosen
                    .notes
                    .first()
                    .cloned()
                    .unwrap_or_else(|| "--params is empty".to_owned()),
                "specify CPUs with --cpus 2-3, or parameters with --params; `boot clear` removes those from quietcore",
            ));
        }
        let line = on_line(&former, &chosen.words);
        let errors = lint(&line, &facts)
            .findings
            .into_iter()
            .filter(|one| one.level == Level::Error);
        chosen
            .notes
            .extend(errors.map(|one| format!("{}: {}", one.subject, one.message)));
        Ok(chosen)
    }
}
