//! Reads the boot files of a machine, finds the words that quietcore added, and changes them.
//!
//! Only commands that change something lock the files. They first undo what an earlier change left unfinished.

pub mod clearing;
pub mod declaration;
pub mod once;
pub mod words;

use crate::{ChangeLock, Session};
use apply::boot_line::{BootChange, BootNotes, Runner, carry_out, finish, note_state, read_captured};
use apply::{ApplyError, DurableStorage};
use boot::{
    BootError, BootObservation, BootSinceWrite, DetectedLoader, LineLimit, Loader, MARK, MachineTree, RecordedWords,
    Work, choose, limit, missing_words, on_line, state_after,
};
use plan::boot_check::OwnBootWords;
use root::state::LIB_DIR;
use root::{Failure, Origin, Root};

/// A machine, its boot files and our words in them.
pub struct BootScene<'s> {
    /// The session that it belongs to.
    pub session: &'s Session,
    /// Its files.
    pub root: &'s Root,
    /// Our words; empty if they cannot be determined.
    pub own_words: RecordedWords,
    /// Whether the machine was booted since our words were written.
    pub after: BootSinceWrite,
    /// The command line of the running kernel.
    pub running: String,
    /// What was recorded about a boot since then.
    pub observed_boot: Option<BootObservation>,
    /// Whether a change was interrupted.
    pub unfinished: bool,
    /// Why our words cannot be determined.
    pub unknown: Option<String>,
}

impl<'s> BootScene<'s> {
    /// Reads everything.
    ///
    /// # Errors
    /// A journal that cannot be parsed.
    pub fn read(session: &'s Session) -> Result<BootScene<'s>, Failure> {
        let root = session.root();
        let running = root.value("/proc/cmdline")?.unwrap_or_default();
        let boot_id = session.boot_id();
        let mut scene = BootScene {
            running,
            own_words: RecordedWords::default(),
            after: BootSinceWrite::SameBoot,
            observed_boot: None,
            unfinished: false,
            unknown: None,
            session,
            root,
        };
        if scene.root.origin() == Origin::Captured {
            if let Some(bytes) = scene.root.bytes(&format!("{LIB_DIR}/boot-line")).ok().flatten() {
                let captured = read_captured(&bytes, boot_id.as_deref())?;
                (scene.own_words, scene.after) = (captured.own_words, captured.after);
                (scene.observed_boot, scene.unfinished) = (captured.observed_boot, captured.unfinished);
            }
            return Ok(scene);
        }
        match session.lasting_state() {
            Ok(None) => {}
            Ok(Some(state)) => {
                let lasting = DurableStorage(&state);
                let notes = BootNotes::read(&lasting)?;
                scene.own_words = notes.own_words();
                scene.after = notes.since(boot_id.as_deref());
                scene.observed_boot = notes.observed_boot();
                scene.unfinished = notes.is_unfinished();
            }
            Err(error) => scene.unknown = Some(Failure::from(error).reason()),
        }
        Ok(scene)
    }

    /// The loader that starts this machine. If our words are installed already, the loader that has them.
    ///
    /// # Errors
    /// No loader, a different one, or several.
    pub fn loader(&self, named: Option<&str>) -> Result<DetectedLoader, Failure> {
        let files = MachineTree::of(self.root);
        let ours = self.own_words.line.as_ref().or(self.own_words.trial.as_ref());
        let named = named.or_else(|| ours.map(|ours| ours.loader.as_str()));
        // A loader may be missing only because its files were unreadable.
        let _ = boot::find(&files);
        Ok(choose(&files, named, &files.refused())?)
    }

    /// The maximum length of the line on this machine.
    #[must_use]
    pub fn limit(&self) -> LineLimit {
        let kernel_arch = self.root.readable_value("/proc/sys/kernel/arch");
        let query_arch = || {
            let here = self.root.origin() == Origin::Live;
            here.then(|| rustix::system::uname().machine().to_string_lossy().into_owned())
        };
        limit(kernel_arch.or_else(query_arch).as_deref())
    }

    /// A change that does this work, from the words that are ours now to these.
    #[must_use]
    pub fn change(&self, after: RecordedWords, work: &Work) -> BootChange {
        BootChange {
            before: self.own_words.clone(),
            after,
            edits: work.edits.clone(),
            runs: work.runs.clone(),
            once: None,
        }
    }

    /// Rejects words that would make the running line too long. Loaders and firmware add words that are in no file.
    ///
    /// # Errors
    /// The line that would be truncated.
    pub fn check_running(&self, words: &[String]) -> Result<(), Failure> {
        let LineLimit { most, source_name: who } = self.limit();
        let length = on_line(&self.running, words).len();
        if length <= most {
            return Ok(());
        }
        let entry = "the running system, plus parameters added by loader and firmware,".to_owned();
        Err(BootError::TooLong {
            entry,
            length,
            most,
            source_name: who,
        }
        .into())
    }
}

/// Performs a change under the lock of the boot files.
///
/// # Errors
/// The failure; the files are then restored.
pub fn perform(
    session: &Session,
    changing: &ChangeLock,
    change: &BootChange,
    loader: &'static Loader,
    requested: Option<Vec<String>>,
) -> Result<(), Failure> {
    // A half-done change is useless, so signals are checked after it.
    crate::stop_flag();
    let state = session.made_lasting_state()?;
    let boot_id = changing.session.boot_id();
    let good = || {
        let Some(requested) = &requested else {
            return Ok(());
        };
        let root = session.root();
        let entries = (loader.entries)(&MachineTree::of(root));
        match entries.is_empty() || entries.iter().any(|entry| boot::has_words(entry, requested)) {
            true => Ok(()),
            false => Err(ApplyError::Unable {
                why: format!("no entry of {} has the parameters after its own tools ran", loader.name),
                next: "nothing more".to_owned(),
            }),
        }
    };
    let carried = carry_out(
        &Runner::new(session.writable()?.clone()),
        &DurableStorage(&state),
        boot_id.as_deref(),
        change,
        &good,
    );
    // A directory that is empty again was created for this change.
    session.discard_empty_lasting_state()?;
    carried.map_err(|error| match &error {
        ApplyError::RolledBack {
            errno: Some(libc::ENOSPC),
            ..
        } => Failure {
            next: "free space on that file system, then try again".to_owned(),
            ..error.into()
        },
        ApplyError::RolledBack {
            errno: Some(libc::EROFS),
            ..
        } => Failure {
            next: "mount it writable (`mount -o remount,rw`), then try again; image-based systems take the boot line \
                 from the image"
                .to_owned(),
            ..error.into()
        },
        _ => error.into(),
    })
}

/// Locks the boot files. First undoes what an earlier call left unfinished, and records which words of the last change this
/// boot has.
///
/// # Errors
/// No permission, another running quietcore, files that cannot be restored.
pub fn lock_boot_files(session: &Session) -> Result<ChangeLock<'_>, Failure> {
    let changing = session.lock_boot_files()?;
    if let Some(state) = session.lasting_state()? {
        let done = finish(&Runner::new(session.writable()?.clone()), &DurableStorage(&state))?;
        if let Some(done) = done {
            let paths = done.restored.join(", ");
            session.note(&format!("an unfinished change was undone: {paths}\n"));
            done.left
                .iter()
                .for_each(|line| session.note(&format!("left alone: {line}\n")));
        }
        record_first_boot(&changing)?;
    }
    Ok(changing)
}

