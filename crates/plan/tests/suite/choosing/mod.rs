//! The choice of CPUs: an independent slow checker verifies every rule on every available machine, generated or
//! captured.

mod checker;
mod made;

use checker::ChoiceChecker;
use machine::{CoreKind, CpuSet, Machine};
use made::{MachineShape as Made, Numbering, PLAIN};
use plan::{CpuRefusal, CpuRequest, NearbyCpus, PlacementShape, PlanRefusal, choose};
use root::Root;
use std::path::Path;

fn small() -> Vec<Made> {
    let two_nodes = Made {
        packages: 2,
        cores: 4,
        ..PLAIN
    };
    let pairs = Made {
        l2s: 2,
        cores: 2,
        ..PLAIN
    };
    vec![
        Made { cores: 2, ..PLAIN },
        Made { threads: 2, ..PLAIN },
        Made {
            cores: 4,
            threads: 2,
            ..PLAIN
        },
        Made {
            cores: 4,
            threads: 2,
            numbering: Numbering::Split,
            ..PLAIN
        },
        Made {
            cores: 3,
            threads: 4,
            ..PLAIN
        },
        Made {
            cores: 3,
            threads: 4,
            boot_isolated: "4,9",
            ..PLAIN
        },
        pairs.clone(),
        Made {
            offline: &[0],
            ..pairs.clone()
        },
        Made { offline: &[2], ..pairs },
        Made {
            numbering: Numbering::Turns,
            ..two_nodes.clone()
        },
        Made {
            threads: 2,
            cores: 3,
            numbering: Numbering::Turns,
            ..two_nodes.clone()
        },
        Made {
            bare_nodes: &[1],
            ..two_nodes.clone()
        },
        Made {
            offline: &[0, 1, 2],
            ..two_nodes.clone()
        },
        Made {
            boot_isolated: "2-3,5",
            ..two_nodes
        },
        Made {
            nodes: 2,
            llcs: 2,
            l2s: 1,
            cores: 3,
            ..PLAIN
        },
        Made {
            llcs: 3,
            l2s: 2,
            cores: 2,
            ..PLAIN
        },
        Made {
            llcs: 2,
            l2s: 2,
            cores: 1,
            threads: 2,
            numbering: Numbering::Split,
            offline: &[5],
            ..PLAIN
        },
        Made {
            l2s: 3,
            cores: 4,
            efficiency: "4-11",
            ..PLAIN
        },
        Made {
            cores: 6,
            threads: 2,
            efficiency: "8-11",
            offline: &[9],
            boot_isolated: "10-11",
            ..PLAIN
        },
        Made { packages: 4, ..PLAIN },
        Made {
            packages: 2,
            nodes: 2,
            cores: 2,
            numbering: Numbering::Turns,
            ..PLAIN
        },
    ]
}

fn requests(machine: &Machine) -> Vec<CpuRequest> {
    let online = &machine.topology.online;
    let mut wishes = vec![CpuRequest::default()];
    for count in 1..=online.len() + 1 {
        for shape in [PlacementShape::Pack, PlacementShape::Spread] {
            let plain = CpuRequest {
                count: Some(count),
                shape,
                ..CpuRequest::default()
            };
            wishes.push(plain.clone());
            wishes.push(CpuRequest {
                keep: online.iter().skip(2).step_by(3).collect(),
                ..plain.clone()
            });
            let half: CpuSet = online.iter().skip(online.len() / 2).collect();
            let near = NearbyCpus {
                device: "eth0".to_owned(),
                cpus: half,
                what: "node 1".to_owned(),
            };
            wishes.push(CpuRequest {
                near: Some(near),
                ..plain.clone()
            });
            if machine.topology.is_hybrid() {
                wishes.push(CpuRequest {
                    kind: Some(CoreKind::Efficiency),
                    ..plain.clone()
                });
            }
        }
    }
    wishes
}

#[test]
fn no_better_choice_exists_on_small_machines() {
    let (mut chosen, mut refused) = (0, 0);
    for made in small() {
        let machine = made.machine();
        let checker = ChoiceChecker::new(&machine);
        for wish in requests(&machine) {
            let what = format!("{made:?} {wish:?}");
            let best = checker.cheapest(&wish);
            match (choose(&machine, &wish), best) {
                (Ok(choice), Some((cost, set))) => {
                    assert_eq!(checker.forbidden(&wish, &choice.cpus), None, "{} {what}", choice.cpus);
                    assert_eq!(
                        checker.cost(&wish, &choice.cpus),
                        cost,
                        "{} but {set} is best: {what}",
                        choice.cpus
                    );
                    runners_up_are_worse(&checker, &wish, &choice, &what);
                    chosen += 1;
                }
                // A request without a number gets a core even if its node then has none left.
                (Ok(_), None) => assert_eq!(wish.count, None, "{what}"),
                (Err(PlanRefusal::NotSoMany { most, rule, offer, .. }), None) => {
                    refused += 1;
                    assert!(!rule.is_empty() && !offer.is_empty(), "{what}");
                    let nearest = |count| {
                        checker
                            .cheapest(&CpuRequest {
                                count: Some(count),
                                ..wish.clone()
                            })
                            .is_some()
                    };
                    assert!(most == 0 || nearest(most), "{most} can be had: {what}");
                    assert!(!nearest(most + 1), "more than {most} can be had: {what}");
                }
                (Err(refusal), best) => panic!("{refusal}: {best:?} {what}"),
            }
        }
    }
    assert!(chosen > 400 && refused > 200, "{chosen} choices, {refused} refusals");
}

