//! Supports rEFInd: each line of `refind_linux.conf`, next to the kernels, is a title and a boot line in quotes;
//! `refind.conf` may have manual entries (`menuentry`). rEFInd has no one-shot entry, so the files are not edited.

use super::file_line::{self, FileLine};
use super::{Loader, evidence};
use crate::tree::FileTree;
use crate::trial::Trial;
use crate::{BootError, merge};
use std::ops::Range;

/// Lines for kernels in the same directory.
const OF_KERNELS: &str = "/boot/refind_linux.conf";

/// rEFInd's own file, on an EFI system partition.
const OWN: &[&str] = &[
    "/boot/efi/EFI/refind/refind.conf",
    "/efi/EFI/refind/refind.conf",
    "/boot/EFI/refind/refind.conf",
    "/boot/efi/EFI/BOOT/refind.conf",
    "/efi/EFI/BOOT/refind.conf",
    "/boot/EFI/BOOT/refind.conf",
];

/// rEFInd.
pub static LOADER: Loader = Loader {
    name: "refind",
    about: "rEFInd with refind_linux.conf, which quietcore reads and does not edit",
    find: |tree| evidence::of_display_only(tree, "refind", file(tree)),
    lines: |tree| Ok(all(tree).iter().map(|one| one.line("options")).collect()),
    entries: |tree| all(tree).into_iter().map(FileLine::entry).collect(),
    trial: Trial::By(|tree, one_boot| Err(refusal(tree, &one_boot.words))),
    efi_name: Some("refind"),
    refuses: |tree, words| Some(refusal(tree, words)),
    ..file_line::DISPLAYED
};

/// A file with boot lines of Linux.
pub(super) fn file(tree: &dyn FileTree) -> Option<String> {
    let own = OWN.iter().find(|path| !of_own(tree, path).is_empty());
    let of_kernels = tree.is_there(OF_KERNELS).then_some(&OF_KERNELS);
    of_kernels.or(own).map(ToString::to_string)
}

fn all(tree: &dyn FileTree) -> Vec<FileLine> {
    let own = OWN.iter().flat_map(|path| of_own(tree, path));
    of_kernels(tree).into_iter().chain(own).collect()
}

/// `"Boot with standard options" "root=UUID=1 rw"`: rEFInd starts the first line by default.
fn of_kernels(tree: &dyn FileTree) -> Vec<FileLine> {
    let text = tree.read_text(OF_KERNELS).unwrap_or_default();
    let mut found = Vec::new();
    for (number, range, line) in file_line::lines(&text) {
        let Some(title) = quoted(line, 0).filter(|_| line.trim_start().starts_with('"')) else {
            continue;
        };
        if let Some(options) = quoted(line, title.end + 1) {
            found.push(file_line_at(
                OF_KERNELS,
                number,
                &line[title],
                (range.start, line, options),
            ));
        }
    }
    found
}

/// `options "..."` of the entries in rEFInd's own file.
fn of_own(tree: &dyn FileTree, path: &str) -> Vec<FileLine> {
    let text = tree.read_text(path).unwrap_or_default();
    let mut title = String::new();
    let mut found = Vec::new();
    for (number, range, line) in file_line::lines(&text) {
        let bare = line.trim_start();
        if bare.starts_with("menuentry") || bare.starts_with("submenuentry") {
            title = quoted(line, 0).map_or_else(String::new, |range| line[range].to_owned());
        } else if bare.starts_with("options")
            && let Some(options) = quoted(line, 0)
        {
            found.push(file_line_at(path, number, &title, (range.start, line, options)));
        }
    }
    found
}

/// The offset of a line in the file, the line, and the range of its options.
type OptionLine<'a> = (usize, &'a str, Range<usize>);

fn file_line_at(path: &str, number: usize, title: &str, (start, line, options): OptionLine) -> FileLine {
    FileLine {
        path: path.to_owned(),
        number,
        title: title.to_owned(),
        range: start + options.start..start + options.end,
        written: line.trim_end().to_owned(),
        text: line[options].replace("\"\"", "\""),
    }
}

/// The next text in double quotes from an offset on, without the quotes. A doubled quote is a literal quote.
fn quoted(line: &str, from: usize) -> Option<Range<usize>> {
    let start = from + line.get(from..)?.find('"')? + 1;
    let mut at = start;
    loop {
        let end = at + line.get(at..)?.find('"')?;
        if line.get(end + 1..).is_some_and(|rest| rest.starts_with('"')) {
            at = end + 2;
        } else {
            return Some(start..end);
        }
    }
}

fn refusal(tree: &dyn FileTree, words: &[String]) -> BootError {
    let next = match file_line::started(tree, all(tree)) {
        Some(one) => {
            let merged = merge::on_line(&one.text, words).replace('"', "\"\"");
            let before = one.text.replace('"', "\"\"");
            let line = one
                .written
                .replacen(&format!("\"{before}\""), &format!("\"{merged}\""), 1);
            format!(
                "line {} of {} ({}) becomes `{}`{}",
                one.number,
                one.path,
                one.title,
                line.trim_start(),
                file_line::without_words(words)
            )
        }
        None => format!(
            "add `{}` to the second quoted text of the first line of {OF_KERNELS}",
            file_line::words(words)
        ),
    };
    BootError::DisplayOnly {
        loader: "rEFInd".to_owned(),
        why: (LOADER.find)(tree).unwrap_or_default(),
        next,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_doubled_quote_stays_inside_the_quoted_text() {
        let line = "\"Boot\" \"a=\"\"x y\"\" b\"";
        let title = quoted(line, 0).unwrap();
        assert_eq!(&line[title.clone()], "Boot");
        let options = quoted(line, title.end + 1).unwrap();
        assert_eq!(&line[options], "a=\"\"x y\"\" b");
        assert_eq!((quoted("\"open", 0), quoted("", 0), quoted("x", 9)), (None, None, None));
    }
}
