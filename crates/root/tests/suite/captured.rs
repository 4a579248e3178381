//! Captured machines, valid and malicious. The malicious archives are built here, byte by byte.

use root::{DirectoryEntryType, Origin, PathKind, Root, RootError};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};

/// Builds a tar archive. Names are written unchanged, which the builder of the tar crate refuses.
#[derive(Default)]
struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    fn entry(mut self, kind: EntryType, name: &str, link: &str, mode: u32, content: &[u8]) -> Tar {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        old.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, content: &str) -> Tar {
        self.entry(EntryType::Regular, name, "", 0o444, content.as_bytes())
    }

    fn link(self, name: &str, target: &str) -> Tar {
        self.entry(EntryType::Symlink, name, target, 0o777, b"")
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 1024, 0);
        self.bytes
    }
}

fn good() -> Tar {
    Tar::default()
        .file("top/proc/version", "Linux version 6.1.0\n")
        .file("top/proc/stat", "cpu 1\ncpu0 1\n\nlast")
        .entry(EntryType::Regular, "top/proc/irq/5/smp_affinity", "", 0o644, b"3\n")
        .file("top/sys/devices/node/node0/cpulist", "0-3\n")
        .link("top/sys/devices/cpu/cpu0/node0", "../../node/node0")
        .link("top/sys/bus/node0", "/sys/devices/node/node0")
        .link("top/sys/dangling", "nowhere/at/all")
        .link("top/sys/out", "../../../../../../etc/passwd")
        .link("top/sys/circle", "circle2")
        .link("top/sys/circle2", "circle")
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn open(bytes: &[u8]) -> Result<Root, RootError> {
    let dir = tempfile::tempdir().unwrap();
    Root::open(&write(dir.path(), "machine.bin", bytes))
}

fn packed_in_every_way(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(plain).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(plain).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
    xz.write_all(plain).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    vec![
        ("plain", plain.to_vec()),
        ("gz", gz.finish().unwrap()),
        ("bz2", bz2.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("zst", ruzstd::encoding::compress_to_vec(plain, level)),
    ]
}

/// Checks the content of the machine of [`good`] in any kind of root.
fn check_good(root: &Root, what: &str) {
    assert_eq!(root.origin(), Origin::Captured);
    let value = |path: &str| {
        root.value(path)
            .unwrap_or_else(|error| panic!("{what}: {path}: {error}"))
    };
    assert_eq!(value("/proc/version").as_deref(), Some("Linux version 6.1.0"), "{what}");
    assert_eq!(value("proc//version").as_deref(), Some("Linux version 6.1.0"), "{what}");
    assert_eq!(value("/proc/absent"), None, "{what}");
    assert_eq!(value("/proc/version/below"), None, "{what}");
    assert_eq!(value("/proc"), None, "{what}: a directory is no file");
    assert_eq!(
        value("/sys/devices/cpu/cpu0/node0/cpulist").as_deref(),
        Some("0-3"),
        "{what}: relative link"
    );
    assert_eq!(
        value("/sys/bus/node0/cpulist").as_deref(),
        Some("0-3"),
        "{what}: absolute link"
    );
    assert_eq!(value("/sys/dangling"), None, "{what}: a dangling link is absence");
    for path in ["/sys/out", "/sys/circle", "/proc/../../x"] {
        let outcome = root.bytes(path);
        assert!(
            matches!(outcome, Err(RootError::Hostile { .. })),
            "{what}: {path}: {outcome:?}"
        );
    }
    assert_eq!(
        root.link("/sys/devices/cpu/cpu0/node0").unwrap().as_deref(),
        Some("../../node/node0"),
        "{what}"
    );
    assert_eq!(root.link("/proc/version").unwrap(), None, "{what}");
    assert_eq!(root.link("/proc/absent").unwrap(), None, "{what}");
    assert_eq!(root.kind("/sys/bus/node0").unwrap(), Some(PathKind::Dir), "{what}");
    assert_eq!(root.kind("/proc/stat").unwrap(), Some(PathKind::File), "{what}");
    assert_eq!(root.mode("/proc/irq/5/smp_affinity").unwrap(), Some(0o644), "{what}");
    assert_eq!(root.mode("/proc/version").unwrap(), Some(0o444), "{what}");
    let mut lines = Vec::new();
    assert!(
        root.lines("/proc/stat", &mut |line| lines
            .push(String::from_utf8_lossy(line).into_owned()))
            .unwrap()
    );
    assert_eq!(lines, ["cpu 1", "cpu0 1", "", "last"], "{what}");
    let entries = root.entries("/sys").unwrap().unwrap();
    let found: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
    let links = ["circle", "circle2", "dangling"].map(|name| (name, DirectoryEntryType::Link));
    assert_eq!(found[0], ("bus", DirectoryEntryType::Dir), "{what}");
    assert_eq!(found[1..4], links, "{what}");
    assert_eq!(root.names("/proc/version").unwrap(), None, "{what}");
}

#[test]
fn every_archive_format_gives_the_same_machine() {
    for (packing, bytes) in packed_in_every_way(&good().end()) {
        check_good(
            &open(&bytes).unwrap_or_else(|error| panic!("{packing}: {error}")),
            packing,
        );
    }
}

#[test]
fn a_directory_gives_the_same_machine() {
    let dir = tempfile::tempdir().unwrap();
    tar::Archive::new(good().end().as_slice()).unpack(dir.path()).unwrap();
    check_good(&Root::open(dir.path()).unwrap(), "directory with one folder");
    check_good(&Root::open(&dir.path().join("top")).unwrap(), "directory");
}

#[test]
fn nothing_outside_a_directory_is_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "secret").unwrap();
    let top = dir.path().join("top");
    std::fs::create_dir_all(top.join("proc")).unwrap();
    std::fs::create_dir_all(top.join("sys/deep")).unwrap();
    symlink(dir.path().join("secret"), top.join("proc/absolute")).unwrap();
    symlink("../../secret", top.join("proc/relative")).unwrap();
    symlink("../..", top.join("proc/above")).unwrap();
    symlink("../../proc/../../secret", top.join("sys/deep/late")).unwrap();
    symlink("/proc/self/environ", top.join("proc/own")).unwrap();
    let root = Root::open(&top).unwrap();
    // Absolute targets start at the root, where there is no such file.
    assert_eq!(root.bytes("/proc/absolute").unwrap(), None);
    assert_eq!(root.bytes("/proc/own").unwrap(), None);
    for path in ["/proc/relative", "/proc/above/secret", "/sys/deep/late", "/../secret"] {
        assert!(
            matches!(root.bytes(path), Err(RootError::Hostile { .. })),
            "{path}: {:?}",
            root.bytes(path)
        );
    }
    assert!(matches!(root.names("/proc/above"), Err(RootError::Hostile { .. })));
}