fn runners_up_are_worse(checker: &ChoiceChecker, wish: &CpuRequest, choice: &plan::Choice, what: &str) {
    let own = checker.cost(wish, &choice.cpus);
    for other in &choice.runners_up {
        assert_ne!(other.cpus, choice.cpus, "{what}");
        assert!(!other.because.is_empty() && !other.rule.is_empty(), "{what}");
        assert!(
            checker.cost(wish, &other.cpus) >= own,
            "{} is better than {}: {what}",
            other.cpus,
            choice.cpus
        );
    }
}

/// Returns the archives in a directory beside the checkout, or none if the directory does not exist.
fn captured(folder: &str) -> Vec<(String, Machine)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let Ok(files) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let archives = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".tar"));
    let open = |path: std::path::PathBuf| {
        let root = Root::open(&path).unwrap();
        (path.display().to_string(), Machine::read(&root).with_tasks(&root))
    };
    archives.map(open).collect()
}

#[test]
fn choices_on_lab_machines_follow_every_rule() {
    let all = captured("fixtures/machines");
    assert!(all.len() >= 8, "{}", all.len());
    for (name, machine) in all {
        large(&name, &machine);
    }
}

#[test]
fn choices_on_captured_machines_follow_every_rule() {
    let all = captured("../shared/machines");
    if all.is_empty() {
        println!("SKIP: choices_on_captured_machines_follow_every_rule: ../shared/machines is not there");
        return;
    }
    for (name, machine) in all {
        large(&name, &machine);
    }
}

#[test]
fn choices_on_large_machines_follow_every_rule() {
    let numbered = |numbering| Made {
        packages: 2,
        nodes: 2,
        llcs: 4,
        l2s: 4,
        threads: 2,
        numbering,
        ..PLAIN
    };
    let shapes = [
        numbered(Numbering::Adjacent),
        numbered(Numbering::Split),
        numbered(Numbering::Turns),
        Made {
            offline: &[0, 7, 33],
            boot_isolated: "40-47",
            ..numbered(Numbering::Split)
        },
        Made {
            l2s: 4,
            cores: 4,
            llcs: 4,
            efficiency: "32-63",
            ..PLAIN
        },
    ];
    for made in shapes {
        large(&format!("{made:?}"), &made.machine());
    }
}

/// Checks what is possible without trying every set: nothing forbidden is chosen, and no single exchange is better.
fn large(name: &str, machine: &Machine) {
    let checker = ChoiceChecker::new(machine);
    let online = &machine.topology.online;
    let counts = [
        None,
        Some(1),
        Some(2),
        Some(3),
        Some(4),
        Some(6),
        Some(8),
        Some(online.len() / 4),
    ];
    for count in counts.into_iter().filter(|count| *count != Some(0)) {
        for shape in [PlacementShape::Pack, PlacementShape::Spread] {
            let wish = CpuRequest {
                count,
                shape,
                ..CpuRequest::default()
            };
            let what = format!("{name} {count:?} {shape:?}");
            match choose(machine, &wish) {
                Ok(choice) => {
                    let why = checker.forbidden(&wish, &choice.cpus);
                    let excused = count.is_none() && why.as_deref() == Some("a node without housekeeping");
                    assert!(why.is_none() || excused, "{why:?}: {} {what}", choice.cpus);
                    assert!(choice.cpus.len() >= count.unwrap_or(1), "{what}");
                    let better = checker.better_neighbour(&wish, &choice.cpus);
                    assert_eq!(better, None, "instead of {}: {what}", choice.cpus);
                    assert_eq!(choose(machine, &wish).unwrap(), choice, "the same again: {what}");
                    runners_up_are_worse(&checker, &wish, &choice, &what);
                }
                Err(PlanRefusal::NotSoMany { most, .. }) => assert!(most < count.unwrap_or(1), "{what}"),
                Err(refusal) => panic!("{refusal}: {what}"),
            }
        }
    }
}

