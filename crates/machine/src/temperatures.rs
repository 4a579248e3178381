//! Reads temperatures from the kernel's thermal zones, or from the sensors of hwmon if there is no zone.
//!
//! Both are text in thousandths of a degree Celsius (the kernel's `Documentation/driver-api/thermal/sysfs-api.rst` and
//! `Documentation/hwmon/sysfs-interface.rst`). A virtual machine usually has neither.

use root::Root;
use serde::{Deserialize, Serialize};

const ZONES: &str = "/sys/class/thermal";
const CHIPS: &str = "/sys/class/hwmon";

/// Driver names of sensors on or in a processor.
const PROCESSOR: [&str; 8] = [
    "cpu",
    "x86_pkg_temp",
    "coretemp",
    "k10temp",
    "k8temp",
    "zenpower",
    "soc",
    "tsens",
];

/// The reading of one sensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temperature {
    /// Its zone's type, or the name of its chip.
    pub sensor: String,
    /// Thousandths of a degree Celsius.
    pub millidegrees_c: i64,
}

/// Parses `48000`; `None` for values that no running processor can have, with which drivers report an unconnected sensor.
#[must_use]
pub fn parse_millidegrees(text: &str) -> Option<i64> {
    let value: i64 = text.trim().parse().ok()?;
    (-55_000..=200_000).contains(&value).then_some(value)
}

/// The hottest processor sensor; the hottest of all sensors if none is known to be a processor's. `None` without sensors.
#[must_use]
pub fn hottest(root: &Root) -> Option<Temperature> {
    let all = temperatures(root);
    let is_of_processor = |one: &&Temperature| {
        let name = one.sensor.to_ascii_lowercase();
        PROCESSOR.iter().any(|known| name.starts_with(known))
    };
    let by_heat = |one: &&Temperature| one.millidegrees_c;
    let of_processor = all.iter().filter(is_of_processor).max_by_key(by_heat);
    of_processor.or_else(|| all.iter().max_by_key(by_heat)).cloned()
}

/// The readings of all sensors. Unreadable ones are skipped: some answer only while their device is awake.
#[must_use]
pub fn temperatures(root: &Root) -> Vec<Temperature> {
    let zones = each(root, ZONES, "thermal_zone", "type", &|name| name == "temp");
    if !zones.is_empty() {
        return zones;
    }
    let is_input = |name: &str| name.starts_with("temp") && name.ends_with("_input");
    each(root, CHIPS, "hwmon", "name", &is_input)
}

fn each(root: &Root, folder: &str, prefix: &str, named_by: &str, is_value: &dyn Fn(&str) -> bool) -> Vec<Temperature> {
    let value = |path: &str| root.readable_value(path);
    let names = |path: &str| {
        let mut names = root.readable_names(path).unwrap_or_default();
        names.sort_unstable();
        names
    };
    let mut found = Vec::new();
    for device in names(folder).iter().filter(|name| name.starts_with(prefix)) {
        let device = format!("{folder}/{device}");
        let sensor = value(&format!("{device}/{named_by}"));
        for name in names(&device).iter().filter(|name| is_value(name)) {
            let reading = value(&format!("{device}/{name}"));
            let Some(millidegrees_c) = reading.as_deref().and_then(parse_millidegrees) else {
                continue;
            };
            found.push(Temperature {
                sensor: sensor.clone().unwrap_or_else(|| device.clone()),
                millidegrees_c,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join("sys/class").join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn the_hottest_processor_sensor_counts_and_disks_do_not() {
        let (_dir, root) = tree(&[
            ("thermal/thermal_zone0/type", "acpitz\n"),
            ("thermal/thermal_zone0/temp", "91000\n"),
            ("thermal/thermal_zone1/type", "x86_pkg_temp\n"),
            ("thermal/thermal_zone1/temp", "48000\n"),
            ("thermal/thermal_zone2/type", "cpu-1-thermal\n"),
            ("thermal/thermal_zone2/temp", "52500\n"),
            ("thermal/thermal_zone3/type", "cpu-2-thermal\n"),
            ("thermal/thermal_zone3/temp", "-273150\n"),
            ("thermal/cooling_device0/type", "Processor\n"),
            ("hwmon/hwmon0/name", "coretemp\n"),
            ("hwmon/hwmon0/temp1_input", "99000\n"),
        ]);
        assert_eq!(temperatures(&root).len(), 3);
        let hottest = hottest(&root).unwrap();
        assert_eq!(
            (hottest.sensor.as_str(), hottest.millidegrees_c),
            ("cpu-1-thermal", 52_500)
        );
    }

    #[test]
    fn hwmon_is_used_without_thermal_zones_and_no_sensor_is_no_error() {
        let (_dir, root) = tree(&[
            ("hwmon/hwmon0/name", "nvme\n"),
            ("hwmon/hwmon0/temp1_input", "70000\n"),
            ("hwmon/hwmon1/name", "k10temp\n"),
            ("hwmon/hwmon1/temp1_input", "41125\n"),
            ("hwmon/hwmon1/temp1_max", "95000\n"),
            ("hwmon/hwmon2/temp1_input", "hot\n"),
        ]);
        assert_eq!(hottest(&root).unwrap().millidegrees_c, 41_125);
        let (_dir, root) = tree(&[("thermal/cooling_device0/type", "Processor\n")]);
        assert_eq!(hottest(&root), None);
        for wrong in ["", "48.0", "200001", "999999999999999999999"] {
            assert_eq!(parse_millidegrees(wrong), None, "{wrong}");
        }
    }
}
