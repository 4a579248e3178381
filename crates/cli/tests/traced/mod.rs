//! What tests that trace this kernel share.

#![allow(clippy::unwrap_used)]

use root::Tracefs;
use std::fs;
use std::path::Path;

/// The tracing files of this kernel, with a `/run` of our own; what stands in the way otherwise.
pub fn tracing() -> Result<Tracefs, String> {
    let tracefs = match Tracefs::find() {
        Ok(Some(tracefs)) => tracefs,
        Ok(None) => return Err("this kernel has no tracefs".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    crate::alone::own_mount(Path::new("/run")).map_err(|error| format!("/run of our own: {error}"))?;
    Ok(tracefs)
}

/// Instances of quietcore that there are now.
pub fn instances(tracefs: &Tracefs) -> Vec<String> {
    let names = fs::read_dir(tracefs.file("instances")).unwrap();
    let mut names: Vec<String> = names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("quietcore-"))
        .collect();
    names.sort();
    names
}
