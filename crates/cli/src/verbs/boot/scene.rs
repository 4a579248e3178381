//! What every boot verb looks at, and the one way to carry a change out and to show it.

use super::target::Mode;
use crate::{CommandError, Screen};
use apply::boot_line::{BootChange, BootNotes, Noted, Runner, carry_out, read_captured};
use apply::{ApplyError, Lasting};
use boot::{
    After, BootError, Edit, Files, Found, Kept, Limit, Loader, Run, Work, choose, diff, limit, on_line,
};
use root::state::LIB_DIR;
use root::{Origin, Root};
use serde::Serialize;
use session::{ChangeLock, Session};

/// A machine, its boot files and what is ours in them.
pub struct Scene<'s> {
    /// The session that it belongs to.
    pub session: &'s Session,
    /// Its files.
    pub root: &'s Root,
    /// What is ours; nothing where that cannot be known.
    pub kept: Kept,
    /// Whether it was booted since our words were written.
    pub after: After,
    /// The line that the running kernel got.
    pub running: String,
    /// What a boot since then was seen to have.
    pub noted: Option<Noted>,
    /// Whether a change did not come to its end.
    pub unfinished: bool,
    /// Why it is not known what is ours.
    pub unknown: Option<String>,
}

impl<'s> Scene<'s> {
    /// Reads it.
    ///
    /// # Errors
    /// A journal that cannot be understood.
    pub fn read(session: &'s Session) -> Result<Scene<'s>, CommandError> {
        let root = session.root();
        let running = root.value("/proc/cmdline")?.unwrap_or_default();
        let boot_id = session.boot_id();
        let mut scene = Scene {
            running,
            kept: Kept::default(),
            after: After::SameBoot,
            noted: None,
            unfinished: false,
            unknown: None,
            session,
            root,
        };
        if scene.root.origin() == Origin::Captured {
            if let Some(bytes) = scene.root.bytes(&format!("{LIB_DIR}/boot-line")).ok().flatten() {
                let captured = read_captured(&bytes, boot_id.as_deref())?;
                (scene.kept, scene.after) = (captured.kept, captured.after);
                (scene.noted, scene.unfinished) = (captured.noted, captured.unfinished);
            }
            return Ok(scene);
        }
        match session.lasting_state() {
            Ok(None) => {}
            Ok(Some(state)) => {
                let lasting = Lasting(&state);
                let notes = BootNotes::read(&lasting)?;
                scene.kept = notes.kept();
                scene.after = notes.since(boot_id.as_deref());
                scene.noted = notes.noted();
                scene.unfinished = notes.is_unfinished();
            }
            Err(error) => {
                let CommandError { what, why, .. } = error.into();
                scene.unknown = Some(format!("{what}: {why}"));
            }
        }
        Ok(scene)
    }

    /// The loader that starts this machine; where something is ours already, that one.
    ///
    /// # Errors
    /// None, another one, or several.
    pub fn loader(&self, named: Option<&str>) -> Result<Found, CommandError> {
        let files = Files::of(self.root);
        let ours = self.kept.line.as_ref().or(self.kept.trial.as_ref());
        let named = named.or_else(|| ours.map(|ours| ours.loader.as_str()));
        // What was not found may only have been unreadable.
        let _ = boot::find(&files);
        Ok(choose(&files, named, &files.refused())?)
    }

    /// How long a line may be here.
    #[must_use]
    pub fn limit(&self) -> Limit {
        let told = self.root.value("/proc/sys/kernel/arch").ok().flatten();
        let asked = || {
            let here = self.root.origin() == Origin::Live;
            here.then(|| rustix::system::uname().machine().to_string_lossy().into_owned())
        };
        limit(told.or_else(asked).as_deref())
    }

    /// Refuses words with which the line that is running would be too long: loaders and firmware add words of their own,
    /// which stand in no file.
    ///
    /// # Errors
    /// The line that would be cut.
    pub fn check_running(&self, words: &[String]) -> Result<(), CommandError> {
        let Limit { most, who } = self.limit();
        let length = on_line(&self.running, words).len();
        if length <= most {
            return Ok(());
        }
        let entry = "the running system, with what loader and firmware add,".to_owned();
        Err(BootError::TooLong {
            entry,
            length,
            most,
            who,
        }
        .into())
    }
}

/// Carries a change out under the lock of the boot files.
///
/// # Errors
/// What went wrong; everything is as before then.
pub fn carry(
    session: &Session,
    changing: &ChangeLock,
    change: &BootChange,
    loader: &'static Loader,
    wanted: Option<Vec<String>>,
) -> Result<(), CommandError> {
    // Half a change helps nobody: a signal is looked at when it is done.
    session::stop_flag();
    let state = session.made_lasting_state()?;
    let boot_id = changing.session.boot_id();
    let good = || {
        let Some(wanted) = &wanted else {
            return Ok(());
        };
        let root = session.root();
        let entries = (loader.entries)(&Files::of(root));
        match entries.is_empty() || entries.iter().any(|entry| boot::has_words(entry, wanted)) {
            true => Ok(()),
            false => Err(format!(
                "no entry of {} has the words after its own tools ran",
                loader.name
            )),
        }
    };
    let carried = carry_out(
        &Runner::new(session.writable()?.clone()),
        &Lasting(&state),
        boot_id.as_deref(),
        change,
        &good,
    );
    // A directory that is empty again was made for this.
    session.discard_empty_lasting_state()?;
    carried.map_err(|error| match &error {
        ApplyError::RolledBack { errno: Some(libc::ENOSPC), .. } => CommandError {
            next: "make room on that file system, then try again".to_owned(),
            ..error.into()
        },
        ApplyError::RolledBack { errno: Some(libc::EROFS), .. } => CommandError {
            next: "mount it writable (`mount -o remount,rw`), then try again; image-based systems take their line from the image"
                .to_owned(),
            ..error.into()
        },
        _ => error.into(),
    })
}

/// JSON of the verbs that change.
#[derive(Serialize)]
pub struct Report<'a> {
    schema: &'static str,
    verb: &'static str,
    loader: &'static str,
    words: &'a [String],
    dry_run: bool,
    changed: bool,
    edits: Vec<EditJson<'a>>,
    runs: Vec<String>,
    notes: &'a [String],
    drift: &'a [String],
    next: Option<&'a str>,
}

