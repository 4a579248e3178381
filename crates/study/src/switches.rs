//! The axis `knob`: single knobs of a plan, each off and on.

use crate::StudyError;
use crate::file::Context;
use crate::isolations::empty_intent;
use crate::levels::refused;
use plan::Profile;
use toml::Spanned;

/// A knob that is an axis: its name, and how it is taken.
pub(crate) struct Switch<'a> {
    pub name: &'static str,
    pub taken: &'a str,
    pub line: usize,
}

/// The knobs of the axis, none twice.
pub(crate) fn switches<'a>(
    said: Option<&'a Spanned<Vec<Spanned<String>>>>,
    context: &Context,
) -> Result<Vec<Switch<'a>>, StudyError> {
    let mut found: Vec<Switch> = Vec::new();
    for knob in said.map(Spanned::get_ref).into_iter().flatten() {
        let line = context.line(&knob.span());
        let taken = knob.get_ref().as_str();
        let mut tried = empty_intent(Profile::default());
        tried.take(taken).map_err(|refusal| refused(line, &refusal))?;
        // `take` has refused those that there are not.
        let Some(knob) = plan::knobs::knob(taken.split_once('=').map_or(taken, |(name, _)| name)) else {
            continue;
        };
        let name = knob.name;
        // Off is left out, which some cannot be.
        empty_intent(Profile::default())
            .leave_out(name)
            .map_err(|refusal| refused(line, &refusal))?;
        if found.iter().any(|known| known.name == name) {
            let next = "name every knob once; two values of one are two isolations: [isolation.NAME] with = [\"KNOB=VALUE\"]";
            return Err(StudyError::new(line, format!("`{name}` is there twice"), next));
        }
        found.push(Switch { name, taken, line });
    }
    if let Some(said) = said.filter(|said| said.get_ref().is_empty()) {
        let line = context.line(&said.span());
        return Err(StudyError::new(
            line,
            "the axis `knob` has no level",
            "name a knob, or leave it out",
        ));
    }
    Ok(found)
}
