//! The verbs: one file each, one line each in this list.

use crate::{CommandError, Screen, Status};
use clap::Subcommand;

macro_rules! verbs {
    ($($(#[$meta:meta])* $module:ident => $Verb:ident),+ $(,)?) => {
        $(mod $module;)+

        /// What to do.
        #[derive(Subcommand)]
        pub enum Verb {
            $($(#[$meta])* $Verb($module::Args),)+
        }

        /// Runs a verb.
        ///
        /// # Errors
        /// What the verb says.
        pub fn run(verb: &Verb, screen: &mut Screen) -> Result<Status, CommandError> {
            match verb {
                $(Verb::$Verb(args) => $module::run(args, screen),)+
            }
        }
    };
}

verbs! {
    /// Take back what was applied, exactly
    undo => Undo,
}
