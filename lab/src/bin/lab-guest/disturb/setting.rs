//! Changes a kernel file temporarily, and always restores its value.

/// A changed file and its former value.
pub(super) struct ChangedFile {
    path: String,
    before: String,
}

impl ChangedFile {
    /// Saves the current value, and writes a new one.
    ///
    /// # Errors
    /// The file cannot be read or written; nothing is changed then.
    pub(super) fn replace(path: &str, value: &str) -> Result<ChangedFile, String> {
        let setting = ChangedFile::save(path)?;
        match setting.write(value) {
            Ok(()) => Ok(setting),
            Err(why) => {
                // An unchanged file is not restored.
                std::mem::forget(setting);
                Err(why)
            }
        }
    }

    /// Saves the current value.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn save(path: &str) -> Result<ChangedFile, String> {
        let before = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(ChangedFile {
            path: path.to_owned(),
            before: before.trim_end().to_owned(),
        })
    }

    /// The saved value.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// Writes another value.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(super) fn write(&self, value: &str) -> Result<(), String> {
        std::fs::write(&self.path, value).map_err(|error| format!("{} = {value}: {error}", self.path))
    }
}

impl Drop for ChangedFile {
    fn drop(&mut self) {
        let before = self.before.clone();
        if let Err(why) = self.write(&before) {
            eprintln!("lab-guest: not put back: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_restored_even_after_an_error() {
        let path = std::env::temp_dir().join(format!("lab-guest-setting-{}", std::process::id()));
        let path = path.to_str().unwrap();
        std::fs::write(path, "7\n").unwrap();
        let fails = || -> Result<(), String> {
            let setting = ChangedFile::replace(path, "8")?;
            assert_eq!(std::fs::read_to_string(path).unwrap(), "8");
            setting.write("9")?;
            Err("something else".to_owned())
        };
        assert!(fails().is_err());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "7");
        std::fs::remove_file(path).unwrap();
        assert!(ChangedFile::replace(path, "8").is_err());
        assert!(!std::path::Path::new(path).exists(), "nothing is made");
    }
}
