//! The `cset` front end, without changes to the machine: words, output streams and exit codes, compared with the
//! answers of cset 1.6 to the same command lines.

use std::process::{Command, Output};

fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .arg("cset")
        .args(arguments)
        .output()
        .unwrap()
}

/// Returns false if the machine has no cpusets. Every command that needs them then reports that.
fn has_cpusets() -> bool {
    let output = quietcore(&["set", "-l"]);
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    let has = output.status.success();
    if !has {
        println!("SKIP: cset: {message}");
    }
    has
}

fn check_run(arguments: &[&str], status: i32, stdout: &str, stderr: &str) {
    let output = quietcore(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (
            output.status.code(),
            text(&output.stdout).as_str(),
            text(&output.stderr).as_str()
        ),
        (Some(status), stdout, stderr),
        "{arguments:?}"
    );
}

#[test]
fn general_commands_answer_as_cset_does() {
    check_run(
        &[],
        1,
        "",
        "usage: cset <command>\n  Try \"cset --help\" for a list of supported commands\n",
    );
    check_run(&["--version"], 0, "cset: Cpuset (cset) 1.6\n", "");
    check_run(&["version"], 0, "cset: Cpuset (cset) 1.6\n", "");
    check_run(&["-x", "0"], 0, "1\n", "");
    check_run(&["-x"], 1, "cset: not enough arguments\n", "");
    check_run(
        &["-x", "x"],
        2,
        "cset: **> CPUSPEC \"x\" contains invalid charaters: x\n",
        "",
    );
    check_run(
        &["nonsense"],
        1,
        "cset: Unknown command: nonsense\ncset: Try \"cset help\" for a list of supported commands\n",
        "",
    );
    check_run(
        &["s"],
        1,
        "cset: Ambiguous command: s\ncset: Candidates are: shield, set\n",
        "",
    );
    let help = quietcore(&["help"]);
    assert_eq!(help.stdout, quietcore(&["--help"]).stdout);
    assert!(String::from_utf8_lossy(&help.stdout).starts_with("Usage: cset [global options] <command>"));
    for command in ["shield", "proc", "set"] {
        let usage = format!("Usage: cset {command} [options] ");
        for arguments in [&["help", command][..], &[command, "--help"]] {
            let output = quietcore(arguments);
            assert!(
                String::from_utf8_lossy(&output.stdout).starts_with(&usage),
                "{arguments:?}"
            );
            assert_eq!(output.status.code(), Some(0));
        }
    }
}

#[test]
fn wrong_options_are_reported_on_standard_error() {
    let usage = "Usage: cset set [options] [cpuset name]\n\ncset set: error: ";
    check_run(&["set", "--bogus"], 2, "", &format!("{usage}no such option: --bogus\n"));
    check_run(&["se", "-c"], 2, "", &format!("{usage}-c option requires 1 argument\n"));
    check_run(
        &["shield", "-k", "maybe"],
        2,
        "",
        "Usage: cset shield [options] [path/program]\n\ncset shield: error: option -k: invalid choice: 'maybe' \
         (choose from 'on', 'off')\n",
    );
}

#[test]
fn refusals_are_reported_on_standard_output() {
    if !has_cpusets() {
        return;
    }
    let cases: &[(&[&str], &str)] = &[
        (
            &["set", "-l", "no_such_set"],
            "cpuset \"no_such_set\" not found in cpusets",
        ),
        (
            &["set", "-d", "no_such_set"],
            "cpuset \"no_such_set\" not found in cpusets",
        ),
        (&["set", "-c", "0"], "cpuset not specified"),
        (&["set", "-n", "x"], "desired cpuset not specified"),
        (
            &["set", "-c", "a", "-s", "x"],
            "CPUSPEC \"a\" contains invalid charaters: a",
        ),
        (&["proc"], "cpuset(s) to list not specified"),
        (&["proc", "-l"], "cpuset not specified"),
        (&["proc", "-e"], "cpuset not specified"),
        (&["proc", "-m"], "destination cpuset not specified"),
        (&["proc", "-m", "-f", "root"], "destination cpuset not specified"),
        (&["proc", "-m", "1"], "cpuset \"1\" not found in cpusets"),
        (
            &["proc", "-e", "-s", "no_such_set", "--", "true"],
            "cpuset \"no_such_set\" not found in cpusets",
        ),
        (
            &["proc", "-u", "no such user", "-e", "-s", "root", "--", "true"],
            "unknown user: \"no such user\"",
        ),
        (&["shield", "--userset=no_such_set"], "shielding not active on system"),
        (
            &["shield", "--userset=no_such_set", "-e", "true"],
            "shielding not active on system",
        ),
    ];
    for (arguments, what) in cases {
        check_run(arguments, 2, &format!("cset: **> {what}\n"), "");
    }
    check_run(
        &["shield", "--userset=no_such_set", "--reset"],
        2,
        "cset: --> deactivating/reseting shielding\ncset: **> shielding not active on system\n",
        "",
    );
    check_run(
        &["proc", "-m", "4194304", "root"],
        2,
        "cset: moving following pidspec: 4194304\ncset: **> no task matched move criteria\n\
         cset: **> if you want to move kernel threads, use -k\n",
        "",
    );
}

#[test]
fn listings_also_work_through_a_link_named_cset() {
    if !has_cpusets() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let cset = dir.path().join("cset");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_quietcore"), &cset).unwrap();
    let message = |arguments: &[&str]| {
        let output = Command::new(&cset).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let people = message(&["se", "root"]);
    assert!(
        people.starts_with(
            "cset: \n         Name       CPUs-X    MEMs-X Tasks Subs Path\n \
             ------------ ---------- - ------- - ----- ---- ----------\n         root "
        ),
        "{people}"
    );
    let programs = message(&["-m", "set", "root"]);
    let row = programs.lines().nth(1).unwrap();
    let fields: Vec<&str> = row.split(';').collect();
    assert!(programs.starts_with("cset: cpuset_list_start\nroot;") && programs.ends_with("\ncpuset_list_end\n"));
    assert_eq!(
        (fields.len(), fields.first(), fields.last()),
        (8, Some(&"root"), Some(&"/")),
        "{row}"
    );
    let log = dir.path().join("log");
    message(&["-l", log.to_str().unwrap(), "set", "root"]);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("cmdline: cset -l") && log.contains("Name       CPUs-X"),
        "{log}"
    );
}
