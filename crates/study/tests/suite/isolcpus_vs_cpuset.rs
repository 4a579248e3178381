//! The article's study: the meaning of the file that is generated for the user.

use machine::CpuSet;
use measure::MeasurementKind;
use study::isolcpus_vs_cpuset::{IsolationVariant, Levels, text};
use study::{Experiment, LoadLevel, parse};

fn experiment() -> Experiment {
    Experiment {
        what: MeasurementKind::Latency,
        cpus: "3".to_owned(),
        each: "1s".to_owned(),
        policy: None,
        interval: Some("1ms".to_owned()),
        load: LoadLevel {
            kinds: "cpu+io".to_owned(),
            place: "others",
        },
        repetitions: 4,
        seed: 7,
        budget: Some("1h".to_owned()),
        cool_down: "0s".to_owned(),
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_isolation_is_measured_idle_and_loaded_under_every_model() {
    let levels = Levels {
        isolations: vec![
            IsolationVariant::None,
            IsolationVariant::Isolcpus,
            IsolationVariant::Cpuset,
            IsolationVariant::Both,
        ],
        preemptions: words(&["none", "full"]),
        kernels: Vec::new(),
    };
    let study = parse(text(&experiment(), &levels).as_bytes()).unwrap();
    assert_eq!((study.cells.len(), study.repetitions, study.seed), (16, 4, 7));
    let cpus = CpuSet::parse_list("3").unwrap();
    for cell in &study.cells {
        let line = study.boots[cell.boot].words_for(&cpus).join(" ");
        let has = |word: &str| cell.name.split('-').any(|part| part == word);
        let isolcpus = has("isolcpus") || has("both");
        assert_eq!(line.contains("isolcpus=3"), isolcpus, "{}: {line}", cell.name);
        assert_eq!(cell.intent.is_some(), has("cpuset") || has("both"), "{}", cell.name);
        assert_eq!(cell.load.is_empty(), has("idle"), "{}", cell.name);
        assert!(
            line.ends_with("preempt=none") || line.ends_with("preempt=full"),
            "{line}"
        );
    }
    // The cell without isolation and the cell with only a partition share a boot.
    assert_eq!(study.boots.len(), 4);
}

#[test]
fn kernels_become_an_axis_and_unspecified_models_do_not() {
    let levels = Levels {
        isolations: vec![IsolationVariant::Isolcpus, IsolationVariant::Cpuset],
        preemptions: Vec::new(),
        kernels: words(&["/boot/vmlinuz-\"a\"", "6.12-rt"]),
    };
    let study = parse(text(&experiment(), &levels).as_bytes()).unwrap();
    assert_eq!((study.cells.len(), study.boots.len()), (8, 4));
    let axes: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(axes, ["isolation", "load", "kernel"]);
    assert!(
        study
            .boots
            .iter()
            .any(|boot| boot.kernel.as_deref() == Some("/boot/vmlinuz-\"a\""))
    );
}
