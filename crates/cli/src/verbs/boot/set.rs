//! `boot set`: adds words to the default boot line.

use super::BootTarget;
use super::words::BootWordArgs;
use boot::{EveryBoot, FallbackRequirement, MachineTree, OwnChanges, RecordedWords, set, tuned};
use plan::PartitionName;
use plan::declared::{BootPart, PATH};
use report::{ChangeMode, ChangeView};
use root::{Failure, Origin, Status};
use session::Session;
use session::boot_files::declaration::covered;
use session::boot_files::perform;
use session::declaration_draft::DeclarationDraft;
use session::declared;
use terminal::Screen;

/// Arguments of `boot set`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: BootWordArgs,
    #[command(flatten)]
    target: BootTarget,
    /// Use this boot loader, if several are found
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
    /// Also set `boot = true` for the declared partitions that this line isolates
    ///
    /// The line and /etc/quietcore.toml then state the same isolation.
    #[arg(long)]
    save: bool,
    /// Write even if no entry would stay bootable as before
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// An unsupported loader, invalid words, or files that cannot be written.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.target.reading.open(session)?;
    let (scene, changing) = args.target.open(session)?;
    let mode = ChangeMode::under(changing.as_ref());
    let loader = scene.loader(args.loader.as_deref())?.loader;
    let ours = scene.own_words.line.as_ref();
    let chosen = args.wanted.choose(session, loader, ours)?;
    let need = if args.force {
        FallbackRequirement::Nothing
    } else {
        FallbackRequirement::Fallback
    };
    scene.check_running(&chosen.words)?;
    let files = MachineTree::of(scene.root);
    let tie = DeclarationEffect::of(session, args, &chosen.words)?;
    let wanted = EveryBoot::new(&chosen.words, need);
    let mut work = set(&files, loader, ours, wanted, &scene.limit())?;
    work.notes.splice(0..0, chosen.notes);
    work.notes.extend(loader.all_remarks(&files, &scene.own_words.words()));
    work.notes.extend(replaced(ours, &chosen.words));
    work.notes.extend(tie.note());
    work.notes
        .extend(tuned(&files).and_then(|tuned| tuned.note(&chosen.words)));
    let shown = ChangeView {
        verb: "set",
        loader,
        words: &chosen.words,
        work: &work,
        mode,
    };
    screen.text(&shown.text());
    if let Some(changing) = &changing
        && !work.is_nothing()
    {
        let after = RecordedWords {
            line: work.own_changes.clone(),
            ..scene.own_words.clone()
        };
        perform(
            session,
            changing,
            &scene.change(after, &work),
            loader,
            Some(chosen.words.clone()),
        )?;
    }
    // The line first: otherwise the file could declare words that are on no line.
    if let (Some(_), DeclarationEffect::Saved(_, Some(draft))) = (changing, tie) {
        draft.write(session)?;
    }
    super::finish(
        &shown,
        "Written. The next boot has it; `quietcore boot clear` removes it again.",
        screen,
    );
    Ok(Status::Done)
}

/// A note about words that quietcore added before and that are not wanted any more.
fn replaced(ours: Option<&OwnChanges>, wanted: &[String]) -> Option<String> {
    let former = ours.into_iter().flat_map(|ours| &ours.words);
    let dropped: Vec<&str> = former
        .filter(|word| !wanted.contains(word))
        .map(String::as_str)
        .collect();
    (!dropped.is_empty()).then(|| format!("this replaces what quietcore added before: {}", dropped.join(" ")))
}

/// The effect on declared partitions that the line isolates.
enum DeclarationEffect {
    /// They stay unchanged; these declarations do not mention the boot line.
    Left(Vec<PartitionName>),
    /// They get `boot = true`. No draft on a captured machine.
    Saved(Vec<PartitionName>, Option<DeclarationDraft>),
}

impl DeclarationEffect {
    fn of(session: &Session, args: &Args, words: &[String]) -> Result<DeclarationEffect, Failure> {
        let root = session.root();
        let file = declared::read(session, None)?;
        let machine = session.machine();
        let covered = file.map(|file| covered(&file, words, &machine)).unwrap_or_default();
        let unsaid: Vec<PartitionName> = covered
            .iter()
            .filter(|one| one.boot == BootPart::Unspecified)
            .map(|one| one.name().clone())
            .collect();
        if !args.save {
            return Ok(DeclarationEffect::Left(unsaid));
        }
        if covered.is_empty() {
            return Err(Failure::usage(
                format!("{PATH} declares no partition whose CPUs this line isolates"),
                "--save writes `boot = true` for such a partition",
                "declare it with `quietcore apply --cpus CPUS --save`, or leave out --save",
            ));
        }
        let draft = match root.origin() {
            Origin::Live => Some(DeclarationDraft::on_boot_line(session, &unsaid)?),
            Origin::Captured => None,
        };
        Ok(DeclarationEffect::Saved(unsaid, draft))
    }

    fn note(&self) -> Option<String> {
        let list = |names: &[PartitionName]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            DeclarationEffect::Left(names) | DeclarationEffect::Saved(names, _) if names.is_empty() => None,
            DeclarationEffect::Left(names) => Some(format!(
                "{PATH} declares CPUs of this line: --save (`boot = true` for {}) connects the two",
                list(names)
            )),
            DeclarationEffect::Saved(names, _) => Some(format!("{PATH}: `boot = true` for {}", list(names))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_dropped_are_named() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let ours = OwnChanges {
            loader: "grub".to_owned(),
            words: words("nohz_full=2 isolcpus=2"),
            files: Vec::new(),
            seen: Vec::new(),
        };
        let note = |wanted| replaced(Some(&ours), &words(wanted));
        assert_eq!(
            note("nohz_full=2-3 isolcpus=2").unwrap(),
            "this replaces what quietcore added before: nohz_full=2"
        );
        assert_eq!(note("quiet nohz_full=2 isolcpus=2"), None);
        assert_eq!(replaced(None, &words("quiet")), None);
    }
}
