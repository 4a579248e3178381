//! `prove` without a partition: unwritable output files are reported before anything is changed. The lab tests complete
//! proofs on real kernels.

use std::process::Command;

#[test]
fn unwritable_output_files_are_refused_before_anything_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    for (out, why) in [
        ("page.html", ".html is the ending of its page"),
        ("no/such/folder.json", "No such file or directory"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(["prove", "--cpus", "1", "--for", "60s", "--out"])
            .arg(dir.path().join(out))
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            message.contains(why) && message.contains(" next: ") && output.stdout.is_empty(),
            "{out}: {message}"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{out}");
    }
}