/// Records on disk which of our words this boot has, if it is not the boot of the change and the first that shows it. Only
/// for verbs that may change something: `boot show` and `boot check` write nothing.
///
/// # Errors
/// A journal that cannot be read or written.
pub fn record_first_boot(changing: &ChangeLock) -> Result<(), Failure> {
    let session = changing.session;
    let Some(state) = session.lasting_state()? else {
        return Ok(());
    };
    let scene = BootScene::read(session)?;
    if scene.after == BootSinceWrite::AnotherBoot
        && let Some(ours) = expected_words(&scene).first()
    {
        note_state(
            &DurableStorage(&state),
            changing.session.boot_id().as_deref(),
            ours.stage,
        )?;
    }
    Ok(())
}

/// Our words that this boot should have. A trial boot has the words of the trial, not those of the default line.
#[must_use]
pub fn expected_words(scene: &BootScene) -> Vec<OwnBootWords> {
    let of = |words: &Vec<String>| OwnBootWords {
        words: words.clone(),
        stage: state_after(words, &scene.running, scene.after),
    };
    let (line, trial) = (scene.own_words.line.as_ref(), scene.own_words.trial.as_ref());
    let tried = missing_words(&[MARK.to_owned()], &scene.running).is_empty();
    match trial {
        // If the trial was written in an earlier boot, the default line was started on purpose since then.
        Some(trial) if tried || scene.after == BootSinceWrite::AnotherBoot => vec![of(&trial.words)],
        _ => line.into_iter().chain(trial).map(|ours| of(&ours.words)).collect(),
    }
}
