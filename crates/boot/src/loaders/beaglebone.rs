//! Supports BeagleBone and compatible boards: U-Boot adds `cmdline` of `/boot/uEnv.txt` to the boot line.

use super::{
    Adds, Entry, Keeper, Loader, Words, entries_as_they_are, no_refusal, no_remarks, nothing_to_run, variable,
};
use crate::BootError;
use crate::line::Line;
use crate::tree::{self, Tree};

const PATH: &str = "/boot/uEnv.txt";
const VARIABLE: &str = "cmdline";

/// The BeagleBone.
pub static LOADER: Loader = Loader {
    name: "beaglebone",
    about: "BeagleBoard's /boot/uEnv.txt",
    find,
    lines,
    entries,
    commit: nothing_to_run,
    fallback: variable::no_fallback,
    trial: variable::NO_TRIAL,
    words: Words::Plain,
    keeper: Keeper::Files,
    efi_name: None,
    source: entries_as_they_are,
    adds: Adds::Anything,
    remarks: no_remarks,
    refuses: no_refusal,
};

fn find(tree: &dyn Tree) -> Option<String> {
    tree::is_there(tree, PATH).then(|| PATH.to_owned())
}

fn lines(tree: &dyn Tree) -> Result<Vec<Line>, BootError> {
    Ok(vec![variable::environment(tree, PATH, VARIABLE)?])
}

fn entries(tree: &dyn Tree) -> Vec<Entry> {
    variable::only_entry(tree, PATH, VARIABLE).into_iter().collect()
}
