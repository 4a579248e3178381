//! The options of `plan`, `apply` and `prove` that define a partition: CPUs, name, profile.

use crate::flags::value_words;
use clap::Args;
use machine::{CoreKind, CpuSet, Machine};
use plan::declared::{ActivationMode, BootPart, CpuSpec, Declaration};
use plan::words::did_you_mean;
use plan::{Intent, PartitionName, PlacementShape, Plan, Profile};
use root::Failure;
use session::Session;
use session::declared::{self, DeclaredFile};
use session::isolation::settle;
use std::path::Path;

/// Headings of these options in the help.
const CPU_CHOICE: &str = "Which CPUs";
const PARTITION: &str = "Partition";

/// The intended partition.
#[derive(Args, Clone, Debug)]
pub struct IntentArgs {
    /// Isolate these CPUs: 2-3, 0xc, core-of:3
    ///
    /// `quietcore cpus --help` lists all forms.
    #[arg(long, value_name = "CPUS", help_heading = CPU_CHOICE, conflicts_with_all = ["count", "near", "spread", "pack", "kind", "keep"])]
    pub cpus: Option<String>,
    /// Choose this many CPUs, as whole cores [default: one core]
    #[arg(long, value_name = "N", help_heading = CPU_CHOICE)]
    pub count: Option<usize>,
    /// Choose CPUs near a device or node: eth0, 0000:3b:00.0, node:1
    #[arg(long, value_name = "DEVICE", help_heading = CPU_CHOICE)]
    pub near: Option<String>,
    /// Choose CPUs that share few nodes and caches
    #[arg(long, help_heading = CPU_CHOICE, conflicts_with = "pack")]
    pub spread: bool,
    /// Choose CPUs on few nodes and caches (the default)
    #[arg(long, help_heading = CPU_CHOICE)]
    pub pack: bool,
    /// Choose this kind of core
    #[arg(long, value_name = "KIND", help_heading = CPU_CHOICE)]
    pub kind: Option<KindWord>,
    /// Never choose these CPUs
    #[arg(long, value_name = "CPUS", help_heading = CPU_CHOICE)]
    pub keep: Option<String>,
    /// Name of the partition [default: rt]
    #[arg(long, value_name = "NAME", help_heading = PARTITION)]
    pub partition: Option<String>,
    /// How much to change [default: balanced]
    #[arg(long, value_name = "PROFILE", help_heading = PARTITION)]
    pub profile: Option<ProfileWord>,
    /// Also use a knob: stat_interval=60 (repeatable)
    #[arg(long, value_name = "KNOB[=VALUE]", help_heading = PARTITION)]
    pub with: Vec<String>,
    /// Leave out this knob of the profile (repeatable)
    #[arg(long, value_name = "KNOB", help_heading = PARTITION)]
    pub without: Vec<String>,
    /// Route these interrupts to the isolated CPUs (repeatable)
    ///
    /// A number, or a name with * for anything.
    #[arg(long, value_name = "PATTERN", help_heading = PARTITION)]
    pub irq_here: Vec<String>,
    /// cgroup v2: also admit single threads of a process
    ///
    /// `move --tid` moves them.
    #[arg(long, help_heading = PARTITION)]
    pub threaded: bool,
    /// Let this user or :GROUP move tasks into it
    #[arg(long, value_name = "USER[:GROUP]", help_heading = PARTITION)]
    pub owner: Option<String>,
    /// Isolate this program's cgroup: pid:N, unit:NAME
    ///
    /// Also cgroup:PATH, container:ID or domain:NAME. The cgroup with everything in it becomes the partition, and its limits keep
    /// holding (cgroup v2, Linux 6.11 and later). Older kernels get a partition beside it, and a warning.
    #[arg(long, value_name = "PROGRAM", help_heading = PARTITION, conflicts_with_all = ["threaded", "owner"])]
    pub in_place: Option<String>,
}

value_words! {
    /// Profiles by name.
    pub enum ProfileWord for Profile {
        /// Partition, tasks, interrupts
        Minimal,
        /// Everything useful that costs little
        Balanced,
        /// Also what costs power or convenience
        Strict,
    }
}

