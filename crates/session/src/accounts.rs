//! Reads users and groups from `/etc/passwd` and `/etc/group`. A static binary has no other source (no NSS).

use root::process::NO_ID;
use root::{Failure, Root};
use std::collections::BTreeMap;

/// The user and groups that a program runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Supplementary groups; `None` keeps the current ones.
    pub groups: Option<Vec<u32>>,
}

/// The identity for `--user` and `--group`; `None` if neither was given.
///
/// # Errors
/// Names and numbers that do not exist.
pub fn identity(root: &Root, user: Option<&str>, group: Option<&str>) -> Result<Option<Identity>, Failure> {
    if user.is_none() && group.is_none() {
        return Ok(None);
    }
    let text = |path| root.text(path).map(Option::unwrap_or_default);
    let (passwd, groups) = (text("/etc/passwd")?, text("/etc/group")?);
    find(&passwd, &groups, user, group, root::process::ids()).map(Some)
}

/// The value of the knob `owner`, `UID` or `UID:GID`, for `USER`, `USER:GROUP` or `:GROUP`.
///
/// # Errors
/// Names and numbers that do not exist, and a text that names neither a user nor a group.
pub fn owner(root: &Root, text: &str) -> Result<String, Failure> {
    let read = |path| root.text(path).map(Option::unwrap_or_default);
    owner_among(&read("/etc/passwd")?, &read("/etc/group")?, text)
}

/// The number of a user, given by name or number.
///
/// # Errors
/// Names that do not exist.
pub fn user(root: &Root, text: &str) -> Result<u32, Failure> {
    user_among(&root.text("/etc/passwd")?.unwrap_or_default(), text)
}

/// User names by number. If a number has several names, the first one wins.
pub fn user_names(root: &Root) -> BTreeMap<u32, String> {
    let passwd = root.readable_text("/etc/passwd").unwrap_or_default();
    let mut names = BTreeMap::new();
    for account in passwd.lines().filter_map(PasswdEntry::parse) {
        names.entry(account.uid).or_insert_with(|| account.name.to_owned());
    }
    names
}

/// The group is irrelevant here, so a number does not need an entry in `passwd`.
fn user_among(passwd: &str, text: &str) -> Result<u32, Failure> {
    find(passwd, "", Some(text), Some("0"), (0, 0)).map(|identity| identity.uid)
}

fn owner_among(passwd: &str, groups: &str, text: &str) -> Result<String, Failure> {
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group).filter(|group| !group.is_empty())),
        None => (text, None),
    };
    let gid = group.map(|group| group_number(groups, group)).transpose()?;
    let uid = match (user, gid) {
        ("", Some(_)) => 0,
        ("", None) => {
            return Err(Failure::usage(
                format!("`{}` names no user or group", report::safe(text)),
                "--owner takes USER, USER:GROUP or :GROUP",
                "give the user who may move tasks into the partition",
            ));
        }
        (user, _) => user_among(passwd, user)?,
    };
    Ok(match gid {
        Some(gid) => format!("{uid}:{gid}"),
        None => uid.to_string(),
    })
}

fn find(
    passwd: &str,
    groups: &str,
    user: Option<&str>,
    group: Option<&str>,
    (uid, _): (u32, u32),
) -> Result<Identity, Failure> {
    let gid = group.map(|group| group_number(groups, group)).transpose()?;
    let Some(user) = user else {
        return Ok(Identity {
            uid,
            gid: gid.unwrap_or_default(),
            groups: None,
        });
    };
    let accounts = || passwd.lines().filter_map(PasswdEntry::parse);
    let number = user.parse::<u32>().ok();
    if number == Some(NO_ID) {
        return Err(no_id("user", user));
    }
    let account = accounts()
        .find(|account| account.name == user)
        .or_else(|| accounts().find(|account| Some(account.uid) == number));
    match (account, number, gid) {
        (Some(account), _, _) => {
            let gid = gid.unwrap_or(account.gid);
            let mut of_user: Vec<u32> = groups
                .lines()
                .filter_map(GroupEntry::parse)
                .filter(|group| group.members.split(',').any(|member| member == account.name))
                .map(|group| group.gid)
                .collect();
            of_user.push(gid);
            of_user.sort_unstable();
            of_user.dedup();
            Ok(Identity {
                uid: account.uid,
                gid,
                groups: Some(of_user),
            })
        }
        (None, Some(uid), Some(gid)) => Ok(Identity {
            uid,
            gid,
            groups: Some(vec![gid]),
        }),
        (None, Some(_), None) => Err(Failure::usage(
            format!("user {user} has no group"),
            "/etc/passwd has no line for this number, so its group is unknown",
            "name the group too: --group GROUP",
        )),
        (None, None, _) => Err(Failure::usage(
            format!("there is no user `{}`", report::safe(user)),
            "/etc/passwd has no such name; quietcore does not ask other user databases",
            "use a name from /etc/passwd, or the user's number with --group",
        )),
    }
}