#[test]
fn the_cases_behind_the_rules_get_the_expected_cpus() {
    let check = |made: &Made, wish: CpuRequest, expected: &str| {
        let choice = choose(&made.machine(), &wish).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(choice.cpus.to_string(), expected, "{made:?} {wish:?}");
        choice
    };
    let count = |count| CpuRequest {
        count: Some(count),
        ..CpuRequest::default()
    };
    // An Intel J1900: both CPUs of a level-2 pair.
    let j1900 = Made {
        l2s: 2,
        cores: 2,
        ..PLAIN
    };
    check(&j1900, count(2), "2-3");
    let one = check(&j1900, count(1), "3");
    assert!(
        one.reasons
            .iter()
            .any(|reason| reason.rule == "shared-l2" && reason.message.contains("CPU 2"))
    );
    // The first CPU of the second socket, a manual choice that caused trouble in practice.
    let sockets = Made {
        packages: 2,
        cores: 4,
        numbering: Numbering::Turns,
        ..PLAIN
    };
    let three = check(&sockets, count(3), "3,5,7");
    let by_hand = three
        .runners_up
        .iter()
        .find(|other| other.cpus.to_string() == "1-3")
        .unwrap();
    assert_ne!(by_hand.rule, "highest-numbers", "{by_hand:?}");
    let refused = choose(&sockets.machine(), &count(7)).unwrap_err();
    assert!(
        matches!(&refused, PlanRefusal::NotSoMany { most: 6, rule, .. } if rule.contains("node")),
        "{refused}"
    );
    // Two kinds of cores are never mixed.
    let hybrid = Made {
        l2s: 2,
        cores: 4,
        efficiency: "4-7",
        ..PLAIN
    };
    check(&hybrid, count(3), "1-3");
    check(&hybrid, count(4), "4-7");
    // A whole core with both its threads.
    check(
        &Made {
            cores: 4,
            threads: 2,
            numbering: Numbering::Split,
            ..PLAIN
        },
        count(1),
        "3,7",
    );
}

#[test]
fn unwise_cpus_are_used_as_requested_and_reported() {
    let made = Made {
        packages: 2,
        l2s: 2,
        cores: 2,
        threads: 2,
        ..PLAIN
    };
    let machine = made.machine();
    let ids = |cpus: &str| {
        let name = plan::PartitionName::default();
        let wanted = CpuSet::parse_list(cpus).unwrap();
        let intent = plan::Intent::new(name, wanted, plan::Profile::Minimal);
        let plan = plan::plan(&machine, &machine::Settings::default(), &intent).unwrap();
        assert_eq!(plan.isolated.to_string(), cpus);
        let ids: Vec<String> = plan
            .findings
            .into_iter()
            .map(|finding| finding.id.to_string())
            .collect();
        ids
    };
    let has = |cpus: &str, id: &str| ids(cpus).iter().any(|found| found == id);
    assert!(has("15", "smt-sibling") && !has("14-15", "smt-sibling"));
    assert!(has("14-15", "shared-l2") && !has("12-15", "shared-l2"));
    assert!(has("8-9", "first-cpu") && !has("12-15", "first-cpu"));
    assert!(has("8-15", "node-housekeeping") && !has("9-15", "node-housekeeping"));
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let made = Made {
        packages: 2,
        cores: 2,
        offline: &[2, 3],
        ..PLAIN
    };
    let machine = made.machine();
    let device = |node: Option<u32>| machine::devices::Locality {
        parts: Vec::new(),
        name: "eth0".to_owned(),
        path: String::new(),
        node,
        cpus: None,
        is_virtual: node.is_none(),
    };
    let near = |node| NearbyCpus::of(&device(node), &machine.topology);
    assert_eq!(near(Some(0)).unwrap().cpus.to_string(), "0-1");
    assert!(matches!(near(None), Err(PlanRefusal::NoLocality { .. })));
    // Node 1 has no CPUs left and states no distances, so nothing is guessed.
    assert!(matches!(near(Some(1)), Err(PlanRefusal::NoLocality { .. })));
    let refused = |wish: CpuRequest| choose(&machine, &wish).unwrap_err();
    let kind = Some(CoreKind::Performance);
    assert!(matches!(
        refused(CpuRequest {
            kind,
            ..CpuRequest::default()
        }),
        PlanRefusal::OneKind { .. }
    ));
    let count = |count| CpuRequest {
        count: Some(count),
        ..CpuRequest::default()
    };
    assert_eq!(refused(count(0)), PlanRefusal::NoCpus);
    assert!(matches!(
        refused(count(usize::MAX)),
        PlanRefusal::NotSoMany { most: 1, .. }
    ));
    let keep: CpuSet = CpuSet::range(1, 9);
    assert!(matches!(
        refused(CpuRequest {
            keep,
            ..CpuRequest::default()
        }),
        PlanRefusal::Cpus(CpuRefusal::Missing { .. })
    ));
}
