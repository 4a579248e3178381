//! Reads TuneD's own words for the boot line. Its profiles pass them to GRUB as the variable `tuned_params`: the script
//! `/etc/grub.d/00_tuned` writes it into `grub.cfg`, entry files end with `$tuned_params`, and the environment block holds the
//! value. TuneD never removes words of others and does not know ours, so the kernel may get a parameter twice.

use crate::shell::assignments;
use crate::tree::FileTree;
use machine::cmdline::{Parameter, same_name, words};

/// TuneD's own record of the words that its profile adds (`TUNED_BOOT_CMDLINE="..."`).
const BOOT_CMDLINE_FILE: &str = "/etc/tuned/bootcmdline";

/// GRUB's copy of them.
const BLOCKS: &[&str] = &["/boot/grub2/grubenv", "/boot/grub/grubenv"];

/// What TuneD adds to every line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedWords {
    /// Its words.
    pub words: Vec<String>,
    /// The file that contains them.
    pub path: String,
}

/// What TuneD adds on a machine; `None` if it adds nothing.
#[must_use]
pub fn tuned(tree: &dyn FileTree) -> Option<TunedWords> {
    let of = |path: &str, text: &str| {
        let words: Vec<String> = words(text).map(str::to_owned).collect();
        (!words.is_empty()).then(|| TunedWords {
            words,
            path: path.to_owned(),
        })
    };
    let recorded = tree.read_text(BOOT_CMDLINE_FILE).unwrap_or_default();
    let last = assignments(&recorded)
        .into_iter()
        .rfind(|one| one.name == "TUNED_BOOT_CMDLINE");
    let recorded_line = last.and_then(|one| Some(one.writing?.read(&recorded[one.range])));
    let block = |path: &&str| {
        let text = tree.read_text(path)?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix("tuned_params="))
            .map(str::to_owned);
        of(path, &value?)
    };
    recorded_line
        .and_then(|text| of(BOOT_CMDLINE_FILE, &text))
        .or_else(|| BLOCKS.iter().find_map(block))
}

impl TunedWords {
    /// TuneD's words for parameters that the given words set to another value.
    #[must_use]
    pub fn against(&self, ours: &[String]) -> Vec<String> {
        let differs = |theirs: &&String| {
            let theirs_is = Parameter::parse(theirs);
            let mut same = ours
                .iter()
                .map(|word| Parameter::parse(word))
                .filter(|one| same_name(&one.name, &theirs_is.name));
            same.any(|one| one != theirs_is)
        };
        self.words.iter().filter(differs).cloned().collect()
    }

    /// A remark next to our words; `None` if there is no conflict.
    #[must_use]
    pub fn note(&self, ours: &[String]) -> Option<String> {
        let theirs = self.against(ours);
        (!theirs.is_empty()).then(|| {
            format!(
                "TuneD adds {} to every line ({}), and quietcore adds the same parameters: remove them from the \
                 profile's [bootloader] section or choose another profile (`tuned-adm profile NAME`) and restart, or \
                 leave these parameters to TuneD and set only the others (`boot set --params`)",
                theirs.join(" "),
                self.path
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Text(BTreeMap<&'static str, &'static str>);

    impl FileTree for Text {
        fn bytes(&self, path: &str) -> Option<Vec<u8>> {
            self.0.get(path).map(|text| text.as_bytes().to_vec())
        }
        fn names(&self, _dir: &str) -> Vec<String> {
            Vec::new()
        }
        fn link(&self, _path: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn words_of_tuned_are_found_and_conflicts_are_reported() {
        let kept = "# kernel options\nTUNED_BOOT_CMDLINE=\"skew_tick=1 isolcpus=2 nohz_full=2-3\"\nTUNED_BOOT_INITRD_ADD=\"\"\n";
        let block = "# GRUB Environment Block\ntuned_params=isolcpus=1\n####";
        let seen = |files: &[(&'static str, &'static str)]| tuned(&Text(files.iter().copied().collect()));
        let both = seen(&[(BOOT_CMDLINE_FILE, kept), (BLOCKS[0], block)]).unwrap_or_else(|| panic!("not found"));
        assert_eq!((both.words.len(), both.path.as_str()), (3, BOOT_CMDLINE_FILE));
        let ours: Vec<String> = ["isolcpus=2-3", "nohz_full=2-3"].map(str::to_owned).into();
        assert_eq!(both.against(&ours), ["isolcpus=2"]);
        assert!(both.note(&ours).is_some_and(|note| note.contains("tuned-adm profile")));
        assert_eq!(both.note(&ours[1..]), None, "the same word twice is no conflict");
        let shared = seen(&[(BOOT_CMDLINE_FILE, "TUNED_BOOT_CMDLINE=\n"), (BLOCKS[1], block)]);
        assert_eq!(shared.map(|one| one.path), Some(BLOCKS[1].to_owned()));
        assert_eq!(seen(&[(BLOCKS[0], "tuned_params=\n")]), None);
    }
}
