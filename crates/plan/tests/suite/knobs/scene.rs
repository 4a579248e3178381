//! A generated machine of four CPUs in two cores, with any further files.

use machine::{CpuSet, Interrupt, Machine};
use plan::{Intent, PartitionName, Plan, PlanRefusal, Profile};
use root::Root;

/// A generated machine. CPU 3 is isolated in all tests. It shares its core with CPU 1.
pub struct KnobMachine {
    dir: tempfile::TempDir,
    pub interrupts: Vec<Interrupt>,
    pub comms: Vec<&'static str>,
}

impl KnobMachine {
    /// Creates the machine with these files, in addition to those that every machine has.
    pub fn new(files: &[(String, &str)]) -> KnobMachine {
        let dir = tempfile::tempdir().unwrap();
        let made = KnobMachine {
            dir,
            interrupts: Vec::new(),
            comms: Vec::new(),
        };
        for name in ["online", "possible", "present"] {
            made.put(&format!("/sys/devices/system/cpu/{name}"), "0-3");
        }
        for cpu in 0..4 {
            let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
            made.put(&format!("{topology}/physical_package_id"), "0");
            made.put(&format!("{topology}/core_id"), &(cpu % 2).to_string());
            made.put(&format!("{topology}/thread_siblings_list"), ["0,2", "1,3"][cpu % 2]);
        }
        for cpu in [1, 3] {
            // As in the kernel, this is a link to the directory of the policy.
            let link = made.dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            std::os::unix::fs::symlink("../cpufreq/policy3", link).unwrap();
        }
        for (path, value) in files {
            made.put(path, value);
        }
        made
    }

    pub fn put(&self, path: &str, value: &str) {
        let place = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, format!("{value}\n")).unwrap();
    }

    pub fn plan(&self, intent: &Intent) -> Result<Plan, PlanRefusal> {
        self.plan_beside(intent, &[])
    }

    pub fn plan_beside(&self, intent: &Intent, active: &[Intent]) -> Result<Plan, PlanRefusal> {
        let root = Root::open(self.dir.path()).unwrap();
        let mut machine = Machine::read(&root);
        machine.interrupts = Some(self.interrupts.clone());
        machine.tasks = Some(self.comms.iter().map(|comm| {
            let stat = format!("7 ({comm}) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
            machine::parse_stat(&stat).unwrap()
        }).collect());
        let concerned = machine.topology.with_siblings(&intent.cpus);
        let settings = machine::settings::for_cpus(&root, &concerned, plan::knobs::planned());
        plan::plan_beside(&machine, &settings, intent, active)
    }
}

pub fn intent(profile: Profile) -> Intent {
    Intent::new(PartitionName::default(), CpuSet::parse_list("3").unwrap(), profile)
}

pub fn plan_of(made: &KnobMachine, profile: Profile, with: &[String]) -> Result<Plan, PlanRefusal> {
    let mut intent = intent(profile);
    with.iter().try_for_each(|knob| intent.take(knob))?;
    made.plan(&intent)
}

pub fn ids(plan: &Plan) -> Vec<&str> {
    plan.findings.iter().map(|finding| finding.id.as_str()).collect()
}
