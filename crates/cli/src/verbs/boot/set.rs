//! `boot set`: adds words to the default boot line.

use super::BootTarget;
use super::change_view::{ChangeMode, ChangeView};
use super::words::BootWordArgs;
use boot::{EveryBoot, FallbackRequirement, MachineTree, RecordedWords, set, tuned};
use plan::PartitionName;
use plan::declared::{BootPart, PATH};
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
    /// The boot loader, where several are found
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
    /// Also say `boot = true` in /etc/quietcore.toml for the declared partitions that this line isolates, so that both are
    /// one intention
    #[arg(long)]
    save: bool,
    /// Also where no entry would stay bootable as it was
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
    shown.show(screen);
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
    shown.finish(
        Some("Written. The next boot has it; `quietcore boot clear` takes it out again."),
        screen,
    );
    Ok(Status::Done)
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
                "--save says `boot = true` for such a partition",
                "declare it with `quietcore apply --cpus LIST --save`, or leave --save out",
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
                "{PATH} declares CPUs of this line: with --save (`boot = true` for {}) both are one intention",
                list(names)
            )),
            DeclarationEffect::Saved(names, _) => Some(format!("{PATH}: `boot = true` for {}", list(names))),
        }
    }
}
