//! Supports Debian's u-boot-menu: `u-boot-update` generates `extlinux.conf` from `/etc/default/u-boot`, for boards with U-Boot.

use super::kernel_cmdline::{self, Extent, PATH as KERNEL_CMDLINE};
use super::systemd_boot::LATER;
use super::{EntrySource, Fallback, Loader, extlinux, extlinux_conf, variable};
use crate::BootError;
use crate::line::EntryLine;
use crate::shell::assignments;
use crate::tools::first_of;
use crate::tree::FileTree;
use crate::trial::Trial;

const DEFAULTS: &str = "/etc/default/u-boot";
const PARAMETERS: &str = "U_BOOT_PARAMETERS";

/// The default of `u-boot-update` if the variable is not set (u-boot-update(8)).
const UNSET: &str = "ro quiet ";

/// Snippets of images that set the same variables.
const SNIPPETS: &str = "/usr/share/u-boot-menu/conf.d";

/// u-boot-menu.
pub static LOADER: Loader = Loader {
    name: "u-boot-menu",
    about: "U-Boot with /etc/default/u-boot and u-boot-update (Debian, Ubuntu on boards)",
    find,
    lines,
    entries: extlinux::entries,
    commit: |tree, _| Ok(vec![first_of(tree, &[("u-boot-update", &[])])?]),
    fallback,
    trial: Trial::Cannot {
        why: "U-Boot cannot select an entry of extlinux.conf for one boot",
        next: "use `boot set`: you can choose the rescue label on the console",
    },
    source,
    remarks,
    refuses,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let path = extlinux::place(tree)?;
    tree.is_there(DEFAULTS).then(|| format!("{DEFAULTS} and {path}"))
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    if is_of_kernel_cmdline(tree) {
        let line = kernel_cmdline::line(tree, LATER, Extent::FirstLine)?;
        return Ok(line.into_iter().collect());
    }
    Ok(vec![variable::shell(tree, DEFAULTS, PARAMETERS, UNSET)?])
}

/// Whether the line is that of `/etc/kernel/cmdline`, as on Ubuntu's images.
fn is_of_kernel_cmdline(tree: &dyn FileTree) -> bool {
    let snippets = tree
        .names(SNIPPETS)
        .into_iter()
        .map(|name| format!("{SNIPPETS}/{name}"));
    let all = snippets.chain([DEFAULTS.to_owned()]);
    let values = all.filter_map(|path| {
        let text = tree.read_text(&path)?;
        let one = assignments(&text).into_iter().rfind(|one| one.name == PARAMETERS)?;
        Some(text[one.range].to_owned())
    });
    values.last().is_some_and(|value| value.contains(KERNEL_CMDLINE))
}

fn remarks(tree: &dyn FileTree) -> Vec<String> {
    let lost = is_of_kernel_cmdline(tree).then(|| kernel_cmdline::lost(tree, "u-boot-update"));
    lost.flatten().into_iter().collect()
}

fn source(tree: &dyn FileTree) -> EntrySource {
    let (files, place) = match is_of_kernel_cmdline(tree) {
        true => (KERNEL_CMDLINE, KERNEL_CMDLINE.to_owned()),
        false => (DEFAULTS, format!("{PARAMETERS} in {DEFAULTS}")),
    };
    EntrySource::Settings {
        files: files.to_owned(),
        place,
        tool: "u-boot-update".to_owned(),
        generated: extlinux::place(tree).unwrap_or_default().to_owned(),
        entries: extlinux::entries(tree),
        by_tool: Vec::new(),
    }
}

fn refuses(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    variable::refuses(
        lines(tree),
        tree,
        words,
        &format!("{PARAMETERS} in {DEFAULTS}"),
        "u-boot-update",
    )
}

fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    let text = extlinux::place(tree)
        .and_then(|path| tree.read_text(path))
        .unwrap_or_default();
    let labels = extlinux_conf::labels(&text);
    let rescue = labels.iter().find(|label| extlinux_conf::is_rescue(&text, label));
    Ok(match rescue {
        Some(label) => Fallback::Stays(format!("`{}`", label.title)),
        None => Fallback::none(
            "u-boot-update gives all entries the same line",
            "add --force if you can use the board's console or read its card in another computer",
        ),
    })
}
