//! What a viewer is given: JSON that a parser of JSON reads, and protobuf that a decoder reads, with every mark in it.

use events::timeline::{Drawing, Fact, Mark, Timeline, Track, chrome, perfetto};
use proptest::prelude::*;
use std::collections::HashMap;

/// A bar or a point as both files must tell it: line, begin, length, name, category, facts.
type Shown = (String, u64, Option<u64>, String, String, Vec<(String, String)>);

fn bytes(
    write: impl Fn(&mut dyn std::io::Write, &Timeline) -> std::io::Result<()>,
    timeline: &Timeline,
) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, timeline).unwrap();
    out
}

fn from_json(bytes: &[u8]) -> Vec<Shown> {
    let whole: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let events = whole["traceEvents"].as_array().unwrap();
    let mut names = HashMap::new();
    for event in events
        .iter()
        .filter(|event| event["name"] == "thread_name" && event["ph"] == "M")
    {
        names.insert(
            event["tid"].as_u64().unwrap(),
            event["args"]["name"].as_str().unwrap().to_owned(),
        );
    }
    // Nanoseconds from the digits, not by way of a floating-point number.
    let nanos = |value: &serde_json::Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
    let mut all: Vec<Shown> = events
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| {
            let text = |key: &str| event[key].as_str().unwrap().to_owned();
            let lasts = (event["ph"] == "X").then(|| nanos(&event["dur"]));
            let facts = event["args"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| {
                    (
                        key.clone(),
                        value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                    )
                });
            let mut facts: Vec<(String, String)> = facts.collect();
            facts.sort();
            (
                names[&event["tid"].as_u64().unwrap()].clone(),
                nanos(&event["ts"]),
                lasts,
                text("name"),
                text("cat"),
                facts,
            )
        })
        .collect();
    all.sort();
    all
}

/// A field of a protobuf message.
#[derive(Clone, Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let len = varint(&mut bytes) as usize;
                let (inside, rest) = bytes.split_at(len);
                bytes = rest;
                Value::Bytes(inside)
            }
            kind => panic!("wire type {kind}"),
        };
        all.push((key >> 3, value));
    }
    all
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(key, value)| match value {
        Value::Number(number) if key == field => Some(number),
        _ => None,
    })
}

fn inside(message: &[u8], field: u64) -> Vec<&[u8]> {
    let all = fields(message).into_iter();
    all.filter_map(|(key, value)| match value {
        Value::Bytes(bytes) if key == field => Some(bytes),
        _ => None,
    })
    .collect()
}

fn text(message: &[u8], field: u64) -> String {
    String::from_utf8(inside(message, field)[0].to_vec()).unwrap()
}