#[test]
fn devices_and_pipes_in_a_directory_are_refused_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("proc")).unwrap();
    let fifo = dir.path().join("proc/stat");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let root = Root::open(dir.path()).unwrap();
    assert!(matches!(root.bytes("/proc/stat"), Err(RootError::Hostile { .. })));
    assert_eq!(root.kind("/proc/stat").unwrap(), None);
}

#[test]
fn hostile_entries_are_refused_when_the_archive_is_opened() {
    let check = |what: &str, tar: Tar| match open(&tar.end()) {
        Err(RootError::Hostile { .. }) => {}
        Err(error) => panic!("{what}: another error: {error}"),
        Ok(_) => panic!("{what}: was taken"),
    };
    check("absolute name", good().file("/proc/cpuinfo", "x"));
    check("climbing name", good().file("top/../../proc/cpuinfo", "x"));
    check(
        "climbing to the end",
        good().entry(EntryType::Directory, "top/..", "", 0o755, b""),
    );
    check(
        "character device",
        good().entry(EntryType::Char, "top/dev/null", "", 0o666, b""),
    );
    check(
        "block device",
        good().entry(EntryType::Block, "top/dev/sda", "", 0o666, b""),
    );
    check("fifo", good().entry(EntryType::Fifo, "top/proc/stat2", "", 0o666, b""));
    check(
        "unknown kind",
        good().entry(EntryType::new(b'Z'), "top/proc/x", "", 0o666, b""),
    );
    check(
        "hard link out",
        good().entry(EntryType::Link, "top/proc/x", "../etc/passwd", 0o644, b""),
    );
    check(
        "absolute hard link",
        good().entry(EntryType::Link, "top/proc/x", "/etc/passwd", 0o644, b""),
    );
    check(
        "hard link to nothing",
        good().entry(EntryType::Link, "top/proc/x", "top/proc/y", 0o644, b""),
    );
    check("nameless file", good().file("./", "x"));
    check("empty link", good().link("top/sys/l", ""));
}

