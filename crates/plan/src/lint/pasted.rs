//! Detects a boot loader variable on the line: `GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=3"`, pasted whole or caused
//! by an extra quote in `/etc/default/grub`. The kernel parses it as one unknown parameter (`init/main.c`,
//! `unknown_bootoption`), so every parameter in its value is lost.

use super::Check::EachWord;
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::Error;

/// Variables in files that hold a boot line.
const VARIABLES: &[&str] = &[
    "GRUB_CMDLINE_LINUX",
    "GRUB_CMDLINE_LINUX_DEFAULT",
    "GRUB_CMDLINE_LINUX_RECOVERY",
    "GRUB_CMDLINE_XEN_REPLACE",
    "KERNEL_CMDLINE",
    "U_BOOT_PARAMETERS",
    "extraargs",
    "default_kernel_opts",
];

pub(super) const VARIABLE: LintRule = rule(
    "loader-variable",
    Error,
    "this is a variable of the boot loader's file: the kernel reads the whole text as one unknown parameter, and its \
     value has no effect",
    "add only the value",
    EachWord(|_, place, word| {
        VARIABLES.contains(&word.name()).then(|| match word.value() {
            "" => word.hit().drop([place]),
            value => word.hit().edit(LineEdit::Set(place, value.to_owned())),
        })
    }),
);

/// The boot line in an assignment to such a variable, if that is the whole text; `None` for any other text.
#[must_use]
pub fn assigned(text: &str) -> Option<&str> {
    let (name, value) = text.trim().split_once('=')?;
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let inner = quoted('"').or_else(|| quoted('\''))?;
    (VARIABLES.contains(&name.trim()) && !inner.contains(['"', '\''])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::assigned;

    #[test]
    fn only_a_complete_assignment_is_unwrapped() {
        for (text, line) in [
            (
                "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=3\"",
                Some("quiet isolcpus=3"),
            ),
            (" GRUB_CMDLINE_LINUX='isolcpus=3'\n", Some("isolcpus=3")),
            ("GRUB_CMDLINE_LINUX=isolcpus=3", None),
            ("GRUB_CMDLINE_LINUX=\"a\" isolcpus=\"3\"", None),
            ("dyndbg=\"file a.c +p\"", None),
            ("quiet", None),
        ] {
            assert_eq!(assigned(text), line, "{text}");
        }
    }
}
