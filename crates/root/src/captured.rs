//! A machine that was captured earlier: a directory, or an archive that is held in memory.

use crate::{Entry, Kind, RootError};
use std::path::Path;
pub(crate) struct Captured;
#[allow(unused_variables)]
impl Captured {
    pub(crate) fn open(path: &Path) -> Result<Captured, RootError> {
        Ok(Captured)
    }
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, RootError> {
        Ok(None)
    }
    pub(crate) fn bytes_into(&self, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        Ok(false)
    }
    pub(crate) fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        Ok(false)
    }
    pub(crate) fn entries(&self, dir: &str) -> Result<Option<Vec<Entry>>, RootError> {
        Ok(None)
    }
    pub(crate) fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        Ok(None)
    }
    pub(crate) fn kind(&self, path: &str) -> Result<Option<Kind>, RootError> {
        Ok(None)
    }
    pub(crate) fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        Ok(None)
    }
}
