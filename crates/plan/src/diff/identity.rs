//! Determines whether two readings are of one machine. No serial numbers are captured, so the hardware decides.

use super::MachineReading;

/// What does not match one machine, in words.
pub(super) fn differences(before: &MachineReading, after: &MachineReading) -> Vec<String> {
    let dmi = |reading: &MachineReading, name: &str| {
        let suffix = format!("/id/{name}");
        let found = reading.settings.values.iter().find(|(path, _)| path.ends_with(&suffix));
        found.map(|(_, value)| value.clone())
    };
    let topology = |reading: &MachineReading| {
        let topology = &reading.machine.topology;
        let present = Some(topology.present_cpus()).filter(|cpus| !cpus.is_empty());
        (
            present.map(|cpus| cpus.to_string()),
            topology.model_name.clone(),
            topology.hypervisor.clone(),
        )
    };
    let (one, other) = (topology(before), topology(after));
    let facts = [
        ("processor", one.1, other.1),
        ("CPUs plugged in", one.0, other.0),
        ("hypervisor", one.2, other.2),
        ("vendor", dmi(before, "sys_vendor"), dmi(after, "sys_vendor")),
        ("product", dmi(before, "product_name"), dmi(after, "product_name")),
    ];
    let differs = facts.into_iter().filter_map(|(name, before, after)| {
        let (before, after) = (before?, after?);
        (before != after).then(|| format!("{name}: {before} -> {after}"))
    });
    differs.collect()
}
