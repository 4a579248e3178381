//! Finds the kernels that a generated `grub.cfg` starts, and extracts the entry of one of them from the output of the
//! distribution's script, even from a submenu.

use super::grub_cfg::started;
use crate::TrialError;
use crate::releases::{choose, is_rescue_line, of_image};
use crate::tree::FileTree;

/// Entries for systems on other disks, created by `30_os-prober` and not by the distribution's script.
const OTHER_SYSTEMS: &str = "osprober-";

/// The file name of the image with this release, as in an entry of `grub.cfg`.
///
/// # Errors
/// [`TrialError::NoKernel`], with the available releases.
pub fn image(tree: &dyn FileTree, cfg: &str, release: &str) -> Result<String, TrialError> {
    let found = started(tree, cfg).into_iter().filter_map(|(entry, path)| {
        let is_normal = !is_rescue_line(&entry.line) && !entry.id.starts_with(OTHER_SYSTEMS);
        let release = of_image(&path).filter(|_| is_normal)?.to_owned();
        let name = path.rsplit('/').next()?.to_owned();
        Some((release, name))
    });
    choose("grub", release, found)
}

/// Commands for `sed -n` in double quotes of a shell: the first entry with this image that is not for recovery, with
/// another title and id. Each entry is collected up to its end, because its image follows its title.
pub fn pick(image: &str, title: &str, id: &str) -> String {
    let image = image.replace('.', "[.]");
    format!(
        "/^[[:space:]]*menuentry /,/^[[:space:]]*}}/{{\n\
         H\n\
         /^[[:space:]]*menuentry /h\n\
         /^[[:space:]]*}}/{{\n\
         x\n\
         /(recovery mode)/b\n\
         /-recovery-/b\n\
         /\\n[[:space:]]*linux[a-z0-9]*[[:space:]][[:space:]]*[^[:space:]]*\\/{image}[[:space:]]/!b\n\
         s/^[[:space:]]*menuentry '[^']*'/menuentry '{title}'/\n\
         s/menuentry_id_option '[^']*'/menuentry_id_option '{id}'/\n\
         p\n\
         q\n\
         }}\n\
         }}"
    )
}

/// Commands like those of [`pick`], for the very first entry.
pub fn first(title: &str, id: &str) -> String {
    format!(
        "/^menuentry /,/^}}/{{\n\
         s/^menuentry '[^']*'/menuentry '{title}'/\n\
         s/menuentry_id_option '[^']*'/menuentry_id_option '{id}'/\n\
         p\n\
         /^}}/q\n\
         }}"
    )
}
