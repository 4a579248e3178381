//! `explain`: explains a word, or checks a boot line.

use crate::reading::ReadingArgs;
use machine::cmdline::MOST_LINE;
use machine::{CpuSet, Interrupt, Machine, interrupts, parse_cmdline};
use plan::lint::{KernelFacts, LintResult, ObservedBoot, assigned, lint, lint_assuming};
use report::explain::{
    EXPLAIN_SCHEMA, Explanation, LintReport, Surroundings, contents_text, explain, explain_text, lint_text, words,
};
use root::{Failure, Root, Status};
use serde::Serialize;
use session::Session;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use terminal::Screen;

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Args {
    /// A knob (irq_affinity), file (rq_affinity), kernel thread (rcuc/2), counter (LOC, NET_RX), interrupt
    /// (irq/47), boot parameter (nohz_full), error (EINVAL), call (taskset) or finding (mce-off)
    #[arg(value_name = "WORD", required_unless_present_any = ["list", "cmdline"])]
    word: Option<String>,
    /// List every word that can be explained
    #[arg(long, conflicts_with = "word")]
    list: bool,
    /// Judge a boot line; without LINE, the one that this machine was booted with. Without --kernel, this machine's kernel
    /// is assumed for LINE, and every kernel with --cpus or --config
    #[arg(long, value_name = "LINE", num_args = 0..=1, conflicts_with_all = ["word", "list"])]
    cmdline: Option<Option<String>>,
    /// Judge it for this kernel (6.12, 5.10.0-35-rt-amd64) and take nothing from this machine
    #[arg(long, value_name = "RELEASE", requires = "cmdline")]
    kernel: Option<String>,
    /// The CPUs that the machine can have, as a list (0-63)
    #[arg(long, value_name = "POSSIBLE", requires = "cmdline")]
    cpus: Option<String>,
    /// The kernel's configuration (/boot/config-RELEASE)
    #[arg(long, value_name = "FILE", requires = "cmdline")]
    config: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    if let Some(line) = &args.cmdline {
        return judge(args, session, line.as_deref(), screen);
    }
    match &args.word {
        Some(word) => meaning(word, &*args.reading.open(session)?, screen),
        None => contents(screen),
    }
}

#[derive(Serialize)]
struct ExplainJson<'a> {
    schema: &'static str,
    word: &'a str,
    entries: &'a [Explanation],
}

fn meaning(word: &str, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let entries = explain(word, &RunningMachine::new(session)).map_err(|near| {
        let next = if near.0.is_empty() {
            "`quietcore explain --list` shows every word".to_owned()
        } else {
            format!("did you mean {}? `quietcore explain --list` shows every word", near.0.join(", "))
        };
        Failure::usage(
            format!("`{}` cannot be explained", report::safe(word)),
            "it is no knob, file, kernel thread, counter, interrupt, boot parameter, error, call or finding that quietcore knows",
            next,
        )
    })?;
    screen.text(&explain_text(&entries, screen.style()));
    screen.json(&ExplainJson {
        schema: EXPLAIN_SCHEMA,
        word,
        entries: &entries,
    });
    Ok(Status::Done)
}

/// The running machine, read when an explanation needs it.
struct RunningMachine<'a> {
    session: &'a Session,
    machine: OnceCell<Machine>,
}

impl<'a> RunningMachine<'a> {
    fn new(session: &'a Session) -> RunningMachine<'a> {
        RunningMachine {
            session,
            machine: OnceCell::new(),
        }
    }

    fn machine(&self) -> &Machine {
        self.machine
            .get_or_init(|| self.session.machine().with_tasks(self.session.root()))
    }
}

impl Surroundings for RunningMachine<'_> {
    fn interrupt(&self, irq: u32) -> Option<Interrupt> {
        interrupts::read_one_of(self.session.root(), irq, self.machine().kernel.version)
    }

    fn cpus(&self) -> Option<(CpuSet, CpuSet)> {
        let topology = &self.machine().topology;
        let possible = topology.possible.clone().filter(|cpus| !cpus.is_empty())?;
        Some((possible, topology.online.clone()))
    }

    fn has_thread(&self, comm: &str) -> Option<bool> {
        let tasks = self.machine().tasks.as_ref()?;
        Some(tasks.iter().any(|task| task.is_kernel() && task.comm == comm))
    }

    fn lacks_managed_irq(&self) -> bool {
        self.machine().kernel.lacks_managed_irq()
    }
}

#[derive(Serialize)]
struct Contents {
    schema: &'static str,
    words: Vec<String>,
}

fn contents(screen: &mut Screen) -> Result<Status, Failure> {
    screen.text(&contents_text(screen.style()));
    screen.json(&Contents {
        schema: EXPLAIN_SCHEMA,
        words: words(),
    });
    Ok(Status::Done)
}

