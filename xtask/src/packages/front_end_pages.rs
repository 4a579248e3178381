//! Writes the man pages of the front ends. Each has the help that the program prints under that name.

use super::contents::FRONT_ENDS;
use crate::error::{TaskResult, output};
use std::path::Path;
use std::process::Command;

/// File names and texts, one page for each front end. `native` is the program for this machine.
pub(super) fn pages(native: &Path) -> TaskResult<Vec<(String, String)>> {
    let page = |name: &str| {
        let help = output(Command::new(native).args([name, "-h"]))?;
        Ok((format!("{name}.1"), page(name, &help)))
    };
    FRONT_ENDS.iter().map(|name| page(name)).collect()
}

fn page(name: &str, help: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let help = escaped(help);
    format!(
        ".TH {name} 1 \"\" \"quietcore {version}\"\n\
         .SH NAME\n{name} \\- the command line of {name}, by quietcore\n\
         .SH SYNOPSIS\n.B {name}\n[\\fIARGUMENTS\\fR]\n.br\n.B quietcore {name}\n[\\fIARGUMENTS\\fR]\n\
         .SH DESCRIPTION\nquietcore carries out the command lines of {name}, with the exit statuses of that program.\n\
         .SH HELP\n.nf\n{help}.fi\n\
         .SH SEE ALSO\nquietcore(1)\n"
    )
}

/// Text in which nothing is a command or a special letter of roff.
fn escaped(text: &str) -> String {
    let letters = [
        ('-', "\\-"),
        ('\'', "\\(aq"),
        ('`', "\\(ga"),
        ('^', "\\(ha"),
        ('~', "\\(ti"),
    ];
    let line = |line: &str| {
        let mut safe = line.trim_end().replace('\\', "\\e");
        for (letter, name) in letters {
            safe = safe.replace(letter, name);
        }
        // A dot at its beginning makes a line a command.
        let guard = if safe.starts_with('.') { "\\&" } else { "" };
        format!("{guard}{safe}\n")
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_is_text_and_no_command_of_roff() {
        let page = page("cset", "cset -h\n.so /etc/passwd\n'x \\n 'y'\n");
        let help = "\n.nf\ncset \\-h\n\\&.so /etc/passwd\n\\(aqx \\en \\(aqy\\(aq\n.fi\n";
        assert!(page.contains(help), "{page}");
        assert!(page.starts_with(".TH cset 1 "), "{page}");
    }
}
