//! Supports BeagleBone and compatible boards: U-Boot adds `cmdline` of `/boot/uEnv.txt` to the boot line.

use super::{Loader, LoaderAdditions, variable};

const PATH: &str = "/boot/uEnv.txt";
const VARIABLE: &str = "cmdline";

/// The BeagleBone.
pub static LOADER: Loader = Loader {
    name: "beaglebone",
    about: "BeagleBoard's /boot/uEnv.txt",
    find: |tree| tree.is_there(PATH).then(|| PATH.to_owned()),
    lines: |tree| Ok(vec![variable::environment(tree, PATH, VARIABLE)?]),
    entries: |tree| variable::only_entry(tree, PATH, VARIABLE).into_iter().collect(),
    fallback: variable::no_fallback,
    trial: variable::NO_TRIAL,
    adds: LoaderAdditions::Anything,
    ..Loader::PLAIN
};
