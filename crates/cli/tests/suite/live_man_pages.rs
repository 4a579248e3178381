//! The pages of `quietcore man`, read by the real `man`.

use crate::support::program::quietcore;
use std::path::Path;
use std::process::Command;

/// The text that `man` shows. Fails if it warns.
fn shown(page: &Path) -> String {
    let output = Command::new("man")
        .args(["--warnings", "--encoding=UTF-8", "--no-justification", "--local-file"])
        .arg(page)
        .env("LC_ALL", "C.UTF-8")
        .env("MANWIDTH", "100")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {output:?}", page.display());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", page.display());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn man_shows_every_page_without_a_warning() {
    if Command::new("man").arg("--version").output().is_err() {
        println!("SKIP: man_shows_every_page_without_a_warning: there is no man; `scripts/setup test` installs it");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("share/man1");
    let written = quietcore(&["man", "--out", pages.to_str().unwrap()]);
    assert!(written.status.success(), "{written:?}");
    let written = String::from_utf8(written.stdout).unwrap();
    assert!(written.lines().count() > 40, "{written}");
    for path in written.lines().map(Path::new) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = shown(path);
        assert!(text.contains(&format!("NAME\n       {name} - ")), "{text}");
        assert!(text.contains("\nSYNOPSIS\n       quietcore "), "{text}");
        for section in ["OPTIONS", "EXAMPLES", "EXIT STATUS"] {
            assert!(text.contains(&format!("{section}\n")), "{name}: {section}: {text}");
        }
    }
    let of_apply = shown(&pages.join("quietcore-apply.1"));
    let example = "\nEXAMPLES\n         sudo quietcore apply --cpus 2-3  ";
    assert!(of_apply.contains(example), "{of_apply}");
    assert!(of_apply.contains("\nSEE ALSO\n       quietcore(1)\n"), "{of_apply}");
    let source = concat!("\nquietcore ", env!("CARGO_PKG_VERSION"), "  ");
    assert!(of_apply.contains(source), "{of_apply}");
}