value_words! {
    /// Kinds of core by name.
    pub enum KindWord for CoreKind {
        /// The fast kind
        Performance,
        /// The kind that needs less power
        Efficiency,
    }
}

impl IntentArgs {
    /// Whether no option was given, not even a name.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.is_only_a_name() && self.partition.is_none()
    }

    /// Whether only a name was given.
    #[must_use]
    pub fn is_only_a_name(&self) -> bool {
        let lists = [&self.with, &self.without, &self.irq_here];
        let words = [&self.cpus, &self.near, &self.keep, &self.owner, &self.in_place];
        lists.iter().all(|list| list.is_empty())
            && words.iter().all(|word| word.is_none())
            && self.count.is_none()
            && self.kind.is_none()
            && self.profile.is_none()
            && !self.spread
            && !self.threaded
            && !self.pack
    }

    /// The declared partitions, where the arguments request them: no arguments, or only a name.
    ///
    /// # Errors
    /// The file cannot be used, or was named together with CPUs.
    pub fn declared(&self, session: &Session, named: Option<&Path>) -> Result<Option<DeclaredFile>, Failure> {
        if !self.is_only_a_name() {
            return match named {
                None => Ok(None),
                Some(_) => Err(Failure::usage(
                    "the file has the intended isolation",
                    "--config and options that describe a partition were given together",
                    "leave out one of them, or add the partition to the file with --save",
                )),
            };
        }
        let Some(file) = declared::read(session, named)? else {
            return Ok(None);
        };
        let Some(name) = &self.partition else {
            return Ok(Some(file));
        };
        let names = file.declarations.iter().map(|one| one.name().as_str());
        let meant = did_you_mean(name, names);
        match (file.only(name), named) {
            (None, Some(path)) => Err(Failure::usage(
                format!("{}: declares no partition {}", path.display(), report::safe(name)),
                "no table [[partition]] there has this name",
                meant.unwrap_or_else(|| "leave out --partition to use all partitions that it declares".to_owned()),
            )),
            (only, _) => Ok(only),
        }
    }

    /// Converts the options into a declaration.
    ///
    /// # Errors
    /// Invalid names, knobs or values.
    pub fn declaration(&self) -> Result<Declaration, Failure> {
        let name = match &self.partition {
            Some(name) => PartitionName::new(name)?,
            None => PartitionName::default(),
        };
        let profile = self.profile.map_or(Profile::Balanced, Into::into);
        let mut template = Intent::new(name, CpuSet::new(), profile);
        self.with.iter().try_for_each(|knob| template.take(knob))?;
        if self.threaded {
            template.take("threaded")?;
        }
        self.without.iter().try_for_each(|knob| template.leave_out(knob))?;
        template.irq_here.extend(self.irq_here.iter().cloned());
        if template.without.contains("irq_affinity") && !template.irq_here.is_empty() {
            let twice = plan::KnobRefusal::Twice { knob: "irq_affinity" };
            return Err(plan::PlanRefusal::from(twice).into());
        }
        let cpus = match &self.cpus {
            Some(expression) => CpuSpec::Named(expression.clone()),
            None => CpuSpec::Chosen {
                count: self.count,
                near: self.near.clone(),
                shape: if self.spread {
                    PlacementShape::Spread
                } else {
                    PlacementShape::Pack
                },
                kind: self.kind.map(Into::into),
                keep: self.keep.clone(),
            },
        };
        Ok(Declaration {
            template,
            cpus,
            owner: self.owner.clone(),
            in_place: self.in_place.clone(),
            restored_at_boot: ActivationMode::AtBoot,
            boot: BootPart::Unspecified,
            line: 0,
        })
    }

    /// Returns the intent on a machine and its plan. Without `--cpus` the CPUs are chosen, and the plan gives the reason.
    ///
    /// # Errors
    /// Expressions, names, devices or machines that cannot be used.
    pub fn plan(&self, session: &Session, machine: &Machine) -> Result<(Intent, Plan), Failure> {
        settle(
            &self.declaration()?,
            machine,
            session.root(),
            &session.in_force(),
            &CpuSet::new(),
        )
    }
}
