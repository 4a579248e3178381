//! Resolves symbolic links by their text: the real location of a path inside a root.

use root::Root;

/// Maximum number of consecutive links on the way to one path.
const MAX_HOPS: u32 = 8;

/// The path with the links above its last name resolved. `None` for links that form a loop or leave the root.
pub(crate) fn real(root: &Root, path: String) -> Option<String> {
    let mut path = path;
    for _ in 0..MAX_HOPS {
        let ends = path.match_indices('/').map(|(end, _)| end).filter(|&end| end > 0);
        let link = ends
            .map(|end| &path[..end])
            .find_map(|dir| Some((dir, root.link(dir).ok()??)));
        let Some((dir, target)) = link else {
            return Some(path);
        };
        let rest = path.get(dir.len()..)?;
        path = join(dir, &target)? + rest;
    }
    None
}

/// The target of a link, by its text. `None` for one that leaves the root.
pub(crate) fn join(link: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => link
            .rsplit_once('/')
            .map_or("", |(dir, _)| dir)
            .split('/')
            .filter(|name| !name.is_empty())
            .collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            _ => names.push(name),
        }
    }
    Some(names.iter().fold(String::new(), |path, name| path + "/" + name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_targets_are_joined_inside_the_root() {
        let check = |link: &str, target: &str, expected: Option<&str>| {
            assert_eq!(join(link, target).as_deref(), expected, "{link} -> {target}");
        };
        check("/sys/block/vda", "../devices/pci/vda", Some("/sys/devices/pci/vda"));
        check("/sys/block/vda", "/x/./y", Some("/x/y"));
        check("/a", "../../x", None);
        check("/a", "b", Some("/b"));
    }
}
