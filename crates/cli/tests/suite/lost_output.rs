//! Standard output that cannot be written: the command reports that the result is lost.

use std::process::{Command, Stdio};

fn shell(line: &str) -> (Option<i32>, String) {
    let script = line.replace("QUIETCORE", env!("CARGO_BIN_EXE_quietcore"));
    let output = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), message)
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    for words in [
        "explain --list",
        "cpus 0-1",
        "cpus 0-1 --json",
        "watch --metrics --for 100ms",
        "bitcalc 3",
    ] {
        for to in [">/dev/full", ">&-"] {
            let (code, message) = shell(&format!("QUIETCORE {words} {to}"));
            assert!(code.is_some_and(|code| code != 0), "{words} {to}: {message}");
            assert!(message.contains("standard output"), "{words} {to}: {message}");
            assert!(message.contains("next: "), "{words} {to}: {message}");
        }
        assert_eq!(
            shell(&format!("QUIETCORE {words} >/dev/null")),
            (Some(0), String::new()),
            "{words}"
        );
    }
    let (code, _) = shell("QUIETCORE nonsense >/dev/full");
    assert_eq!(code, Some(2), "a status of its own stays");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (code, message) = shell("{ QUIETCORE explain --list; echo $? >&2; } | head -1 >/dev/null");
    assert_eq!((code, message.as_str()), (Some(0), "0\n"));
}
