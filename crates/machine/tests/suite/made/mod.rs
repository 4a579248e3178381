//! Machines that are built file by file, for cases that no captured machine has.

mod hardware;
mod running;

use machine::{CpuSet, Machine};
use root::Root;

struct MachineFixture {
    dir: tempfile::TempDir,
}

impl MachineFixture {
    fn new(files: &[(&str, &str)]) -> MachineFixture {
        let made = MachineFixture {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(made.dir.path().join("proc")).unwrap();
        for (path, content) in files {
            made.file(path, content);
        }
        made
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn mode(&self, path: &str, mode: u32) {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }

    fn root(&self) -> Root {
        Root::open(self.dir.path()).unwrap()
    }

    fn read(&self) -> Machine {
        Machine::read(&self.root())
    }
}

const CPU: &str = "/sys/devices/system/cpu";

fn list(text: &str) -> Option<CpuSet> {
    Some(CpuSet::parse_list(text).unwrap())
}
