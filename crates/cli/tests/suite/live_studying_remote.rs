//! `study run --on`: the study runs on the other side of a real SSH server, here on this machine's loopback.
//! Connections are cut and logins refused. All results are fetched, and nothing is left on the remote side.

use crate::support::alone;
use crate::support::board::SshServer;
use crate::support::program::quietcore;
use crate::support::schemas::document;
use crate::support::studied::{BOTH, JOURNAL, is_able, output_text, state, study_of, until, written};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::MutexGuard;
use tempfile::TempDir;

/// Returns the fetched results by path, with their text.
fn results(out: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for cell in ["none-idle", "balanced-idle"] {
        for file in fs::read_dir(out.join(cell)).into_iter().flatten() {
            let file = file.unwrap().path();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            found.insert(format!("{cell}/{name}"), fs::read_to_string(&file).unwrap());
        }
    }
    found
}

/// Reads the output of a study until a line contains these words.
fn read_until(child: &mut Child, words: &str) -> Vec<String> {
    let mut message = Vec::new();
    let errors = child.stderr.as_mut().unwrap();
    // Reads byte by byte: the rest stays in the pipe for the next reader.
    let mut lines = BufReader::with_capacity(1, errors).lines();
    while let Some(Ok(line)) = lines.next() {
        let is_it = line.contains(words);
        message.push(line);
        if is_it {
            return message;
        }
    }
    panic!("it never said {words:?}: {message:?}")
}

fn send(child: &Child, signal: i32) {
    // SAFETY: `kill` only takes integers.
    assert_eq!(unsafe { libc::kill(i32::try_from(child.id()).unwrap(), signal) }, 0);
}

/// A study that can run on a board, and the state of this machine before it.
struct PreparedStudy {
    board: SshServer,
    before: BTreeMap<String, String>,
    file: String,
    dir: TempDir,
    // The last field, so that the next test starts after everything else is dropped.
    _alone: MutexGuard<'static, ()>,
}

/// Prepares a board and a study whose runs last this long. Prints a skip message if that is not possible.
fn ready(test: &str, lasts: &str) -> Option<PreparedStudy> {
    let _alone = alone::alone();
    let dir = tempfile::tempdir().unwrap();
    if !is_able(test) {
        return None;
    }
    let board = SshServer::start(test, dir.path(), "")?;
    let text = study_of(&alone::cpu(), BOTH).replace("\"1s\"", &format!("\"{lasts}\""));
    Some(PreparedStudy {
        board,
        before: state(),
        file: written(dir.path(), &text),
        dir,
        _alone,
    })
}

