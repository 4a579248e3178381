//! BeagleBone and its kin: U-Boot takes `cmdline` of `/boot/uEnv.txt` into the boot line.

use super::{Entry, Fallback, Keeper, Loader, Words, no_remark, nothing_to_run, one_line_fallback, variable};
use crate::BootError;
use crate::line::Line;
use crate::tree::{self, Tree};
use crate::trial::Trial;

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
    fallback,
    trial: Trial::Cannot {
        why: "U-Boot reads one environment file, whatever happened at the last boot",
        next: "use `boot set --force` where you reach the console of the board or its card in another computer",
    },
    words: Words::Plain,
    keeper: Keeper::Files,
    efi_name: None,
    remark: no_remark,
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

fn fallback(_tree: &dyn Tree) -> Result<Fallback, BootError> {
    Ok(one_line_fallback(
        "U-Boot's script starts one entry with one line",
    ))
}
