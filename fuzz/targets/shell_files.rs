//! Shell files of a boot loader (`/etc/default/grub`): evaluated or refused. Sections after the first are files that
//! the first may source.

use super::{FuzzTarget, owned, sections, text};
use boot::{Dialect, ExternalFiles, FileKind, ShellFile, ShellValue, evaluate};

/// The longest value that is evaluated (`MOST_VALUE` of crates/boot/src/evaluation.rs).
const LONGEST: usize = 8192;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "shell_files",
    seeds: || {
        owned(&[
            "GRUB_CMDLINE_LINUX=\"quiet $A ${B:-x}\"\nif [ -n \"$A\" ] || test -f /etc/a; then export A='b'; else A+=c; fi\n",
            "case $A in (a*|'b?') B=1;; [!x-z]) C=$((1 + 2)) ;; *) unset B ;; esac\nfor i in a b; do :; done\n",
            ". /etc/default/b && A=${A#a} B=${A%%*x} C=${#A} # c\nA=\"$A $A\"\nA=\"$A $A\"\n\u{1e}D=`x` E=$(y)\n. /etc/default/b\n",
            "A=a\\\nb\nf() { local B=1; return 0; }\nf\n[[ $A == a* ]] && { A=1; } || ! ( B=2 )\necho $A > /dev/null\n",
            "A=${A:+${A:+${A:+${A:+x}}}}\nset -- a b; shift; eval A=1\ncat <<X\n$A\nX\n",
        ])
    },
    run: |bytes| {
        let all: Vec<String> = sections(bytes).map(|part| text(part).into_owned()).collect();
        let first = ShellFile {
            path: "/etc/default/grub".to_owned(),
            text: all[0].clone(),
        };
        let number = |path: &str| path.bytes().next_back().map_or(0, |byte| usize::from(byte % 4));
        let outside = ExternalFiles {
            text: &|path| all.get(number(path) + 1).cloned(),
            kind: &|path| match number(path) {
                0 => Some(FileKind::File { is_empty: Some(false) }),
                1 => Some(FileKind::Dir),
                2 => Some(FileKind::Missing),
                _ => None,
            },
        };
        for dialect in [Dialect::Bash, Dialect::Posix] {
            let Ok(variables) = evaluate(std::slice::from_ref(&first), &["A", "B"], dialect, &outside) else {
                continue;
            };
            for setting in &variables.settings {
                if let ShellValue::Text(value) = &setting.value {
                    assert!(value.len() <= LONGEST, "{} bytes", value.len());
                    assert!(setting.line > 0);
                }
            }
        }
    },
};
