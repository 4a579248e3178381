//! Adds a knob by its name, or leaves out one of the profile.

use super::find;
use crate::{Intent, KnobRefusal, PlanRefusal};

impl Intent {
    /// Adds a knob by name, as `KNOB` or `KNOB=VALUE`.
    ///
    /// # Errors
    /// [`PlanRefusal`] for an unknown knob, for a value that it does not accept, and for a knob that was already requested
    /// with another value or left out.
    pub fn take(&mut self, text: &str) -> Result<(), PlanRefusal> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let knob = find(name)?;
        knob.check(value)?;
        let value = value.map(str::to_owned);
        let before = self.with.insert(knob.name.to_owned(), value.clone());
        let is_other = before.is_some_and(|before| before != value);
        if is_other || self.without.contains(knob.name) {
            return Err(KnobRefusal::Twice { knob: knob.name }.into());
        }
        Ok(())
    }

    /// Leaves out a knob of the profile.
    ///
    /// # Errors
    /// [`PlanRefusal`] for an unknown knob, for one that isolation requires, and for one that was explicitly requested.
    pub fn leave_out(&mut self, name: &str) -> Result<(), PlanRefusal> {
        let knob = find(name)?;
        if !knob.needed.is_empty() {
            let (knob, why) = (knob.name, knob.needed);
            return Err(KnobRefusal::Needed { knob, why }.into());
        }
        if self.with.contains_key(knob.name) {
            return Err(KnobRefusal::Twice { knob: knob.name }.into());
        }
        self.without.insert(knob.name.to_owned());
        Ok(())
    }
}
