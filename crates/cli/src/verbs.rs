//! Lists the verbs: one file and one line each.

use clap::Subcommand;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

macro_rules! verbs {
    ($($(#[$meta:meta])* $module:ident => $Verb:ident),+ $(,)?) => {
        $(pub(crate) mod $module;)+

        /// What to do.
        #[derive(Subcommand)]
        pub enum Verb {
            $($(#[$meta])* $Verb($module::Args),)+
        }

        /// Runs a verb.
        ///
        /// # Errors
        /// What the verb says.
        pub fn run(verb: &Verb, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
            match verb {
                $(Verb::$Verb(args) => $module::run(args, session, screen),)+
            }
        }
    };
}

verbs! {
    /// Show what the machine is built of, and what isolates what now
    inspect => Inspect,
    /// Evaluate a CPU expression: list, mask, count
    cpus => Cpus,
    /// Explain a knob, a kernel thread, a counter, an interrupt, a boot parameter; or judge a boot line
    explain => Explain,
    /// Capture what all reading verbs need into one archive
    snapshot => Snapshot,
    /// Say what changed between two snapshots, or one and now, and what it matters to isolated CPUs
    diff => Diff,
    /// List every change that an isolation needs, with reason and undo; does nothing
    plan => Plan,
    /// Measure wake-up latency, or noise
    measure => Measure,
    /// Compare the intended with the actual isolation: every layer, with evidence and fix; exit status for scripts
    check => Check,
    /// Watch it live, full screen: who interrupts which CPU, and what check finds; records and plays recordings
    watch => Watch,
    /// Say who interrupts these CPUs, who caused it, and what would stop it
    blame => Blame,
    /// Read traces of the kernel: its events, the longest uninterrupted run, the longest waits
    trace => Trace,
    /// Read a result of any measuring tool: in words, as JSON, or in another tool's format
    report => Report,
    /// Put results of any measuring tools side by side, and check what they show
    compare => Compare,
    /// Measure, isolate, measure again, undo, report: the whole story in one command
    prove => Prove,
    /// Run the same measurement over isolations, loads and knobs, in random order, and say what makes a difference
    study => Study,
    /// Isolate CPUs now; every write is journalled and read back
    apply => Apply,
    /// Show or change the kernel's boot line in the boot loader's own files
    boot => Boot,
    /// Keep what was applied with a time limit
    confirm => Confirm,
    /// Undo exactly what was applied
    undo => Undo,
    /// Show what was done on this boot
    history => History,
    /// Start a program in the partition
    run => Run,
    /// Move tasks into the partition, or back to where they came from
    r#move => Move,
    #[command(hide = true)]
    guard => Guard,
    #[command(hide = true)]
    good_boot => GoodBoot,
}
