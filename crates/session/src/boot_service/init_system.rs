//! The files by which systemd or init scripts recreate the declared partitions at boot.

use super::with_program;
use root::{Failure, PathKind, PathState, Root, Status};

const UNIT: &str = include_str!("../../../../packaging/systemd/quietcore.service");
const SCRIPT: &str = include_str!("../../../../packaging/init.d/quietcore");

/// What starts services on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitSystem {
    /// A systemd unit.
    Systemd,
    /// A script in /etc/init.d with links in /etc/rcN.d.
    Scripts,
}

impl InitSystem {
    /// The one that this machine has.
    ///
    /// # Errors
    /// A machine with neither.
    pub fn found(root: &Root) -> Result<InitSystem, Failure> {
        let is_dir = |path| matches!(root.kind(path), Ok(Some(PathKind::Dir)));
        if is_dir("/run/systemd/system") {
            return Ok(InitSystem::Systemd);
        }
        if is_dir("/etc/init.d") {
            return Ok(InitSystem::Scripts);
        }
        Err(Failure::new(
            Status::Unable,
            "it is unknown what starts services here",
            "systemd does not run, and there is no directory /etc/init.d",
            "choose one with --install-unit systemd or --install-unit init.d, or run `quietcore apply --at-boot` at the \
             end of the boot",
        ))
    }

    /// The files and links that recreate the declared partitions at boot.
    #[must_use]
    pub fn files(self, program: &str) -> Vec<(String, PathState)> {
        let text = |text: &str, mode| PathState::text(with_program(text, program), mode);
        match self {
            InitSystem::Systemd => vec![
                ("/etc/systemd/system/quietcore.service".to_owned(), text(UNIT, 0o644)),
                (
                    "/etc/systemd/system/multi-user.target.wants/quietcore.service".to_owned(),
                    PathState::Link("../quietcore.service".to_owned()),
                ),
            ],
            InitSystem::Scripts => {
                let mut files = vec![("/etc/init.d/quietcore".to_owned(), text(SCRIPT, 0o755))];
                let starts = [2, 3, 4, 5].map(|level| (level, "S99"));
                let stops = [0, 1, 6].map(|level| (level, "K01"));
                for (level, order) in starts.into_iter().chain(stops) {
                    let link = PathState::Link("../init.d/quietcore".to_owned());
                    files.push((format!("/etc/rc{level}.d/{order}quietcore"), link));
                }
                files
            }
        }
    }
}

/// What would be done at a path, with the content of a new file.
#[must_use]
pub fn install_preview(path: &str, wanted: &PathState, actual: &PathState) -> String {
    match (wanted, actual) {
        (wanted, actual) if wanted == actual => format!("{path} is already installed\n"),
        (PathState::Link(target), _) => format!("would link {path} -> {target}\n"),
        (PathState::File { content, mode }, actual) => {
            let verb = match actual {
                PathState::Nothing => "write",
                _ => "replace",
            };
            let content = String::from_utf8_lossy(content.bytes());
            let lines: String = content.lines().map(|line| format!("  {line}\n")).collect();
            format!("would {verb} {path} (mode {mode:04o}):\n{lines}")
        }
        _ => format!("would create {path}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_shows_each_link_and_the_content_of_each_new_file() {
        let shown = |actual: &dyn Fn(&PathState) -> PathState| {
            let files = InitSystem::Systemd.files("/usr/bin/quietcore");
            let lines = files
                .iter()
                .map(|(path, wanted)| install_preview(path, wanted, &actual(wanted)));
            lines.collect::<String>()
        };
        let new = shown(&|_| PathState::Nothing);
        assert!(
            new.starts_with("would write /etc/systemd/system/quietcore.service (mode 0644):\n  "),
            "{new}"
        );
        assert!(new.contains("  ExecStart=/usr/bin/quietcore apply --at-boot"), "{new}");
        assert!(
            new.ends_with("multi-user.target.wants/quietcore.service -> ../quietcore.service\n"),
            "{new}"
        );
        let other = shown(&|_| PathState::text("other", 0o644));
        assert!(other.starts_with("would replace "), "{other}");
        let installed = shown(&PathState::clone);
        assert_eq!(installed.matches("is already installed").count(), 2, "{installed}");
        assert!(!installed.contains("would"), "{installed}");
    }
}
