//! Plans changes to the files of a knob, from the actual to the intended value.

use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Change, Plan, PlanContext, ReadbackComparison, RefusalPolicy, UndoMethod};
use machine::CpuSet;

impl Knob {
    /// The defaults of a knob. A declaration sets the rest.
    pub(super) const PLAIN: Knob = Knob {
        name: "",
        aliases: &[],
        files: &[],
        reads: &[],
        related: &[],
        compare: ReadbackComparison::Text,
        what: "",
        why: "",
        isolation: "",
        since: "",
        needs: "",
        usage: KnobUse::ByName,
        takes: KnobValueKind::Nothing,
        usual: "",
        needed: "",
        price: ParameterCost::None,
        stops: &[],
        side_effects: "",
        verify: "the file",
        peers: &[],
        refused: &[],
        enough: |_| false,
        plan: plan_files,
    };
}

/// One file of a knob.
pub(super) struct KnobFile<'a> {
    /// The knob that it belongs to.
    knob: &'a Knob,
    /// Which of several files of the knob: a disk, a CPU; empty for the only one.
    pub part: String,
    /// The file.
    pub path: String,
}

/// Plans each file of a knob. A set of CPUs loses the isolated ones; any other file gets the value of the intent.
pub(super) fn plan_files(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let presences = files(knob, scene).into_iter().map(|file| match knob.compare {
        ReadbackComparison::List | ReadbackComparison::Mask => file.narrow(scene, plan),
        _ => file.set(scene, plan, scene.value_of(knob)),
    });
    presences.max().unwrap_or_default()
}

/// The files of a knob: the only one, one for each isolated CPU (`cpuN`), or one for each device that has it.
pub(super) fn files<'a>(knob: &'a Knob, scene: &PlanContext) -> Vec<KnobFile<'a>> {
    let declared = knob.file();
    if let Some((before, after)) = declared.split_once("cpuN") {
        let cpus = scene.isolated().iter().map(|cpu| format!("cpu{}", cpu.0));
        let file = |cpu: String| KnobFile::new(knob, &cpu, format!("{before}{cpu}{after}"));
        return cpus.map(file).collect();
    }
    let is_word = |letter: char| letter.is_ascii_uppercase();
    match (declared.split_once(is_word), declared.rsplit_once(is_word)) {
        (Some((begin, _)), Some((_, end))) => {
            // `eth0/queues/rx-0` as `eth0/rx-0`.
            let part = |between: &str| between.replace("/queues/", "/");
            let all = scene.settings.family(begin, end);
            all.map(|(between, path, _)| KnobFile::new(knob, part(between), path))
                .collect()
        }
        _ => vec![KnobFile::new(knob, "", declared)],
    }
}

/// Plans the only file of a knob, a set of CPUs that is part of the machine model.
pub(super) fn narrow_known(knob: &Knob, now: Option<&CpuSet>, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let change = KnobFile::new(knob, "", knob.file()).without_isolated(scene, now);
    plan.changes.extend(change);
    now.map_or(Presence::Absent, |_| Presence::Here)
}

impl<'a> KnobFile<'a> {
    pub fn new(knob: &'a Knob, part: impl Into<String>, path: impl Into<String>) -> KnobFile<'a> {
        KnobFile {
            knob,
            part: part.into(),
            path: path.into(),
        }
    }

    /// Adds the change unless the file already holds the value, or one that isolates as well and was not replaced by an
    /// explicit request.
    pub fn set(&self, scene: &PlanContext, plan: &mut Plan, value: &str) -> Presence {
        let Some(now) = scene.settings.get(&self.path) else {
            return Presence::Absent;
        };
        let is_enough = !scene.is_requested(self.knob) && (self.knob.enough)(now);
        if !is_enough && !self.knob.compare.same(now, value) {
            plan.changes.push(self.change(now, value));
        }
        Presence::Here
    }

    /// Adds the change that removes the isolated CPUs from the set in the file.
    pub fn narrow(&self, scene: &PlanContext, plan: &mut Plan) -> Presence {
        let Some(text) = scene.settings.get(&self.path) else {
            return Presence::Absent;
        };
        let now = self.knob.compare.cpus(text);
        plan.changes.extend(self.without_isolated(scene, now.as_ref()));
        Presence::Here
    }

    /// The change that removes the isolated CPUs from a set; `None` if the set does not contain them or is unknown. A set
    /// that would become empty gets the housekeeping CPUs.
    fn without_isolated(&self, scene: &PlanContext, now: Option<&CpuSet>) -> Option<Change> {
        let now = now.filter(|now| now.intersects(scene.isolated()))?;
        let rest = now.minus(scene.isolated());
        let rest = if rest.is_empty() { &scene.housekeeping } else { &rest };
        let possible = scene.machine.topology.possible.as_ref();
        let width = possible.and_then(CpuSet::last).map_or(1, |cpu| cpu.0 + 1);
        let text = |set: &CpuSet| match self.knob.compare {
            ReadbackComparison::Mask => set.to_mask(width),
            _ => set.to_string(),
        };
        Some(self.change(&text(now), &text(rest)))
    }

    /// The change that writes a value.
    pub fn change(&self, now: &str, value: &str) -> Change {
        let policy = (RefusalPolicy::Report, UndoMethod::Restore);
        Change {
            id: match self.part.as_str() {
                "" => self.knob.name.to_owned(),
                part => format!("{}/{part}", self.knob.name),
            },
            why: self.knob.why.to_owned(),
            ..Change::write(&self.path, Some(now.to_owned()), value, self.knob.compare, policy)
        }
    }
}
