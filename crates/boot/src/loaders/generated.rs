//! Detects entries that another program regenerates from its own configuration: edits are lost with the next kernel.

use crate::BootError;
use crate::tree::FileTree;

/// Exists on every NixOS.
pub const NIXOS: &str = "/etc/NIXOS";

/// The configuration of Pop!_OS's kernelstub.
const KERNELSTUB: &str = "/etc/kernelstub/configuration";

/// NixOS generates the entries of every loader from its configuration.
pub fn nixos(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    tree.is_there(NIXOS).then(|| {
        BootError::unable(
            "an edit of the loader's entries would not last",
            "NixOS generates them from its configuration at every rebuild, without these parameters",
            nixos_next(words),
        )
    })
}

/// The right place for words on NixOS.
pub fn nixos_next(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let list = match quoted.is_empty() {
        true => "...".to_owned(),
        false => quoted.join(" "),
    };
    format!(
        "add `boot.kernelParams = [ {list} ];` to the configuration (/etc/nixos/configuration.nix), then run `nixos-rebuild boot`"
    )
}

/// kernelstub writes the entries of Pop!_OS from its configuration if it manages them.
pub fn kernelstub(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    let text = tree.read_text(KERNELSTUB)?;
    is_managed(&text).then(|| {
        BootError::unable(
            "an edit of the entries of systemd-boot would not last",
            format!("kernelstub generates them from {KERNELSTUB} for every kernel, without these parameters"),
            match words.is_empty() {
                true => "add parameters with `kernelstub -a 'WORDS'`".to_owned(),
                false => format!("run `kernelstub -a '{}'`", words.join(" ")),
            },
        )
    })
}

/// Whether `manage_mode` is on in the user's section, which overrides the defaults.
fn is_managed(text: &str) -> bool {
    let part = text.find("\"user\"").map_or(text, |at| &text[at..]);
    let after = part.split("\"manage_mode\"").nth(1).unwrap_or_default();
    let value = after.trim_start().strip_prefix(':').unwrap_or_default();
    value.trim_start().starts_with("true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_section_of_kernelstub_decides() {
        let text = |default: bool, user: bool| {
            format!(
                "{{\"default\": {{\"manage_mode\": {default}}},\n\"user\": {{\"x\": 1, \"manage_mode\" : {user}}}}}"
            )
        };
        assert!(is_managed(&text(false, true)));
        assert!(!is_managed(&text(true, false)));
        assert!(!is_managed("{}"));
    }
}