#[test]
fn hard_links_are_followed_and_the_last_of_repeated_names_counts() {
    let tar = good()
        .entry(EntryType::Link, "top/proc/version2", "./top/proc/version", 0o644, b"")
        .file("top/proc/twice", "first")
        .file("./top/proc//twice", "second");
    let root = open(&tar.end()).unwrap();
    assert_eq!(
        root.value("/proc/version2").unwrap().as_deref(),
        Some("Linux version 6.1.0")
    );
    assert_eq!(root.value("/proc/twice").unwrap().as_deref(), Some("second"));
    let names = root.names("/proc").unwrap().unwrap();
    assert_eq!(names.iter().filter(|name| *name == "twice").count(), 1);
}

fn refusal(bytes: &[u8]) -> String {
    match open(bytes) {
        Err(RootError::Archive { why, .. }) => why,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn every_truncation_is_noticed() {
    // Random bytes do not compress, so each compressed form can be cut at many places.
    let noise: Vec<u8> = (0..40_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let plain = good()
        .entry(EntryType::Regular, "top/proc/noise", "", 0o444, &noise)
        .end();
    for (packing, bytes) in packed_in_every_way(&plain) {
        for cut in [1, 2, 7, 100, 511, 512, 600, bytes.len() / 2, bytes.len() * 9 / 10] {
            // The last 512 bytes of the uncompressed form are half of the end marker and padding, so cutting them loses
            // nothing.
            let keep = if cut >= bytes.len() / 2 { cut } else { bytes.len() - cut };
            if packing == "plain" && bytes.len() - keep <= 512 {
                continue;
            }
            let why = refusal(&bytes[..keep]);
            assert!(
                why.contains("truncated"),
                "{packing} cut to {keep} of {}: {why}",
                bytes.len()
            );
        }
    }
}

#[test]
fn an_archive_that_ends_between_two_entries_is_truncated() {
    let whole = good().end();
    let why = refusal(&whole[..whole.len() - 1024]);
    assert!(why.contains("end mark"), "{why}");
}

#[test]
fn every_damage_to_a_format_with_checksums_is_noticed() {
    let noise: Vec<u8> = (0..20_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let plain = good()
        .entry(EntryType::Regular, "top/proc/noise", "", 0o444, &noise)
        .end();
    for (packing, bytes) in packed_in_every_way(&plain).into_iter().skip(1) {
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 0x10;
        refusal(&damaged);
        println!("{packing}: noticed");
    }
}

#[test]
fn garbage_is_reported_as_no_archive() {
    assert!(refusal(b"").contains("empty"));
    assert!(refusal(b"hello, I am no archive").contains("not a tar archive"));
    assert!(refusal(&[0x55; 5000]).contains("not a tar archive"));
    assert!(refusal(&[0x1f, 0x8b, 1, 2, 3, 4]).contains("not a tar archive"));
    assert!(refusal(&[0; 2048]).contains("neither `proc` nor `sys`"));
}

#[test]
fn an_archive_without_a_machine_is_refused() {
    assert!(refusal(&Tar::default().file("top/etc/passwd", "x").end()).contains("neither `proc` nor `sys`"));
    // Two directories at the top: neither is the root.
    assert!(refusal(&Tar::default().file("a/proc/x", "x").file("b/proc/x", "x").end()).contains("single folder"));
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Root::open(dir.path()), Err(RootError::Archive { why, .. }) if why.contains("neither")));
    let absent = Root::open(&dir.path().join("absent"));
    assert_eq!(absent.err().and_then(|error| error.errno()), Some(libc::ENOENT));
}

/// A header that claims a size, followed by this many zeros.
fn claim(kind: EntryType, claimed: u64, zeros: u64) -> impl std::io::Read {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(claimed);
    header.set_mode(0o644);
    header.as_old_mut().name[..8].copy_from_slice(b"proc/big");
    header.set_cksum();
    std::io::Read::chain(
        std::io::Cursor::new(header.as_bytes().to_vec()),
        std::io::Read::take(std::io::repeat(0), zeros),
    )
}

#[test]
fn decompression_bombs_are_refused_early() {
    // 4 GiB of zeros are 4 MB in gzip, and 3 kB in bzip2.
    let begin = std::time::Instant::now();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut claim(EntryType::Regular, 4 << 30, 64 << 20), &mut gz).unwrap();
    let why = refusal(&gz.finish().unwrap());
    assert!(why.contains("unpacks to more than"), "{why}");
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    std::io::copy(&mut claim(EntryType::Regular, 128 << 20, 128 << 20), &mut bz2).unwrap();
    let why = refusal(&bz2.finish().unwrap());
    assert!(why.contains("bomb"), "{why}");
    // The tar library reads a long name completely into memory.
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut claim(EntryType::GNULongName, 1 << 30, 32 << 20), &mut gz).unwrap();
    let why = refusal(&gz.finish().unwrap());
    assert!(why.contains("no tar program writes"), "{why}");
    println!("refused in {:?}", begin.elapsed());
}

