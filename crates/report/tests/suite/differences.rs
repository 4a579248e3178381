//! The screens of `diff` and of a choice: every line fits, the most important one comes first, and names are escaped.

use machine::CpuSet;
use plan::diff::{Diff, MachineDifference};
use plan::{FindingId, Level};
use report::{KnobDetail, Style, diff_json, diff_text};

fn change(level: Level, id: FindingId, message: &str) -> MachineDifference {
    MachineDifference {
        id,
        level,
        subject: "irq/47".to_owned(),
        message: message.to_owned(),
        before: Some("7".to_owned()),
        after: None,
    }
}

fn sample() -> Diff {
    let mut changes = vec![
        change(Level::Error, FindingId::IRQ_AFFINITY, "IRQ 47 ahci: CPU 7 -> 1"),
        change(Level::Warning, FindingId::TASK_NEW, "new thread \u{1b}[2J may run on 1"),
    ];
    changes.extend((0..9).map(|number| change(Level::Info, FindingId::IRQ_NEW, &format!("new IRQ {number}"))));
    Diff {
        isolated: CpuSet::range(1, 1),
        different_machines: vec!["processor: A -> B".to_owned()],
        changes,
    }
}

#[test]
fn the_most_important_changes_come_first_and_similar_ones_are_counted() {
    let text = diff_text(&sample(), KnobDetail::Short, Style::Plain);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}"));
    let order = [
        "two different machines",
        "processor: A -> B",
        "Isolated: CPU 1",
        "ahci",
        "new thread",
        "new IRQ 0",
    ];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{text}");
    assert!(text.contains("and 5 more of this kind"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let whole = diff_text(&sample(), KnobDetail::Whole, Style::Plain);
    assert!(
        whole.contains("new IRQ 8") && !whole.contains("more of this kind"),
        "{whole}"
    );
}

#[test]
fn an_empty_diff_reports_that_nothing_changed() {
    let same = Diff {
        isolated: CpuSet::new(),
        different_machines: Vec::new(),
        changes: Vec::new(),
    };
    let text = diff_text(&same, KnobDetail::Short, Style::Plain);
    assert!(text.contains("No relevant change"), "{text}");
}

#[test]
fn the_json_document_has_every_change() {
    let document = serde_json::to_value(diff_json(&sample())).unwrap();
    assert_eq!(document["schema"], "quietcore.diff/1");
    let first = &document["changes"][0];
    assert_eq!(first["level"], "error");
    assert_eq!(
        (&first["before"], &first["after"]),
        (&"7".into(), &serde_json::Value::Null)
    );
    assert_eq!(document["changes"].as_array().unwrap().len(), 11);
}
