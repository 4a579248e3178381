//! The options of `plan`, `apply` and `prove` that define a partition: CPUs, name, profile.

use crate::flags::value_words;
use clap::Args;
use machine::{CoreKind, CpuSet, Machine};
use plan::declared::{ActivationMode, BootPart, CpuSpec, Declaration};
use plan::{Intent, PartitionName, PlacementShape, Plan, Profile};
use root::Failure;
use session::Session;
use session::declared::{self, DeclaredFile};
use session::isolation::settle;
use std::path::Path;

/// The wanted partition.
#[derive(Args, Clone, Debug)]
pub struct IntentArgs {
    /// CPUs to give away: a list (2-3), a mask (0xc), or topology words (package:1, core-of:3, llc-of:7)
    #[arg(long, value_name = "LIST", conflicts_with_all = ["count", "near", "spread", "pack", "kind", "keep"])]
    pub cpus: Option<String>,
    /// Choose so many CPUs, as whole cores; without this and --cpus, one core
    #[arg(long, value_name = "N")]
    pub count: Option<usize>,
    /// Choose near a device: eth0, nvme0n1, 0000:3b:00.0, a path below /dev or /sys, or a place such as node:1
    #[arg(long, value_name = "DEVICE")]
    pub near: Option<String>,
    /// Choose CPUs that share as little as possible: evenly over nodes and caches
    #[arg(long, conflicts_with = "pack")]
    pub spread: bool,
    /// Choose CPUs close together: few nodes, few caches (the default)
    #[arg(long)]
    pub pack: bool,
    /// Choose this kind of core, on machines with two
    #[arg(long, value_name = "KIND")]
    pub kind: Option<KindWord>,
    /// Never choose these CPUs
    #[arg(long, value_name = "LIST")]
    pub keep: Option<String>,
    /// Name of the partition [default: rt]
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// How far to go [default: balanced]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileWord>,
    /// Take this knob too, with a value where it has a choice (stat_interval=60). May be repeated
    #[arg(long, value_name = "KNOB[=VALUE]")]
    pub with: Vec<String>,
    /// Leave this knob of the profile out. May be repeated
    #[arg(long, value_name = "KNOB")]
    pub without: Vec<String>,
    /// Bring an interrupt onto the isolated CPUs: its number, or its name with * for anything. May be repeated
    #[arg(long, value_name = "PATTERN")]
    pub irq_here: Vec<String>,
    /// cgroup v2: let single threads of a process in (`move --tid`), not only whole processes
    #[arg(long)]
    pub threaded: bool,
    /// Let this user, or this group (:GROUP), put tasks into the partition
    #[arg(long, value_name = "USER[:GROUP]")]
    pub owner: Option<String>,
}

value_words! {
    /// Profiles by name.
    pub enum ProfileWord for Profile {
        /// Partition, tasks, interrupts
        Minimal,
        /// All that has a use and no price worth naming
        Balanced,
        /// All that costs power or comfort too
        Strict,
    }
}

value_words! {
    /// Kinds of core by name.
    pub enum KindWord for CoreKind {
        /// The large, fast kind
        Performance,
        /// The small kind
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
        let words = [&self.cpus, &self.near, &self.keep, &self.owner];
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
                    "--config was given together with a partition in words",
                    "leave one of them out, or add the partition to the file with --save",
                )),
            };
        }
        let Some(file) = declared::read(session, named)? else {
            return Ok(None);
        };
        let Some(name) = &self.partition else {
            return Ok(Some(file));
        };
        match (file.only(name), named) {
            (None, Some(path)) => Err(Failure::usage(
                format!("{}: declares no partition {}", path.display(), report::safe(name)),
                "no table [[partition]] there has this name",
                "leave --partition out for all that it declares",
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
