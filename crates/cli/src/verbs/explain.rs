//! `explain`: explains a word, or checks a boot line.

use crate::reading::ReadingArgs;
use machine::cmdline::MOST_LINE;
use machine::{CpuSet, Interrupt, Machine, interrupts, parse_cmdline};
use plan::lint::{KernelFacts, LintResult, ObservedBoot, assigned, lint, lint_assuming};
use report::explain::{
    EXPLAIN_SCHEMA, Explanation, LintReport, Surroundings, contents_text, explain, explain_text, lint_text,
    lint_verdict, words,
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
    /// The word to explain, such as irq_affinity, rcuc/2, LOC, irq/47, nohz_full or mce-off
    ///
    /// A knob (irq_affinity), file (rq_affinity), kernel thread (rcuc/2), counter (LOC, NET_RX), interrupt (irq/47), boot
    /// parameter (nohz_full), error (EINVAL), call (taskset), finding (mce-off) or term of quietcore (housekeeping).
    #[arg(value_name = "WORD")]
    word: Vec<String>,
    /// List every word that can be explained, as without a word
    #[arg(long, conflicts_with = "word")]
    list: bool,
    /// Check a boot line [LINE: that of this machine]
    ///
    /// LINE is checked for the kernel of this machine. --kernel names another one; with only --cpus or --kernel-config, it is
    /// checked for every kernel.
    #[arg(long, value_name = "LINE", num_args = 0..=1, conflicts_with_all = ["word", "list"])]
    cmdline: Option<Option<String>>,
    /// With --cmdline: check for this kernel (6.12, 5.10.0-35-rt-amd64), not for this machine
    #[arg(long, value_name = "RELEASE", requires = "cmdline")]
    kernel: Option<String>,
    /// With --cmdline: the possible CPUs of the machine, as a list (0-63)
    #[arg(long, value_name = "CPUS", requires = "cmdline")]
    cpus: Option<String>,
    /// With --cmdline: the configuration of the kernel (/boot/config-RELEASE)
    #[arg(long, alias = "config", value_name = "FILE", requires = "cmdline")]
    kernel_config: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    if let Some(line) = &args.cmdline {
        return judge(args, session, line.as_deref(), screen);
    }
    match args.word.as_slice() {
        [] => contents(screen),
        words => meaning(&words.join(" "), &*args.reading.open(session)?, screen),
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ExplainJson<'a> {
    schema: &'static str,
    /// The word that was looked up.
    word: &'a str,
    /// Its meanings.
    entries: &'a [Explanation],
}

fn meaning(word: &str, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let entries = explain(word, &RunningMachine::new(session)).map_err(|unknown| {
        let first = word.split(' ').next().unwrap_or_default();
        let command = super::GROUPS.iter().flat_map(|(_, names)| *names).find(|name| **name == first);
        let meant = match (command, unknown.0) {
            (Some(name), _) => format!("`quietcore {name} --help` describes the command; "),
            (None, Some(meant)) => format!("{meant} "),
            (None, None) => String::new(),
        };
        Failure::usage(
            format!("`{}` cannot be explained", report::safe(word)),
            "quietcore knows no term, knob, file, kernel thread, counter, interrupt, boot parameter, error, call or finding \
             with this name",
            format!("{meant}`quietcore explain --list` shows every word"),
        )
    })?;
    screen.document(&explain_text(&entries, screen.style()));
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Contents {
    schema: &'static str,
    /// Every word that can be explained.
    words: Vec<String>,
}

fn contents(screen: &mut Screen) -> Result<Status, Failure> {
    screen.document(&contents_text(screen.style()));
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
                "there is no boot line to check",
                "with --kernel nothing is read from this machine, and a captured machine may lack /proc/cmdline",
                "specify it: --cmdline 'isolcpus=2-3 nohz_full=2-3'",
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
    screen.report(&lint_verdict(&report), &lint_text(&report, screen.style()));
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
        } else if args.cpus.is_some() || args.kernel_config.is_some() {
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
        format!("no kernel accepts more than {MOST_LINE}"),
        "pass it as it is in /proc/cmdline",
    ))
}

fn facts(args: &Args, machine: Option<&Machine>) -> Result<KernelFacts, Failure> {
    let mut facts = machine.map(KernelFacts::of_machine).unwrap_or_default();
    if let Some(release) = &args.kernel {
        let named = KernelFacts::of_release(release).ok_or_else(|| {
            Failure::usage(
                format!("`{}` is not a kernel release", report::safe(release)),
                "it does not start with two numbers",
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
            Failure::usage("the CPUs are not valid", error.to_string(), "write a list such as 0-63")
        })?;
        if possible.is_empty() {
            return Err(Failure::usage(
                "the CPUs are not valid",
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
    if let Some(path) = &args.kernel_config {
        facts = facts.with_config(configuration(path)?);
    }
    Ok(facts)
}

fn configuration(path: &Path) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let text = root::input::text(path).map_err(|error| {
        Failure::usage(
            "the configuration cannot be read",
            error.to_string(),
            "specify a file such as /boot/config-RELEASE, or a copy of /proc/config.gz",
        )
    })?;
    let options = machine::kernel::parse_config(&text);
    if options.is_empty() {
        return Err(Failure::usage(
            format!("`{}` is not a kernel configuration", path.display()),
            "it has no line such as CONFIG_SMP=y",
            "specify a file such as /boot/config-RELEASE, or a copy of /proc/config.gz",
        ));
    }
    Ok(options)
}

/// Whether a sched_ext scheduler runs; `None` where the kernel has none.
fn sched_ext(root: &Root) -> Option<bool> {
    let state = root.value("/sys/kernel/sched_ext/state").ok()??;
    Some(state == "enabled" || state == "enabling")
}
