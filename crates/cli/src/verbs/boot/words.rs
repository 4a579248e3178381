//! Which words shall be on the line: from CPUs and a profile, for the kernel of the machine, as they are declared, or as
//! somebody wrote them.

use super::declaration::OnLine;
use crate::CommandError;
use crate::intent::ProfileWord;
use boot::{Files, Loader, Ours, former_line, isolated_by, on_line};
use machine::cmdline::words;
use machine::{CpuSet, Machine};
use plan::lint::{Facts, lint};
use plan::{BootWish, Level, Profile, boot_line};
use session::Session;
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

/// Whether CPUs that others put on the line stay isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// They do.
    United,
    /// They do not.
    Alone,
}

/// The words, and what is to be said about them.
#[derive(Default)]
pub struct Chosen {
    /// In this order.
    pub words: Vec<String>,
    /// Lines for people.
    pub notes: Vec<String>,
}

impl Wanted {
    /// Chooses them for a machine.
    ///
    /// # Errors
    /// CPUs that cannot be isolated, words that are none.
    pub fn choose(
        &self,
        session: &Session,
        loader: &'static Loader,
        ours: Option<&Ours>,
    ) -> Result<Chosen, CommandError> {
        let root = session.root();
        let machine = session.machine();
        let facts = Facts::of_machine(&machine);
        let former = former_line(&Files::of(root), loader, ours)?;
        let mut chosen = match (&self.params, &self.cpus) {
            (Some(text), _) => Chosen {
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
            return Err(CommandError::usage(
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

/// The words that isolate CPUs on this kernel.
///
/// # Errors
/// CPUs that cannot be isolated.
pub fn for_cpus(
    wanted: &OnLine,
    beside: Beside,
    machine: &Machine,
    facts: &Facts,
    former: &str,
) -> Result<Chosen, CommandError> {
    let mut notes = Vec::new();
    let mut isolated = wanted.cpus.clone();
    if beside == Beside::United {
        let others = isolated_by(former).unwrap_or_default().minus(&isolated);
        if !others.is_empty() {
            notes.push(format!(
                "CPU {others} is isolated by the line already and stays so (--only leaves it out)"
            ));
            isolated = isolated.or(&others);
        }
    }
    let all = machine.topology.present_cpus().or(&machine.topology.online);
    let housekeeping = all.minus(&isolated);
    let lowest: CpuSet = all.first().into_iter().collect();
    if isolated.intersects(&lowest) {
        return Err(CommandError::usage(
            format!("CPU {lowest} cannot be isolated"),
            "the lowest CPU starts the machine, and much of the kernel expects it to serve everybody",
            format!("choose among CPU {}", all.minus(&lowest)),
        ));
    }
    let wish = BootWish {
        isolated: &isolated,
        housekeeping: &housekeeping,
        profile: wanted.profile,
    };
    let line = boot_line(&wish, facts);
    let said = line.findings.iter().filter(|one| one.level > Level::Info);
    notes.extend(said.map(|one| format!("{}: {}", one.subject, one.message)));
    let words = words(line.line.as_deref().unwrap_or_default())
        .map(str::to_owned)
        .collect();
    Ok(Chosen { words, notes })
}