/// Reads a trace as Perfetto does: the end of a bar belongs to the innermost that is open on its line.
fn from_protobuf(bytes: &[u8]) -> Vec<Shown> {
    let mut names = HashMap::new();
    let mut open: HashMap<u64, Vec<Shown>> = HashMap::new();
    let mut all = Vec::new();
    let mut last: HashMap<u64, u64> = HashMap::new();
    for packet in inside(bytes, 1) {
        assert_eq!(number(packet, 10), Some(1), "one writer");
        if let [descriptor] = inside(packet, 60)[..] {
            let uuid = number(descriptor, 1).unwrap();
            assert!(names.insert(uuid, text(descriptor, 2)).is_none(), "a line twice");
            assert!(number(descriptor, 5).is_none_or(|parent| names.contains_key(&parent)));
            continue;
        }
        let at = number(packet, 8).unwrap();
        let event = inside(packet, 11)[0];
        let line = number(event, 11).unwrap();
        assert!(
            last.insert(line, at).is_none_or(|before| before <= at),
            "time goes back on a line"
        );
        let told = || {
            let facts = inside(event, 4).into_iter().map(|fact| {
                let value =
                    number(fact, 4).map_or_else(|| text(fact, 6), |number| (number as i64).to_string());
                (text(fact, 10), value)
            });
            let mut facts: Vec<(String, String)> = facts.collect();
            facts.sort();
            (
                names[&line].clone(),
                at,
                None,
                text(event, 23),
                text(event, 22),
                facts,
            )
        };
        match number(event, 9).unwrap() {
            1 => open.entry(line).or_default().push(told()),
            2 => {
                let mut bar = open.get_mut(&line).unwrap().pop().unwrap();
                bar.2 = Some(at - bar.1);
                all.push(bar);
            }
            3 => all.push(told()),
            kind => panic!("type {kind}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "a bar without end");
    all.sort();
    all
}

fn bar(at_ns: u64, lasts_ns: u64, name: &str) -> Mark {
    Mark {
        at_ns,
        lasts_ns: Some(lasts_ns),
        name: name.to_owned(),
        category: String::from("irq"),
        facts: Vec::new(),
    }
}

#[test]
fn bars_that_only_overlap_go_onto_a_line_of_their_own() {
    let marks = vec![
        bar(100, 50, "outer"),
        bar(110, 10, "inner"),
        bar(115, 20, "crosses"),
        bar(150, 5, "after"),
    ];
    let timeline = Timeline {
        title: String::from("box"),
        tracks: vec![Track {
            name: String::from("CPU 3"),
            marks,
        }],
    };
    let expected = |line: &str, at, lasts, name: &str| {
        (
            line.to_owned(),
            at,
            Some(lasts),
            name.to_owned(),
            String::from("irq"),
            Vec::new(),
        )
    };
    let expected = [
        expected("CPU 3", 100, 50, "outer"),
        expected("CPU 3", 110, 10, "inner"),
        expected("CPU 3", 150, 5, "after"),
        expected("CPU 3 (2)", 115, 20, "crosses"),
    ];
    assert_eq!(from_json(&bytes(chrome::write, &timeline)), expected);
    assert_eq!(from_protobuf(&bytes(perfetto::write, &timeline)), expected);
}

#[test]
fn nothing_is_rounded_or_lost() {
    let facts = vec![
        (String::from("count"), Fact::Number(-3)),
        (String::from("large"), Fact::Number(i64::MAX)),
        (
            String::from("who \"\\\n\u{1}é"),
            Fact::Text(String::from("fio \"on\" CPU\u{1f} 3\\")),
        ),
    ];
    let mark = Mark {
        facts,
        ..bar(5_789_858_400_123, 8_801, "gap\t8.8us")
    };
    let point = Mark {
        lasts_ns: None,
        ..bar(77, 0, "IPI")
    };
    let timeline = Timeline {
        title: String::from("box"),
        tracks: vec![Track {
            name: String::from("CPU 3"),
            marks: vec![mark, point],
        }],
    };
    let json = bytes(chrome::write, &timeline);
    assert!(String::from_utf8_lossy(&json).contains("\"ts\":5789858400.123"));
    let shown = from_protobuf(&bytes(perfetto::write, &timeline));
    assert_eq!(from_json(&json), shown);
    assert_eq!(shown[0].2, None);
    assert_eq!((shown[1].1, shown[1].2), (5_789_858_400_123, Some(8_801)));
    assert_eq!(shown[1].5[1].1, i64::MAX.to_string());
    let empty = Timeline::default();
    assert!(from_json(&bytes(chrome::write, &empty)).is_empty());
    assert!(from_protobuf(&bytes(perfetto::write, &empty)).is_empty());
}

#[test]
fn a_trace_is_drawn_with_bars_for_what_begins_and_ends() {
    let mut drawing = Drawing::new();
    for (at, name, text) in [
        (
            100,
            "sched_switch",
            "prev_comm=swapper/1 prev_pid=0 ==> next_comm=fio next_pid=7 next_prio=120",
        ),
        (110, "irq_handler_entry", "irq=36 name=virtio1-req.0"),
        (112, "softirq_entry", "vec=4 [action=BLOCK]"),
        (115, "timer_cancel", "timer=ffff"),
        (120, "irq_handler_exit", "irq=36 ret=handled"),
        (130, "softirq_exit", "vec=4 [action=BLOCK]"),
        (140, "sched_switch", "fio:7 [120] S ==> swapper/1:0 [120]"),
        (
            141,
            "workqueue_execute_start",
            "work struct 1: function vmstat_update",
        ),
        (142, "hrtimer_start", "hrtimer=1"),
        (
            149,
            "workqueue_execute_end",
            "work struct 1: function vmstat_update",
        ),
        (150, "local_timer_entry", "vector=236"),
    ] {
        drawing.take(1, at, name, text);
    }
    let timeline = drawing.finish("box");
    let shown: Vec<(&str, &str, u64, Option<u64>)> = timeline
        .tracks
        .iter()
        .flat_map(|track| {
            let marks = track.marks.iter();
            marks.map(|mark| (track.name.as_str(), mark.name.as_str(), mark.at_ns, mark.lasts_ns))
        })
        .collect();
    let expected = [
        ("CPU 1", "timer_cancel", 115, None),
        ("CPU 1", "irq_handler", 110, Some(10)),
        // Its end came after that of what it began in: a bar of it would be a guess.
        ("CPU 1", "softirq_entry", 112, None),
        ("CPU 1", "softirq_exit", 130, None),
        ("CPU 1", "hrtimer_start", 142, None),
        ("CPU 1", "workqueue", 141, Some(8)),
        ("CPU 1", "local_timer_entry", 150, None),
        ("CPU 1 runs", "fio", 100, Some(40)),
    ];
    assert_eq!(shown, expected);
    let irq = &timeline.tracks[0].marks[1];
    assert_eq!(irq.facts[0], (String::from("irq"), Fact::Number(36)));
    assert_eq!(
        irq.facts[2],
        (String::from("ret"), Fact::Text(String::from("handled")))
    );
}

/// Begin, length, name and a number.
type Made = (u64, Option<u64>, String, i64);

proptest! {
    #[test]
    fn both_files_show_every_mark(
        tracks in prop::collection::vec(
            prop::collection::vec((0_u64..500, prop::option::of(0_u64..100), "[a-z\"\\\\é\n]{0,6}", -5_i64..5), 0..40),
            0..4,
        ),
    ) {
        let track = |(number, marks): (usize, Vec<Made>)| Track {
            name: format!("CPU {number}"),
            marks: marks
                .into_iter()
                .map(|(at_ns, lasts_ns, name, fact)| Mark {
                    at_ns,
                    lasts_ns,
                    name,
                    category: String::from("timer"),
                    facts: vec![(String::from("n"), Fact::Number(fact))],
                })
                .collect(),
        };
        let timeline = Timeline { title: String::from("any"), tracks: tracks.into_iter().enumerate().map(track).collect() };
        let shown = from_protobuf(&bytes(perfetto::write, &timeline));
        prop_assert_eq!(&from_json(&bytes(chrome::write, &timeline)), &shown);
        // Without the number of the line, it is what was put in.
        let mut expected: Vec<(String, u64, Option<u64>, String)> = timeline
            .tracks
            .iter()
            .flat_map(|track| track.marks.iter().map(|mark| (track.name.clone(), mark.at_ns, mark.lasts_ns, mark.name.clone())))
            .collect();
        let mut found: Vec<(String, u64, Option<u64>, String)> = shown
            .into_iter()
            .map(|one| (one.0.split(" (").next().unwrap().to_owned(), one.1, one.2, one.3))
            .collect();
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
