//! Selects the words for the boot line: from CPUs and a profile for the machine's kernel, from the declarations, or as given
//! by the user.

use crate::intent::ProfileWord;
use boot::{Files, Loader, Ours, former_line, on_line};
use machine::cmdline::words;
use plan::lint::{Facts, lint};
use plan::{Level, Profile};
use root::Failure;
use session::Session;
use session::boot_files::words::OnLine;
use session::boot_files::words::{Beside, ChosenWords, for_cpus};
use session::isolation;

/// What is asked for.
#[derive(clap::Args)]
pub struct Wanted {
    /// Isolate these CPUs: a list (2-3), a mask (0xc), or topology words; those that the line isolates already stay so.
    /// Without this, --partition and --params: those of the partitions that /etc/quietcore.toml declares with `boot = true`
    #[arg(long, value_name = "LIST", conflicts_with_all = ["params", "partition"])]
    cpus: Option<String>,
    /// Isolate the CPUs of this declared partition too, with its profile
    #[arg(long, value_name = "NAME", conflicts_with = "params")]
    partition: Option<String>,
    /// How far to go [default: balanced]
    #[arg(long, value_name = "PROFILE", requires = "cpus")]
    profile: Option<ProfileWord>,
    /// Isolate just these CPUs, and not those that others put on the line
    #[arg(long, requires = "cpus")]
    only: bool,
    /// Put these words on the line: 'isolcpus=2-3 nohz_full=2-3'; a parameter that is there gets the new value
    #[arg(long, value_name = "WORDS")]
    params: Option<String>,
}

impl Wanted {
    /// Selects the words for a machine.
    ///
    /// # Errors
    /// CPUs that cannot be isolated, or invalid words.
    pub fn choose(
        &self,
        session: &Session,
        loader: &'static Loader,
        ours: Option<&Ours>,
    ) -> Result<ChosenWords, Failure> {
        let root = session.root();
        let machine = session.machine();
        let facts = Facts::of_machine(&machine);
        let former = former_line(&Files::of(root), loader, ours)?;
        let mut chosen = match (&self.params, &self.cpus) {
            (Some(text), _) => ChosenWords {
                words: words(text).map(str::to_owned).collect(),
                notes: Vec::new(),
            },
            (None, Some(expression)) => {
                let wanted = OnLine {
                    cpus: isolation::existing_cpus(expression, &machine)?,
                    profile: match self.profile {
                        Some(ProfileWord::Minimal) => Profile::Minimal,
                        Some(ProfileWord::Balanced) | None => Profile::Balanced,
                        Some(ProfileWord::Strict) => Profile::Strict,
                    },
                };
                let beside = if self.only { Beside::Alone } else { Beside::United };
                for_cpus(&wanted, beside, &machine, &facts, &former)?
            }
            (None, None) => {
                let wanted = OnLine::declared(session, root, &machine, self.partition.as_deref())?;
                for_cpus(&wanted, Beside::United, &machine, &facts, &former)?
            }
        };
        if chosen.words.is_empty() {
            return Err(Failure::usage(
                "there are no words for the boot line",
                chosen
                    .notes
                    .first()
                    .cloned()
                    .unwrap_or_else(|| "--params is empty".to_owned()),
                "name CPUs with --cpus 2-3, or words with --params; `boot clear` takes ours out",
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
