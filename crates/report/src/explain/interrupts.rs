//! Explains a numbered interrupt, with what this machine knows about it.

use super::Explanation;
use super::surroundings::Surroundings;
use machine::OrderBy;

/// `irq/47`, with the machine's facts about it.
pub(super) fn numbered(word: &str, here: &dyn Surroundings) -> Option<Explanation> {
    const WHAT: &str = "A numbered interrupt of a device. It fires on one CPU of its mask.";
    if word == "irq/N" {
        return Some(Explanation::new("interrupt", word, WHAT).part("moved with", MOVE_IRQ));
    }
    let number: u32 = word.strip_prefix("irq/")?.split('-').next()?.parse().ok()?;
    let entry = Explanation::new("interrupt", format!("irq/{number}"), WHAT);
    let Some(seen) = here.interrupt(number) else {
        return Some(
            entry
                .part("now", "this machine has no such interrupt")
                .part("moved with", MOVE_IRQ),
        );
    };
    let counts: u64 = seen.counts.iter().map(|(_, count)| count).sum();
    let mut busiest = seen.counts.clone();
    busiest.order_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    let busiest: Vec<String> = busiest
        .iter()
        .take(4)
        .map(|(cpu, count)| format!("{count} on CPU {cpu}"))
        .collect();
    let list = |set: &Option<machine::CpuSet>| set.as_ref().map_or("unknown".to_owned(), ToString::to_string);
    let name = if seen.name.is_empty() {
        "no driver has requested it"
    } else {
        &seen.name
    };
    let managed = movable(&seen, here);
    Some(
        entry
            .part("device", name)
            .part("chip", seen.chip.clone())
            .part("may fire on", format!("CPU {}", list(&seen.affinity)))
            .part("fires on", format!("CPU {}", list(&seen.effective)))
            .part(
                "fired",
                match counts {
                    0 => "never since the boot".to_owned(),
                    _ => format!("{counts} times since the boot: {}", busiest.join(", ")),
                },
            )
            .part("can be moved", managed)
            .part("moved with", MOVE_IRQ),
    )
}

/// Whether writing its mask moves an interrupt, and why not.
fn movable(seen: &machine::Interrupt, here: &dyn Surroundings) -> String {
    match seen.immovable() {
        Some(reason) if !reason.follows_managed_irq() => format!("no: {}", reason.why()),
        Some(_) if here.lacks_managed_irq() => {
            "no: the kernel manages its mask and refuses a change; isolcpus=managed_irq needs kernel 5.6".to_owned()
        }
        Some(_) => {
            "no: the kernel manages its mask and refuses a change; isolcpus=managed_irq,CPUS at boot is the only way"
                .to_owned()
        }
        None if seen.settable.or(seen.managed.map(|managed| !managed)).is_some() => "yes".to_owned(),
        None => "this kernel reports it only when a change is tried".to_owned(),
    }
}

const MOVE_IRQ: &str = "/proc/irq/N/smp_affinity_list (knob irq_affinity)";

#[cfg(test)]
mod tests {
    use super::super::surroundings::ExampleMachine;
    use crate::explain::{explain, explain_text};
    use crate::style::Style;
    use machine::Interrupt;

    #[test]
    fn an_interrupt_shows_its_state_on_this_machine() {
        let seen = Interrupt {
            irq: 47,
            name: "ahci".to_owned(),
            affinity: machine::CpuSet::parse_list("0-3").ok(),
            managed: Some(true),
            counts: vec![(0, 5), (3, 70)],
            ..Interrupt::default()
        };
        let entries = explain(
            "irq/47",
            &ExampleMachine {
                interrupt: Some(seen.clone()),
                ..ExampleMachine::default()
            },
        )
        .unwrap();
        let text = explain_text(&entries, Style::Plain);
        for part in [
            "ahci",
            "CPU 0-3",
            "75 times since the boot: 70 on CPU 3, 5 on CPU 0",
            "isolcpus=managed_irq",
        ] {
            assert!(
                text.split_whitespace().collect::<Vec<_>>().join(" ").contains(part),
                "{part} in {text}"
            );
        }
        let old = ExampleMachine {
            interrupt: Some(seen),
            lacks_managed_irq: true,
            ..ExampleMachine::default()
        };
        let text = explain_text(&explain("irq/47", &old).unwrap(), Style::Plain);
        assert!(
            text.contains("needs kernel 5.6") && !text.contains("at boot is the only way"),
            "{text}"
        );
    }
}