#[derive(Serialize)]
struct EditJson<'a> {
    path: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

/// What is shown of a change before it is made.
pub struct Shown<'a> {
    /// The verb.
    pub verb: &'static str,
    /// Whose files.
    pub loader: &'static Loader,
    /// The words.
    pub words: &'a [String],
    /// What is done.
    pub work: &'a Work,
    /// Whether it is.
    pub mode: Mode,
}

impl Shown<'_> {
    /// The difference, the tools and the notes.
    pub fn show(&self, screen: &mut Screen) {
        let mut text = report::safe_lines(&diff(&self.work.edits));
        let word = match self.mode {
            Mode::Real => "then runs",
            Mode::Shown => "then would run",
        };
        for run in &self.work.runs {
            text.push_str(&format!("{word}: {}\n", report::safe(&run.text())));
        }
        for note in &self.work.notes {
            text.push_str(&format!("note: {}\n", report::safe(note)));
        }
        for left in &self.work.left {
            text.push_str(&format!("left alone: {}\n", report::safe(left)));
        }
        screen.text(&text);
    }

    /// The last line, and the JSON.
    pub fn done(&self, next: Option<&str>, screen: &mut Screen) {
        let end = match (self.work.is_nothing(), self.mode) {
            (true, _) => "Nothing has to be changed.\n".to_owned(),
            (false, Mode::Shown) => "Nothing was written (--dry-run).\n".to_owned(),
            (false, Mode::Real) => next.map(|next| format!("{next}\n")).unwrap_or_default(),
        };
        screen.text(&end);
        screen.json(&Report {
            schema: "quietcore.boot/1",
            verb: self.verb,
            loader: self.loader.name,
            words: self.words,
            dry_run: self.mode == Mode::Shown,
            changed: !self.work.is_nothing() && self.mode == Mode::Real,
            edits: self.work.edits.iter().map(edit_json).collect(),
            runs: self.work.runs.iter().map(Run::text).collect(),
            notes: &self.work.notes,
            drift: &self.work.left,
            next,
        });
    }
}

fn edit_json(edit: &Edit) -> EditJson<'_> {
    EditJson {
        path: &edit.path,
        before: edit.before.as_deref(),
        after: edit.after.as_deref(),
    }
}