#[test]
fn deep_folders_are_read_and_overlong_names_are_refused() {
    let deep = |folders: usize| {
        let name = format!("top/{}x", "d/".repeat(folders));
        let tar = good().entry(EntryType::GNULongName, "././@LongLink", "", 0o644, name.as_bytes());
        open(&tar.file("short", "deep").end())
    };
    let root = deep(2_000).unwrap();
    assert_eq!(
        root.value(&format!("/{}x", "d/".repeat(2_000))).unwrap().as_deref(),
        Some("deep")
    );
    assert!(matches!(deep(20_000), Err(RootError::Hostile { .. })));
}

#[test]
fn compressed_files_are_unpacked_within_a_limit() {
    let packed = |content: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(content).unwrap();
        gz.finish().unwrap()
    };
    let tar = |content: &[u8]| {
        good()
            .entry(EntryType::Regular, "top/proc/config.gz", "", 0o444, content)
            .end()
    };
    let read = |content: &[u8]| open(&tar(content)).unwrap().inflated("/proc/config.gz");
    assert_eq!(read(&packed(b"CONFIG_X=y\n")).unwrap().as_deref(), Some("CONFIG_X=y\n"));
    assert!(read(b"not gzip").is_err());
    assert!(read(&packed(&vec![0; (root::MAX_INFLATED + 1) as usize])).is_err());
    // A byte that is not UTF-8 becomes three bytes of text.
    let third = root::MAX_INFLATED as usize / 3;
    assert!(read(&packed(&vec![0xff; third])).is_ok());
    assert!(read(&packed(&vec![0xff; third + 1])).is_err());
}

/// A few bytes whose decoder would need 1.5 or 2 GiB. They are refused before that memory is allocated.
#[test]
fn archives_whose_decoder_needs_too_much_memory_are_refused() {
    const XZ_WITH_A_DICTIONARY_OF_1536_MIB: &str = "fd377a585a000004e6d6b44602002101250000003b787b41e027ff002c5d0000\
        6ffdffffa3b7ff473e481572396151b89228e6a38607f9eee41e82d32fc53a3c014bb17ec98a5c321b640000af1812b32f55cc33000148\
        8050000000ece3b55ab1c467fb020000000004595a";
    let xz: Vec<u8> = XZ_WITH_A_DICTIONARY_OF_1536_MIB
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    // A frame with a window of 2 GiB and blocks of one byte each, repeated 128 KiB long (RFC 8878).
    let block = |is_last: u32| {
        let header = (128 << 10) << 3 | 1 << 1 | is_last;
        let [low, middle, high, _] = u32::to_le_bytes(header);
        [low, middle, high, 0]
    };
    let mut zst = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3];
    (0..1 << 14).for_each(|number| zst.extend(block(u32::from(number == (1 << 14) - 1))));
    for bytes in [&xz, &zst] {
        let error = open(bytes).err().unwrap().to_string();
        assert!(error.contains("more than 100 MiB of memory"), "{error}");
    }
}