fn judge(args: &Args, session: &Session, line: Option<&str>, screen: &mut Screen) -> Result<Status, Failure> {
    // With --kernel alone, nothing is read from this machine.
    let opened = match (&args.kernel, &args.reading.root) {
        (Some(_), None) => None,
        _ => Some(args.reading.open(session)?),
    };
    let machine = opened.as_ref().map(|opened| opened.machine());
    let own = machine.as_ref().and_then(|machine| machine.kernel.cmdline.as_ref());
    let line = match (line, own) {
        (Some(line), _) => line.to_owned(),
        (None, Some(own)) => own.text.clone(),
        (None, None) => {
            return Err(Failure::usage(
                "there is no boot line to judge",
                "with --kernel nothing is taken from this machine, and a captured machine may lack /proc/cmdline",
                "write it out: --cmdline 'isolcpus=2-3 nohz_full=2-3'",
            ));
        }
    };
    refuse_long(&line)?;
    // Kernel messages apply only to the kernel's own line.
    let same = own.is_some_and(|own| own.parameters == parse_cmdline(&line).parameters);
    let kernel = KernelSource::of(args, same);
    let mut facts = facts(args, machine.as_ref().filter(|_| kernel != KernelSource::Any))?;
    if let (Some(opened), Some(machine), None) = (&opened, &machine, &args.kernel)
        && kernel != KernelSource::Any
    {
        let root = opened.root();
        facts.sched_ext = sched_ext(root);
        facts.outcome = same.then(|| ObservedBoot {
            messages: root.kernel_log().unwrap_or_default(),
            isolated: machine.isolation.boot_isolated.clone(),
            nohz_full: machine.isolation.nohz_full.clone(),
        });
    }
    let line = assigned(&line).map_or_else(|| line.clone(), str::to_owned);
    let verdict = kernel.verdict(&line, &facts);
    let report = LintReport::new(&line, facts.release.as_deref(), &verdict);
    let report = match kernel {
        KernelSource::Assumed => report.assumed(),
        KernelSource::Known | KernelSource::Any => report,
    };
    screen.json(&report);
    screen.text(&lint_text(&report, screen.style()));
    Ok(match report.has_error() {
        true => Status::Failed,
        false => Status::Done,
    })
}

/// How the kernel of a checked line is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelSource {
    /// The kernel was named, by its release or by its machine; or the line is the one that this machine was booted with.
    Known,
    /// The line may be for this machine: its kernel is assumed, and what only this kernel refuses is a warning.
    Assumed,
    /// CPUs or a configuration of another machine were named, but no kernel: only errors on every kernel are errors.
    Any,
}

impl KernelSource {
    fn of(args: &Args, is_own_line: bool) -> KernelSource {
        let is_given = matches!(args.cmdline, Some(Some(_)));
        if !is_given || args.kernel.is_some() || args.reading.root.is_some() {
            KernelSource::Known
        } else if args.cpus.is_some() || args.config.is_some() {
            KernelSource::Any
        } else if is_own_line {
            KernelSource::Known
        } else {
            KernelSource::Assumed
        }
    }

    fn verdict(self, line: &str, facts: &KernelFacts) -> LintResult {
        match self {
            KernelSource::Assumed => lint_assuming(line, facts),
            KernelSource::Known | KernelSource::Any => lint(line, facts),
        }
    }
}

/// Refuses a line that is longer than any kernel accepts.
fn refuse_long(line: &str) -> Result<(), Failure> {
    if line.len() <= MOST_LINE {
        return Ok(());
    }
    Err(Failure::usage(
        format!("this boot line has {} bytes", line.len()),
        format!("no kernel takes more than {MOST_LINE}"),
        "give it as it is in /proc/cmdline",
    ))
}

fn facts(args: &Args, machine: Option<&Machine>) -> Result<KernelFacts, Failure> {
    let mut facts = machine.map(KernelFacts::of_machine).unwrap_or_default();
    if let Some(release) = &args.kernel {
        let named = KernelFacts::of_release(release).ok_or_else(|| {
            Failure::usage(
                format!("`{}` is no kernel release", report::safe(release)),
                "it does not begin with two numbers",
                "write it as uname -r does: 6.12, or 5.10.0-35-rt-amd64",
            )
        })?;
        // The CPUs come from the captured machine; kernel and configuration are the named ones.
        facts = KernelFacts {
            release: named.release,
            version: named.version,
            realtime: named.realtime,
            config: None,
            managed_interrupts: None,
            clocksource: None,
            ..facts
        };
    }
    if let Some(list) = &args.cpus {
        let possible = CpuSet::parse_list(list).map_err(|error| {
            Failure::usage(
                "the CPUs cannot be used",
                error.to_string(),
                "write a list such as 0-63",
            )
        })?;
        if possible.is_empty() {
            return Err(Failure::usage(
                "the CPUs cannot be used",
                "the list is empty",
                "write a list such as 0-63",
            ));
        }
        facts.boot_cpu = facts
            .boot_cpu
            .filter(|cpu| possible.contains(*cpu))
            .or(possible.first());
        facts.cores.retain(|core| core.is_subset(&possible));
        facts.possible = Some(possible);
    }
    if let Some(path) = &args.config {
        facts = facts.with_config(configuration(path)?);
    }
    Ok(facts)
}

fn configuration(path: &Path) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let text = root::input::text(path).map_err(|error| {
        Failure::usage(
            "the configuration cannot be read",
            error.to_string(),
            "name a file such as /boot/config-RELEASE, or a copy of /proc/config.gz",
        )
    })?;
    let options = machine::kernel::parse_config(&text);
    if options.is_empty() {
        return Err(Failure::usage(
            format!("`{}` is no kernel configuration", path.display()),
            "it has no line such as CONFIG_SMP=y",
            "name a file such as /boot/config-RELEASE, or a copy of /proc/config.gz",
        ));
    }
    Ok(options)
}

/// Whether a sched_ext scheduler runs; `None` where the kernel has none.
fn sched_ext(root: &Root) -> Option<bool> {
    let state = root.value("/sys/kernel/sched_ext/state").ok()??;
    Some(state == "enabled" || state == "enabling")
}
