//! A captured machine as files that a test may change.

use std::path::{Path, PathBuf};

/// The unpacked files, deleted on drop.
pub struct CaptureFixture {
    _dir: tempfile::TempDir,
    /// The directory of the files.
    pub root: PathBuf,
}

impl CaptureFixture {
    /// Unpacks one of `fixtures/machines`, named without its extension.
    pub fn of(machine: &str) -> CaptureFixture {
        let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
        let archive = std::fs::File::open(machines.join(format!("{machine}.tar.gz"))).unwrap();
        let dir = tempfile::tempdir().unwrap();
        tar::Archive::new(flate2::read::GzDecoder::new(archive))
            .unpack(dir.path())
            .unwrap();
        let mut entries = std::fs::read_dir(dir.path()).unwrap();
        let root = entries.next().unwrap().unwrap().path();
        CaptureFixture { _dir: dir, root }
    }

    /// Replaces the content of a file, or creates it.
    pub fn write_file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Captured files are read-only.
        let _ = std::fs::remove_file(&path);
        std::fs::write(path, text).unwrap();
    }
}
