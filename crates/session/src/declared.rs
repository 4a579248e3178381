//! Reads the declared partitions of a machine. Errors carry file and line.

use crate::Session;
use crate::isolation::{existing_cpus, settle};
use machine::{CpuSet, Machine};
use plan::declared::{CpuSpec, Declaration, DeclarationError, MOST_BYTES, PATH, parse};
use plan::{Intent, Plan};
use root::{Failure, Live, PathKind, Status};
use std::path::Path;

/// A file of declarations.
pub struct DeclaredFile {
    /// Its path, as shown.
    pub path: String,
    /// The requested declarations.
    pub declarations: Vec<Declaration>,
    /// The other declarations.
    pub others: Vec<Declaration>,
}

/// The file that the user named, or the machine's own; `None` if the machine has none.
///
/// # Errors
/// A named file that does not exist, one that users other than root may write, and errors in it.
pub fn read(session: &Session, named: Option<&Path>) -> Result<Option<DeclaredFile>, Failure> {
    match named {
        Some(path) => {
            let shown = path.display().to_string();
            let bytes = root::input::bytes(path, MOST_BYTES).map_err(|error| {
                unreadable(
                    &shown,
                    &error,
                    "name a declaration file with --config; `quietcore apply --cpus CPUS --save` writes one",
                )
            })?;
            DeclaredFile::of(shown, &bytes).map(Some)
        }
        None => match own_bytes(session)? {
            Some(bytes) => DeclaredFile::of(PATH.to_owned(), &bytes).map(Some),
            None => Ok(None),
        },
    }
}

/// The content of the machine's own file; `None` if there is none.
///
/// # Errors
/// A file that cannot be read or is not a regular file, and one that users other than root may write.
pub fn own_bytes(session: &Session) -> Result<Option<Vec<u8>>, Failure> {
    let root = session.root();
    let next = "look at this path: it must be a file that root can read, or not exist";
    let mut bytes = Vec::new();
    let there = root
        .bytes_at_most(PATH, MOST_BYTES, &mut bytes)
        .map_err(|error| unreadable(PATH, &error, next))?;
    if !there {
        // A directory reads as missing, but it does not mean that nothing is declared.
        return match root.kind(PATH) {
            Ok(Some(PathKind::Dir)) => Err(Failure::usage(
                format!("{PATH}: cannot be read"),
                "it is a directory",
                next,
            )),
            Ok(_) => Ok(None),
            Err(error) => Err(unreadable(PATH, &error, next)),
        };
    }
    if let Some(live) = session.live_root() {
        refuse_foreign(live, PATH)?;
    }
    Ok(Some(bytes))
}

impl DeclaredFile {
    /// Parses declarations.
    ///
    /// # Errors
    /// Syntax errors and invalid declarations.
    pub fn of(path: String, bytes: &[u8]) -> Result<DeclaredFile, Failure> {
        let declarations = parse(bytes).map_err(|error| wrong(&path, &error))?;
        Ok(DeclaredFile {
            path,
            declarations,
            others: Vec::new(),
        })
    }

    /// A file without declarations, for a caller that knows that there is none.
    #[must_use]
    pub fn empty() -> DeclaredFile {
        DeclaredFile {
            path: PATH.to_owned(),
            declarations: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Only the partition with this name.
    #[must_use]
    pub fn only(mut self, name: &str) -> Option<DeclaredFile> {
        self.retain(|one| one.name().as_str() == name);
        (!self.declarations.is_empty()).then_some(self)
    }

    /// Restricts the request to some of the partitions.
    pub fn retain(&mut self, is_selected: impl Fn(&Declaration) -> bool) {
        let (selected, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.declarations)
            .into_iter()
            .partition(is_selected);
        self.declarations = selected;
        self.others.extend(others);
    }

    /// CPUs that are explicitly named for a partition, so that none of them is chosen for another one.
    ///
    /// # Errors
    /// CPU expressions that cannot be used here, and CPUs that are named twice.
    pub fn named_cpus(&self, machine: &Machine) -> Result<CpuSet, Failure> {
        let mut all = CpuSet::new();
        for one in &self.declarations {
            let CpuSpec::Named(expression) = &one.cpus else {
                continue;
            };
            let cpus = existing_cpus(expression, machine).map_err(|error| self.at(one.line, error))?;
            let twice = all.and(&cpus);
            if !twice.is_empty() {
                let error = Failure::usage(
                    format!("CPU {twice} is declared for two partitions"),
                    format!(
                        "on this machine `{expression}` of partition {} contains it too",
                        one.name()
                    ),
                    "a CPU can be in one partition only: remove it from one of them",
                );
                return Err(self.at(one.line, error));
            }
            all = all.or(&cpus);
        }
        Ok(all)
    }

    /// Plans every declaration on this machine, each after those before it; writes nothing.
    ///
    /// # Errors
    /// The first declaration that cannot be met.
    pub fn plan_all(&self, session: &Session, machine: &Machine) -> Result<Vec<(Intent, Plan)>, Failure> {
        let reserved = self.named_cpus(machine)?;
        let mut beside = session.in_force();
        let mut seen = Vec::new();
        for one in &self.declarations {
            let settled = settle(one, machine, session.root(), &beside, &reserved);
            let (intent, plan) = settled.map_err(|error| self.at(one.line, error))?;
            beside.retain(|other| other.name != intent.name);
            beside.push(intent.clone());
            seen.push((intent, plan));
        }
        Ok(seen)
    }

    /// Adds the file and the line of the declaration to an error.
    #[must_use]
    pub fn at(&self, line: usize, error: Failure) -> Failure {
        Failure {
            what: format!("{}:{line}: {}", self.path, error.what),
            ..error
        }
    }
}

/// An error of the declaration parser or editor, with the file.
pub fn wrong(path: &str, error: &DeclarationError) -> Failure {
    let place = match error.line {
        0 => path.to_owned(),
        line => format!("{path}:{line}"),
    };
    Failure::usage(
        format!("{place}: {}", error.what),
        "therefore nothing was written",
        error.next.clone(),
    )
}

fn unreadable(path: &str, error: &root::RootError, next: &str) -> Failure {
    let status = match error.errno() {
        Some(libc::EACCES | libc::EPERM) => Status::Denied,
        _ => Status::Usage,
    };
    let why = match error.errno() {
        Some(libc::ENOENT) => "there is no such file".to_owned(),
        Some(libc::EFBIG) => format!("it is larger than {MOST_BYTES} bytes"),
        _ => error.to_string(),
    };
    Failure::new(status, format!("{}: cannot be read", report::safe(path)), why, next)
}

/// Rejects a file that others may write: root acts on its content, also at boot.
fn refuse_foreign(live: &Live, path: &str) -> Result<(), Failure> {
    let Some(owner) = live.ownership(path)? else {
        return Ok(());
    };
    if owner.uid == 0 && owner.mode & 0o022 == 0 {
        return Ok(());
    }
    Err(Failure::new(
        Status::Denied,
        format!("{path}: ignored"),
        format!("users other than root may write it (it belongs to {owner})"),
        format!("check its content, then `chown root {path}; chmod 644 {path}`"),
    ))
}