fn group_number(groups: &str, group: &str) -> Result<u32, Failure> {
    let named = groups
        .lines()
        .filter_map(GroupEntry::parse)
        .find(|line| line.name == group)
        .map(|line| line.gid);
    let number = named.or_else(|| group.parse().ok());
    if number == Some(NO_ID) {
        return Err(no_id("group", group));
    }
    number.ok_or_else(|| {
        Failure::usage(
            format!("there is no group `{}`", report::safe(group)),
            "/etc/group has no such name",
            "use a name from /etc/group, or the group's number",
        )
    })
}

/// The error for the number that makes the kernel leave a user or group unchanged: the program would stay root.
fn no_id(kind: &str, text: &str) -> Failure {
    Failure::usage(
        format!("{} is not a valid {kind}", report::safe(text)),
        format!("the kernel reads the number {NO_ID} as \"no change\", so the program would keep its {kind}"),
        format!("choose the {kind} that the program should have"),
    )
}

/// Parses a number of `/etc/passwd` or `/etc/group`. A line with [`NO_ID`] is ignored.
fn id(field: &str) -> Option<u32> {
    field.parse().ok().filter(|id| *id != NO_ID)
}

struct PasswdEntry<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

impl PasswdEntry<'_> {
    fn parse(line: &str) -> Option<PasswdEntry<'_>> {
        let mut fields = line.split(':');
        let name = fields.next()?;
        Some(PasswdEntry {
            name,
            uid: id(fields.nth(1)?)?,
            gid: id(fields.next()?)?,
        })
    }
}

struct GroupEntry<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

impl GroupEntry<'_> {
    fn parse(line: &str) -> Option<GroupEntry<'_>> {
        let mut fields = line.split(':');
        let name = fields.next()?;
        Some(GroupEntry {
            name,
            gid: id(fields.nth(1)?)?,
            members: fields.next().unwrap_or_default().trim(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_parsed_as_chown_parses_them() {
        let of = |text| owner_among(PASSWD, GROUPS, text).ok();
        for (text, value) in [
            ("ana", "1000"),
            ("ana:", "1000"),
            ("ana:audio", "1000:29"),
            (":audio", "0:29"),
            ("1234:98", "1234:98"),
            ("4321", "4321"),
        ] {
            assert_eq!(of(text).as_deref(), Some(value), "{text}");
        }
        for text in ["", ":", "nobody here", "ana:nogroup", "ana:audio:x", "-1"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/sh\n\nbroken\nana:x:1000:1000:Ana,,,:/home/ana:/bin/sh\n77:x:5:6::/:/\n";
    const GROUPS: &str = "root:x:0:\naudio:x:29:ana,ben\nana:x:1000:\nrealtime:x:98:ben,ana\nanalysts:x:99:anab\n";

    fn of(user: Option<&str>, group: Option<&str>) -> Option<(u32, u32, Option<Vec<u32>>)> {
        let found = find(PASSWD, GROUPS, user, group, (0, 0)).ok()?;
        Some((found.uid, found.gid, found.groups))
    }

    #[test]
    fn the_id_that_means_no_change_is_refused() {
        let no_id = "4294967295";
        for (user, group) in [
            (Some(no_id), None),
            (Some(no_id), Some("29")),
            (Some("ana"), Some(no_id)),
            (None, Some(no_id)),
        ] {
            let error = find(PASSWD, GROUPS, user, group, (0, 0)).unwrap_err();
            assert!(error.why.contains("no change"), "{error:?}");
        }
        let passwd = format!("ghost:x:{no_id}:{no_id}::/:/\nhalf:x:1001:{no_id}::/:/\n");
        let groups = format!("ghosts:x:{no_id}:ana\n");
        for user in ["ghost", "half"] {
            assert!(find(&passwd, &groups, Some(user), None, (0, 0)).is_err(), "{user}");
        }
        assert!(find(PASSWD, &groups, Some("ana"), Some("ghosts"), (0, 0)).is_err());
        assert!(owner_among(PASSWD, GROUPS, no_id).is_err());
        assert!(owner_among(PASSWD, GROUPS, &format!("ana:{no_id}")).is_err());
    }

    #[test]
    fn users_and_groups_are_found_by_name_or_number() {
        let of_ana = Some(vec![29, 98, 1000]);
        assert_eq!(of(Some("ana"), None), Some((1000, 1000, of_ana.clone())));
        assert_eq!(of(Some("1000"), None), Some((1000, 1000, of_ana)));
        assert_eq!(of(Some("ana"), Some("audio")), Some((1000, 29, Some(vec![29, 98]))));
        assert_eq!(of(Some("4242"), Some("29")), Some((4242, 29, Some(vec![29]))));
        assert_eq!(
            of(Some("77"), None),
            Some((5, 6, Some(vec![6]))),
            "a name that is a number"
        );
        assert_eq!(of(None, Some("audio")), Some((0, 29, None)));
        for (user, group) in [(Some("nobody"), None), (Some("4242"), None), (None, Some("wheel"))] {
            assert_eq!(of(user, group), None, "{user:?} {group:?}");
        }
    }
}
