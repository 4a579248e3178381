//! Supports Armbian and derivatives with its script (Orange Pi, DietPi): U-Boot appends `extraargs` of the environment file.

use super::{Loader, LoaderAdditions, variable};
use crate::BootError;
use crate::line::EntryLine;
use crate::tree::FileTree;

/// The names of the environment file: Armbian's, Orange Pi's, DietPi's (the latter also next to the firmware).
const PATHS: &[&str] = &[
    "/boot/armbianEnv.txt",
    "/boot/orangepiEnv.txt",
    "/boot/dietpiEnv.txt",
    "/boot/firmware/dietpiEnv.txt",
];
const VARIABLE: &str = "extraargs";

/// Armbian.
pub static LOADER: Loader = Loader {
    name: "armbian",
    about: "Armbian's /boot/armbianEnv.txt, or the same file of Orange Pi or DietPi",
    find,
    lines,
    entries: |tree| {
        path(tree)
            .and_then(|path| variable::only_entry(tree, path, VARIABLE))
            .into_iter()
            .collect()
    },
    fallback: variable::no_fallback,
    trial: variable::NO_TRIAL,
    adds: LoaderAdditions::Anything,
    ..Loader::PLAIN
};

fn path(tree: &dyn FileTree) -> Option<&'static str> {
    PATHS.iter().find(|path| tree.is_there(path)).copied()
}

fn find(tree: &dyn FileTree) -> Option<String> {
    path(tree).map(str::to_owned)
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let path = path(tree).into_iter();
    path.map(|path| variable::environment(tree, path, VARIABLE)).collect()
}
