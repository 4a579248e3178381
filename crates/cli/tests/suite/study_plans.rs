//! `study plan`: what it prints before anything runs, and what it refuses. Nothing is isolated here.

use crate::support::alone;
use crate::support::program::quietcore;
use crate::support::schemas::document;
use crate::support::studied::{BOTH, output_text, run, study_of, written};
use serde_json::Value;
use std::path::Path;

#[test]
fn impossible_cells_are_reported_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = alone::cpu();
    for (text, words) in [
        (
            study_of("0", BOTH),
            vec!["1 of 2 cells are impossible", "balanced-idle: "],
        ),
        (study_of("all", BOTH), vec!["1 of 2 cells are impossible"]),
        (study_of("4095", BOTH), vec!["line 5", "4095"]),
        (study_of("no-such", BOTH), vec!["line 5", "no-such"]),
        (
            study_of(&cpu, "isolation = [\"none\", \"both\"]"),
            vec!["line 9", "there is no isolation `both`", "isolcpus_and_cpuset"],
        ),
        (
            study_of(&cpu, BOTH).replace("\"other\"", "\"often\""),
            vec!["line 7", "`often` is not a policy"],
        ),
        (study_of(&cpu, BOTH).replace("1s", "1 parsec"), vec!["line 6", "parsec"]),
    ] {
        let file = written(dir.path(), &text);
        let out = dir.path().join("out");
        let output = quietcore(&["study", "plan", &file]);
        assert_eq!(output.status.code(), Some(2), "{text}{}", output_text(&output));
        for word in words {
            assert!(output_text(&output).contains(word), "{word}: {}", output_text(&output));
        }
        assert_ne!(run(&file, &out).status.code(), Some(0));
        assert!(!out.exists());
    }
    let missing = dir.path().join("missing").display().to_string();
    for words in [
        &["study", "plan", &missing][..],
        &["study", "report", &missing],
        &["study", "which-knob"],
        &["study", "run", &missing],
    ] {
        assert_eq!(quietcore(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn the_plan_lists_cells_order_and_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = written(dir.path(), &study_of("0", "load = [\"idle\", \"cpu\"]"));
    let output = quietcore(&["study", "plan", &file, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let plan: Value = document(&output.stdout).unwrap();
    assert_eq!(plan["schema"], "quietcore.study-plan/1");
    assert_eq!(plan["cells"], serde_json::json!(["none-idle", "none-cpu"]));
    assert_eq!(
        (&plan["runs"], plan["order"].as_array().unwrap().len()),
        (&Value::from(4), 2)
    );
    assert!(plan["notes"][0].as_str().unwrap().contains("fewer than 4"));
    let text = output_text(&quietcore(&["study", "plan", &file]));
    assert!(text.contains("2 cells, 2 times each; about 12 s in all"), "{text}");
    let once = study_of("0", "load = [\"idle\", \"cpu\"]").replace("repetitions = 2", "repetitions = 1");
    let text = output_text(&quietcore(&["study", "plan", &written(dir.path(), &once)]));
    assert!(text.contains(": 2 cells, once each; about "), "{text}");
}

#[test]
fn the_plan_lists_boots_and_the_number_of_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let axes = "isolation = [\"none\", \"isolcpus\"]\nload = [\"idle\", \"cpu\"]\nkernel = [\"6.1\", \"6.12-rt\"]";
    let file = written(dir.path(), &study_of("0", axes));
    let output = quietcore(&["study", "plan", &file, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let plan: Value = document(&output.stdout).unwrap();
    assert_eq!((&plan["runs"], &plan["restarts"]), (&Value::from(16), &Value::from(8)));
    // Within a block, runs that share a boot are adjacent.
    for block in plan["order"].as_array().unwrap() {
        let boot = |cell: &Value| cell.as_str().unwrap().replace("-idle", "").replace("-cpu", "");
        let mut boots: Vec<String> = block.as_array().unwrap().iter().map(boot).collect();
        boots.dedup();
        assert_eq!(boots.len(), 4, "{block}");
    }
    let text = output_text(&quietcore(&["study", "plan", &file]));
    for words in [
        "  boot  isolcpus=0, kernel 6.12-rt\n",
        "  boot  the present boot line, kernel 6.1\n",
        "8 restarts, one for each",
        "not possible on this machine: kernel 6.12-rt: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The study does not run with the axes that this machine supports instead.
    let out = dir.path().join("out");
    let output = run(&file, &out);
    assert_ne!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(!out.exists());
}

#[test]
fn restarts_need_consent_and_a_study_that_cannot_start_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = alone::cpu();
    let out = dir.path().join("out").display().to_string();
    let axes = "isolation = [\"none\", \"isolcpus\"]";
    let kernels = "kernel = [\"6.1\", \"6.12\"]";
    let image = "kernel = [\"6.1\", \"/boot/vmlinuz-6.12\"]";
    let budget = study_of(&cpu, axes).replace("seed = 3", "seed = 3\nbudget = \"1h\"");
    for (text, words) in [
        (study_of(&cpu, axes), vec![]),
        (study_of(&cpu, kernels), vec!["--reboot"]),
        (study_of(&cpu, image), vec!["--reboot"]),
        (budget, vec!["--reboot"]),
    ] {
        let file = written(dir.path(), &text);
        let mut all = vec!["study", "run", &file, "--out", &out];
        all.extend(words);
        let output = quietcore(&all);
        assert!(
            matches!(output.status.code(), Some(2..=4)),
            "{text}{}",
            output_text(&output)
        );
        assert!(!Path::new(&out).exists(), "{}", output_text(&output));
        assert!(!Path::new("/var/lib/quietcore/study").exists());
        let is_image = text.contains("/boot/");
        if is_image && output.status.code() == Some(2) {
            let warning = "kernel /boot/vmlinuz-6.12: no modules are installed for an image: use its release";
            assert!(output_text(&output).contains(warning), "{}", output_text(&output));
        }
        let plan = output_text(&quietcore(&["study", "plan", &file]));
        assert_eq!(
            plan.contains("kernel /boot/vmlinuz-6.12: no modules are"),
            is_image,
            "{plan}"
        );
    }
    let output = quietcore(&["study", "resume"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", output_text(&output));
}