#[test]
fn a_study_runs_remotely_and_its_results_are_copied_here() {
    let Some(ready) = ready("a_study_runs_remotely_and_its_results_are_copied_here", "1s") else {
        return;
    };
    let PreparedStudy {
        board,
        before,
        file,
        dir,
        ..
    } = &ready;
    let out = dir.path().join("out");
    let output = board.study(file, &out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(&state(), before);
    assert_eq!(
        board.left(),
        Vec::<std::path::PathBuf>::new(),
        "{}",
        output_text(&output)
    );
    let answer: Value = document(&output.stdout).unwrap();
    assert_eq!(
        (&answer["schema"], &answer["done"]),
        (&Value::from("quietcore.study/1"), &Value::from(4))
    );
    let first = results(&out);
    assert_eq!(first.len(), 4, "{}", output_text(&output));
    for (name, text) in &first {
        let result: Value = document(text).unwrap();
        let partitioned = result["environment"]["partitioned"].as_str().unwrap_or_default();
        assert_eq!(partitioned == alone::cpu(), name.starts_with("balanced"), "{name}");
    }
    for words in ["[4/4]", "fetched none-idle, repetition 2", "copying quietcore"] {
        assert!(
            output_text(&output).contains(words),
            "{words}: {}",
            output_text(&output)
        );
    }

    // The directory is a regular study directory.
    let text = out.display().to_string();
    assert!(quietcore(&["study", "report", &text]).status.success());
    let cells = ["none-idle", "balanced-idle"].map(|cell| out.join(cell).display().to_string());
    assert!(quietcore(&["compare", &cells[0], &cells[1]]).status.success());

    // The same command again does not connect. A command for another machine, or for this one without SSH, does not mix
    // results.
    let again = board
        .study(file, &out)
        .args(["--remote-timeout", "1s"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
    assert!(!output_text(&again).contains("copying"), "{}", output_text(&again));
    assert_eq!(results(&out), first);
    let other = quietcore(&["study", "run", file, "--out", &text, "--on", "elsewhere"]);
    assert_eq!(other.status.code(), Some(2), "{}", output_text(&other));
    assert!(
        output_text(&other).contains("its results are from root@127.0.0.1"),
        "{}",
        output_text(&other)
    );

    // Only a missing result is measured again.
    fs::remove_file(out.join("none-idle/2.json")).unwrap();
    let output = board.study(file, &out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("3 of 4 runs are already complete"),
        "{}",
        output_text(&output)
    );
    let second = results(&out);
    let same = |name: &&String| first[*name] == second[*name];
    assert_eq!(first.keys().filter(same).count(), 3);
    assert_eq!((second.len(), board.left().len(), &state()), (4, 0, before));
}

#[test]
fn a_broken_link_loses_nothing() {
    let Some(ready) = ready("a_broken_link_loses_nothing", "1s") else {
        return;
    };
    let PreparedStudy {
        board,
        before,
        file,
        dir,
        ..
    } = &ready;
    let out = dir.path().join("out");
    let mut child = board.study(file, &out).spawn().unwrap();
    read_until(&mut child, "[2/4]");
    assert!(board.cut() > 0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("the link to root@127.0.0.1 was lost"),
        "{}",
        output_text(&output)
    );
    // The study went on during the interruption and was not restarted.
    assert!(
        !output_text(&output).contains("are already complete"),
        "{}",
        output_text(&output)
    );
    assert_eq!(
        output_text(&output).matches("[3/4]").count(),
        1,
        "{}",
        output_text(&output)
    );
    assert_eq!((results(&out).len(), board.left().len(), &state()), (4, 0, before));

    // Killing the local process does not affect the remote study. The same command fetches the results that it produced
    // since then.
    let out = dir.path().join("killed");
    let mut child = board.study(file, &out).spawn().unwrap();
    read_until(&mut child, "[2/4]");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = board.left();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata().unwrap().permissions().mode() & 0o777, 0o700);
    until("the study's end there", || left[0].join("ended.json").exists());
    let there = fs::read_to_string(left[0].join("results/none-idle/2.json")).unwrap();
    let output = board.study(file, &out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(!output_text(&output).contains("copying"), "{}", output_text(&output));
    assert_eq!(results(&out)["none-idle/2.json"], there);
    assert_eq!((results(&out).len(), board.left().len(), &state()), (4, 0, before));
}

#[test]
fn interrupting_a_study_stops_it_on_the_board() {
    let Some(ready) = ready("interrupting_a_study_stops_it_on_the_board", "3s") else {
        return;
    };
    let PreparedStudy {
        board,
        before,
        file,
        dir,
        ..
    } = &ready;
    let out = dir.path().join("out");
    let mut child = board.study(file, &out).spawn().unwrap();
    read_until(&mut child, "[2/4]");
    send(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    for words in ["stopping the study", "interrupted; the machine is as before"] {
        assert!(
            output_text(&output).contains(words),
            "{words}: {}",
            output_text(&output)
        );
    }
    assert!(!Path::new(JOURNAL).exists());
    assert_eq!((board.left().len(), &state()), (0, before));
    let first = results(&out);
    assert!(!first.is_empty() && first.len() < 4, "{:?}", first.keys());

    // Local results are not measured again, although nothing is left on the remote side.
    let output = board.study(file, &out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let all = results(&out);
    assert!(first.iter().all(|(name, text)| all[name] == *text));
    assert_eq!((all.len(), board.left().len(), &state()), (4, 0, before));
}

/// Checks exit status and required words of a command. It must leave nothing on the remote side.
fn refused(board: &SshServer, command: &mut Command, status: i32, words: &[&str]) {
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(status),
        "{words:?}: {}",
        output_text(&output)
    );
    for words in words {
        assert!(
            output_text(&output).contains(words),
            "{words:?}: {}",
            output_text(&output)
        );
    }
    assert_eq!(board.left().len(), 0, "{words:?}");
}

#[test]
fn a_refused_login_is_reported_with_the_reason() {
    let test = "a_refused_login_is_reported_with_the_reason";
    let _alone = alone::alone();
    let dir = tempfile::tempdir().unwrap();
    let Some(board) = SshServer::start(test, dir.path(), "") else {
        return;
    };
    let file = written(dir.path(), &study_of(&alone::cpu(), BOTH));
    let out = |name: &str| dir.path().join(name);
    let with = |name: &str, key: &str, known: &str| {
        let mut command = board.study(&file, &out(name));
        command.args(["--ssh", &board.ssh(key, known)]);
        command
    };
    // The option is given twice, which is refused.
    refused(&board, &mut with("twice", "own", "known"), 2, &["--ssh"]);
    let one = |name: &str, ssh: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        command
            .args(["study", "run", &file, "--on", "root@127.0.0.1", "--ssh", ssh, "--out"])
            .arg(out(name));
        command
    };
    let login = ["cannot be reached", "Permission denied", "ssh-copy-id"];
    refused(&board, &mut one("login", &board.ssh("other", "known")), 4, &login);
    let host = ["cannot be reached", "Host key verification failed", "by hand once"];
    refused(&board, &mut one("host", &board.ssh("own", "wrong")), 4, &host);
    let port = board.ssh("own", "known").replace(&format!("-p {}", board.port), "-p 1");
    refused(&board, &mut one("port", &port), 4, &["Connection refused"]);
    refused(&board, &mut one("none", "/no/such/ssh"), 4, &["/no/such/ssh"]);
    let mut missing = board.study(&file, &out("missing"));
    let missing = missing.arg("--remote-binary").arg(dir.path().join("missing"));
    refused(&board, missing, 2, &["missing"]);
    // A truncated program that looks executable.
    let fake = dir.path().join("cut-off");
    let mut program = fs::read(env!("CARGO_BIN_EXE_quietcore")).unwrap();
    program.truncate(4096);
    fs::write(&fake, program).unwrap();
    let mut cut_off = board.study(&file, &out("fake"));
    refused(
        &board,
        cut_off.arg("--remote-binary").arg(&fake),
        4,
        &["copying", "cannot run on"],
    );
    for (words, status) in [
        (&["--on", "-oProxyCommand=touch"][..], 2),
        (&["--on", "a b"], 2),
        (&["--on", "a", "--in", "vm"], 2),
        (&["--on", "a", "--vm-cpus", "2"], 2),
        (&["--on", "a", "--reboot"], 2),
        (&["--remote-dir", "a"], 2),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        command
            .args(["study", "run", &file, "--out"])
            .arg(out("words"))
            .args(words);
        let output = command.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(status),
            "{words:?}: {}",
            output_text(&output)
        );
    }
    assert!(!out("words").exists() && !out("missing").exists());
}

#[test]
fn a_wrong_architecture_or_a_full_disk_is_reported_and_leaves_nothing() {
    let test = "a_wrong_architecture_or_a_full_disk_is_reported_and_leaves_nothing";
    let _alone = alone::alone();
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("it's \"there\"");
    fs::create_dir_all(&full).unwrap();
    // The server is a child of this thread, so it has the same small disk.
    if let Err(error) = alone::small_disk(&full) {
        println!("SKIP: {test}: no disk of one's own here: {error}");
        return;
    }
    let names = dir.path().join("names");
    fs::create_dir_all(&names).unwrap();
    let variables = format!("SetEnv PATH={}:/usr/bin:/bin", names.display());
    let Some(board) = SshServer::start(test, dir.path(), &variables) else {
        return;
    };
    let file = written(dir.path(), &study_of(&alone::cpu(), BOTH));
    let mut command = board.study(&file, &dir.path().join("full"));
    refused(
        &board,
        &mut command,
        4,
        &["could not be copied", "No space left on device", "--remote-dir"],
    );

    let uname = names.join("uname");
    let is = |processor: &str| {
        fs::write(&uname, format!("#!/bin/sh\necho {processor}\n")).unwrap();
        fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
    };
    is("aarch64");
    let mut command = board.study(&file, &dir.path().join("other"));
    let words = ["cannot run on", "aarch64-unknown-linux-musl", "--remote-binary"];
    refused(&board, &mut command, 2, &words);
    is("vax");
    let mut command = board.study(&file, &dir.path().join("vax"));
    refused(
        &board,
        &mut command,
        2,
        &["quietcore is not built for vax", "there are x86_64"],
    );
}
