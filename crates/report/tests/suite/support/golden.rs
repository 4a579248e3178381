//! Golden files: compared with the rendered output, or rewritten with `QUIETCORE_BLESS=1`.

use std::path::PathBuf;

/// Compares a text with its golden file.
pub fn check(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("QUIETCORE_BLESS").is_some() {
        std::fs::write(&path, found).expect("the golden file can be written");
        return;
    }
    let wanted = std::fs::read_to_string(&path).expect("a golden file; QUIETCORE_BLESS=1 writes it");
    if wanted == found {
        return;
    }
    let differs = wanted
        .lines()
        .zip(found.lines())
        .position(|(wanted, found)| wanted != found);
    let line = differs.unwrap_or_else(|| wanted.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
    panic!(
        "{name} differs in line {}:\nwanted {}\nfound  {}\nQUIETCORE_BLESS=1 writes it again",
        line + 1,
        at(&wanted),
        at(found)
    );
}
