//! Symbolic links by their text: where a path really is inside a root.

use root::Root;

/// Links that may follow on each other on the way to one path.
const MAX_HOPS: u32 = 8;

/// The path with the links above its last name resolved. `None` for links that go in a circle or climb out.
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

/// Where a link leads, by its text. `None` for one that climbs out.
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
    fn links() {
        let check = |link: &str, target: &str, expected: Option<&str>| {
            assert_eq!(join(link, target).as_deref(), expected, "{link} -> {target}");
        };
        check(
            "/sys/block/vda",
            "../devices/pci/vda",
            Some("/sys/devices/pci/vda"),
        );
        check("/sys/block/vda", "/x/./y", Some("/x/y"));
        check("/a", "../../x", None);
        check("/a", "b", Some("/b"));
    }
}
