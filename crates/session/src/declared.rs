//! The declared partitions of a machine: the file is read, and what is wrong is said with its file and line.

use crate::Session;
use crate::isolation::{existing_cpus, settle};
use machine::{CpuSet, Machine};
use plan::declared::{CpuWish, Declaration, DeclarationError, MOST_BYTES, PATH, parse};
use plan::{Intent, Plan};
use root::{Failure, Kind, Live, Status};
use std::path::Path;

/// A file of declarations.
pub struct DeclaredFile {
    /// Its path, as shown.
    pub path: String,
    /// What it declares, as far as it is asked for.
    pub declarations: Vec<Declaration>,
    /// What it declares besides.
    pub others: Vec<Declaration>,
}

/// The file that the user named, or the machine's own; `None` where the machine has none.
///
/// # Errors
/// A named file that is not there, one that others than root may write, and what is wrong in it.
pub fn read(session: &Session, named: Option<&Path>) -> Result<Option<DeclaredFile>, Failure> {
    match named {
        Some(path) => {
            let shown = path.display().to_string();
            let bytes = root::input::bytes(path, MOST_BYTES).map_err(|error| {
                unreadable(
                    &shown,
                    &error,
                    "name a file of declarations with --config; `quietcore apply --cpus LIST --save` writes one",
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

/// What stands in the machine's own file; `None` where there is none.
///
/// # Errors
/// A file that cannot be read, also because it is none, and one that others than root may write.
pub fn own_bytes(session: &Session) -> Result<Option<Vec<u8>>, Failure> {
    let root = session.root();
    let next = "look at what stands at this path: a file that root can read, or nothing at all";
    let mut bytes = Vec::new();
    let there = root
        .bytes_at_most(PATH, MOST_BYTES, &mut bytes)
        .map_err(|error| unreadable(PATH, &error, next))?;
    if !there {
        // A directory reads as nothing, and whoever put it there did not mean that nothing is declared.
        return match root.kind(PATH) {
            Ok(Some(Kind::Dir)) => Err(Failure::usage(
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
    /// What these bytes declare.
    ///
    /// # Errors
    /// What is wrong in them.
    pub fn of(path: String, bytes: &[u8]) -> Result<DeclaredFile, Failure> {
        let declarations = parse(bytes).map_err(|error| wrong(&path, &error))?;
        Ok(DeclaredFile {
            path,
            declarations,
            others: Vec::new(),
        })
    }

    /// A file in which nothing is declared, for whoever knows that there is none.
    #[must_use]
    pub fn empty() -> DeclaredFile {
        DeclaredFile {
            path: PATH.to_owned(),
            declarations: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Only the partition of a name.
    #[must_use]
    pub fn only(mut self, name: &str) -> Option<DeclaredFile> {
        self.keep(|one| one.name().as_str() == name);
        (!self.declarations.is_empty()).then_some(self)
    }

    /// Asks for some of the partitions alone.
    pub fn keep(&mut self, wanted: impl Fn(&Declaration) -> bool) {
        let (kept, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.declarations)
            .into_iter()
            .partition(wanted);
        self.declarations = kept;
        self.others.extend(others);
    }

    /// CPUs that are named for a partition, so that none of them is chosen for another one.
    ///
    /// # Errors
    /// CPU expressions that cannot be used here, and CPUs that are named twice.
    pub fn named_cpus(&self, machine: &Machine) -> Result<CpuSet, Failure> {
        let mut all = CpuSet::new();
        for one in &self.declarations {
            let CpuWish::Named(expression) = &one.cpus else {
                continue;
            };
            let cpus = existing_cpus(expression, machine).map_err(|error| self.at(one.line, error))?;
            let twice = all.and(&cpus);
            if !twice.is_empty() {
                let error = Failure::usage(
                    format!("CPU {twice} is declared for two partitions"),
                    format!(
                        "on this machine `{expression}` of partition {} holds it too",
                        one.name()
                    ),
                    "a CPU can be in one partition only: take it out of one of them",
                );
                return Err(self.at(one.line, error));
            }
            all = all.or(&cpus);
        }
        Ok(all)
    }

    /// Every declaration with its plan on this machine, each beside those before it; nothing is written.
    ///
    /// # Errors
    /// The first that cannot be met.
    pub fn foresee(&self, session: &Session, machine: &Machine) -> Result<Vec<(Intent, Plan)>, Failure> {
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

    /// An error with the file and the line of the declaration that it is about.
    #[must_use]
    pub fn at(&self, line: usize, error: Failure) -> Failure {
        Failure {
            what: format!("{}:{line}: {}", self.path, error.what),
            ..error
        }
    }
}

/// What the parser or the editor of declarations says, with the file.
pub fn wrong(path: &str, error: &DeclarationError) -> Failure {
    let place = match error.line {
        0 => path.to_owned(),
        line => format!("{path}:{line}"),
    };
    Failure::usage(
        format!("{place}: {}", error.what),
        "nothing was written because of it",
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
        Some(libc::EFBIG) => format!("it has more than {MOST_BYTES} bytes"),
        _ => error.to_string(),
    };
    Failure::new(
        status,
        format!("{}: cannot be read", report::safe(path)),
        why,
        next,
    )
}

/// Root acts on what stands there, also at boot: nobody else may be able to write it.
fn refuse_foreign(live: &Live, path: &str) -> Result<(), Failure> {
    let Some(owner) = live.ownership(path)? else {
        return Ok(());
    };
    if owner.uid == 0 && owner.mode & 0o022 == 0 {
        return Ok(());
    }
    Err(Failure::new(
        Status::Denied,
        format!("{path}: is not used"),
        format!("others than root may write it (it belongs to {owner})"),
        format!("look at what it says, then `chown root {path}; chmod 644 {path}`"),
    ))
}
