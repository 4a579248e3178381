//! `/etc/quietcore.toml`, valid and invalid: its meaning, and the line named in each error.

use plan::declared::{ActivationMode, BootPart, CpuSpec, Declaration, MOST_BYTES, add, parse, set_boot_flag};
use plan::{PlacementShape, Profile};

const GOOD: &str = "\
# Two partitions.
[[partition]]
name = \"rt\"
cpus = \"2-3\"  # the second package
profile = \"strict\"
with = [\"stat_interval=60\", \"watchdog\"]
without = [\"rps_cpus\"]
irq_here = [\"eth0-rx-3\", \"27\"]
owner = \"ana:audio\"

[[partition]]
name = \"net\"
count = 2
near = \"eth0\"
shape = \"spread\"
kind = \"performance\"
keep = \"5\"
at_boot = false
";

#[test]
fn every_key_is_read() {
    let declared = parse(GOOD.as_bytes()).unwrap();
    let [rt, net] = declared.as_slice() else {
        panic!("{declared:?}")
    };
    assert_eq!((rt.name().as_str(), rt.line), ("rt", 2));
    assert_eq!(rt.cpus, CpuSpec::Named("2-3".to_owned()));
    assert_eq!(rt.template.profile, Profile::Strict);
    assert_eq!(rt.template.with.get("stat_interval"), Some(&Some("60".to_owned())));
    assert_eq!(rt.template.with.get("watchdog"), Some(&None));
    assert!(rt.template.without.contains("rps_cpus") && rt.template.irq_here.len() == 2);
    assert_eq!(
        (rt.owner.as_deref(), rt.restored_at_boot),
        (Some("ana:audio"), ActivationMode::AtBoot)
    );
    assert_eq!((net.line, net.restored_at_boot), (11, ActivationMode::ByHand));
    let CpuSpec::Chosen {
        count,
        near,
        shape,
        kind,
        keep,
    } = &net.cpus
    else {
        panic!("{net:?}")
    };
    assert_eq!(
        (*count, near.as_deref(), keep.as_deref()),
        (Some(2), Some("eth0"), Some("5"))
    );
    assert_eq!(
        (*shape, *kind),
        (PlacementShape::Spread, Some(machine::CoreKind::Performance))
    );
    assert_eq!(net.template.profile, Profile::Balanced);
}

#[test]
fn an_empty_file_is_not_an_error() {
    for text in ["", "\n\n", "# only a comment\n", "partition = []\n"] {
        assert_eq!(parse(text.as_bytes()), Ok(Vec::new()), "{text:?}");
    }
    let bare = parse(b"[[partition]]\n").unwrap();
    assert_eq!(bare[0].name().as_str(), "rt", "one core, chosen, under the usual name");
    assert!(matches!(bare[0].cpus, CpuSpec::Chosen { count: None, .. }));
}

/// A partition with one more line, which is line 3.
fn with_line(line: &str) -> String {
    format!("[[partition]]\nname = \"a\"\n{line}\n")
}

#[test]
fn errors_are_reported_with_their_line() {
    let long = "n".repeat(33);
    let table: &[(String, usize, &str)] = &[
        ("cpus = \"2\"\n".to_owned(), 1, "unknown field `cpus`"),
        ("[partition]\nname = \"a\"\n".to_owned(), 1, "invalid type"),
        ("[[partitions]]\n".to_owned(), 1, "unknown field `partitions`"),
        ("\n\n[[partition]\n".to_owned(), 3, ""),
        (with_line("cpu = \"2\""), 3, "unknown field `cpu`"),
        (with_line("cpus = 2"), 3, "invalid type: integer"),
        (with_line("cpus = [\"2\"]"), 3, "invalid type: sequence"),
        (with_line("cpus = \"\""), 3, "isolates nothing"),
        (with_line("cpus = \"2\"\ncount = 1"), 4, "`count` has no effect"),
        (with_line("cpus = \"2\"\nkeep = \"1\""), 4, "`keep` has no effect"),
        (with_line("count = -1"), 3, "invalid value"),
        (with_line("count = 0"), 3, "it requests no CPU"),
        (with_line("count = \"2\""), 3, "invalid type: string"),
        (with_line("count = 99999999999999999999"), 3, ""),
        (with_line("shape = \"round\""), 3, "unknown variant `round`"),
        (with_line("kind = \"fast\""), 3, "unknown variant `fast`"),
        (with_line("profile = \"Strict\""), 3, "unknown variant `Strict`"),
        (with_line("with = \"watchdog\""), 3, "invalid type: string"),
        (
            with_line("with = [\n  \"watchdog\",\n  \"no_such\",\n]"),
            5,
            "there is no knob `no_such`",
        ),
        (
            with_line("with = [\"stat_interval=never\"]"),
            3,
            "stat_interval cannot be `never`",
        ),
        (
            with_line("with = [\"watchdog\"]\nwithout = [\"watchdog\"]"),
            4,
            "contradict each other",
        ),
        (with_line("without = [\"cpuset_partition\"]"), 3, "cannot be left out"),
        (
            with_line("without = [\"irq_affinity\"]\nirq_here = [\"3\"]"),
            4,
            "contradict each other",
        ),
        (with_line("irq_here = [\"\"]"), 3, "matches no interrupt"),
        (with_line("owner = 1000"), 3, "invalid type: integer"),
        (with_line("at_boot = \"no\""), 3, "invalid type: string"),
        (with_line("name = \"b\""), 3, "duplicate key"),
        ("[[partition]]\nname = \"\"\n".to_owned(), 2, "cannot be the name"),
        (
            "[[partition]]\nname = \"../../etc\"\n".to_owned(),
            2,
            "cannot be the name",
        ),
        ("[[partition]]\nname = \"a/b\"\n".to_owned(), 2, "cannot be the name"),
        ("[[partition]]\nname = \"-rf\"\n".to_owned(), 2, "cannot be the name"),
        (
            "[[partition]]\nname = \"housekeeping\"\n".to_owned(),
            2,
            "cannot be the name",
        ),
        (
            "[[partition]]\nname = \"a\\u0007\"\n".to_owned(),
            2,
            "cannot be the name",
        ),
        (format!("[[partition]]\nname = \"{long}\"\n"), 2, "cannot be the name"),
        (
            "[[partition]]\ncpus = \"2\"\n[[partition]]\ncpus = \"3\"\n".to_owned(),
            3,
            "rt is already declared in line 1",
        ),
        (
            "[[partition]]\ncpus = \"2-3\"\n\n[[partition]]\nname = \"b\"\ncpus = \"3,5\"\n".to_owned(),
            4,
            "CPU 3 is already declared for partition rt in line 1",
        ),
        (format!("x = {}", "[".repeat(5_000)), 1, ""),
    ];
    for (text, line, message) in table {
        let error = parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.line, *line, "{text}: {error}");
        assert!(error.what.contains(message), "{text}: {error}");
        assert!(!error.what.contains('\n') && !error.next.is_empty(), "{text}: {error}");
        assert!(
            !error.to_string().contains('\u{7}'),
            "control characters stay out: {error:?}"
        );
    }
}

#[test]
fn an_unknown_key_or_profile_gets_a_suggestion() {
    for (line, next) in [
        ("cpu = \"2\"", "did you mean cpus?"),
        ("profile = \"Strict\"", "did you mean strict?"),
        ("shape = \"spred\"", "did you mean spread?"),
        ("with = [\"stat_intervall\"]", "did you mean stat_interval"),
    ] {
        let error = parse(format!("[[partition]]\n{line}\n").as_bytes()).unwrap_err();
        assert!(error.next.contains(next), "{line}: {error:?}");
    }
    let error = parse(b"[[partition]]\nxyzzy = 1\n").unwrap_err();
    assert!(error.next.starts_with("a partition is"), "{error:?}");
}

#[test]
fn binary_and_oversized_files_are_refused() {
    let error = parse(b"# fine\n[[partition]]\nname = \"\xff\"\n").unwrap_err();
    assert_eq!(error.line, 3, "{error}");
    let huge = vec![b'#'; usize::try_from(MOST_BYTES).unwrap() + 1];
    assert!(parse(&huge).unwrap_err().what.contains("more than"));
    let many: String = (0..10_000)
        .map(|number| format!("[[partition]]\nname = \"p{number}\"\n"))
        .collect();
    assert_eq!(parse(many.as_bytes()).unwrap().len(), 10_000);
}

#[test]
fn adding_a_partition_keeps_everything_else() {
    let declared = parse(GOOD.as_bytes()).unwrap();
    let mut text = String::new();
    for one in &declared {
        text = add(&text, one).unwrap().unwrap();
        assert_eq!(add(&text, one), Ok(None), "a second time changes nothing");
    }
    let again = parse(text.as_bytes()).unwrap();
    let same = |(one, other): (&Declaration, &Declaration)| one.is_equivalent(other);
    assert!(declared.iter().zip(&again).all(same), "{text}");

    let third = &parse(b"[[partition]]\nname = \"third\"\ncpus = \"7\"\n").unwrap()[0];
    let commented = format!("{GOOD}# the last word\n");
    let longer = add(&commented, third).unwrap().unwrap();
    assert!(longer.starts_with(&commented), "{longer}");
    assert!(
        longer.ends_with("[[partition]]\nname = \"third\"\ncpus = \"7\"\n"),
        "{longer}"
    );
    let inline = add("partition = [{ name = \"a\", cpus = \"2\" }] # kept\n", third)
        .unwrap()
        .unwrap();
    assert!(
        inline.contains("# kept") && parse(inline.as_bytes()).unwrap().len() == 2,
        "{inline}"
    );
}

#[test]
fn a_different_declaration_is_not_overwritten() {
    let other = &parse(b"[[partition]]\ncpus = \"3\"\n").unwrap()[0];
    let error = add(GOOD, other).unwrap_err();
    assert_eq!(
        (
            error.line,
            error.what.contains("rt is already declared with other settings")
        ),
        (2, true),
        "{error}"
    );
    let taken = &parse(b"[[partition]]\nname = \"x\"\ncpus = \"3\"\n").unwrap()[0];
    assert!(add(GOOD, taken).unwrap_err().what.contains("CPU 3 is already declared"));
    assert!(add("[[partition]\n", other).is_err());
}

#[test]
fn boot_true_puts_a_partition_on_the_boot_line() {
    let parts = |text: &str| -> Vec<BootPart> { parse(text.as_bytes()).unwrap().iter().map(|one| one.boot).collect() };
    let text = "[[partition]]\ncpus = \"3\"\nboot = true # so\n\n[[partition]]\nname = \"b\"\ncpus = \"2\"\nboot = false\n\n# last\n[[partition]]\nname = \"c\"\ncpus = \"1\"  # one\n";
    assert_eq!(
        parts(text),
        [BootPart::OnLine, BootPart::RunTimeOnly, BootPart::Unspecified]
    );
    for name in ["count = 1", "near = \"eth0\""] {
        let error = parse(format!("[[partition]]\n{name}\n\nboot = true\n").as_bytes()).unwrap_err();
        assert_eq!(error.line, 4, "{error}");
        assert!(error.what.contains("needs `cpus`"), "{error}");
    }

    let all = parse(text.as_bytes()).unwrap();
    let names: Vec<_> = all.iter().map(|one| one.name().clone()).collect();
    let put = set_boot_flag(text, &names[2..]).unwrap().unwrap();
    assert_eq!(put, format!("{text}boot = true\n"), "everything else is kept");
    assert_eq!(set_boot_flag(&put, &names[2..]), Ok(None));
    let put = set_boot_flag(text, &names).unwrap().unwrap();
    assert_eq!(parts(&put), [BootPart::OnLine; 3]);
    assert_eq!(set_boot_flag(text, &names[..1]), Ok(None));
    let inline = "partition = [{ cpus = \"3\" }]\n";
    let put = set_boot_flag(inline, &names[..1]).unwrap().unwrap();
    assert_eq!(parts(&put), [BootPart::OnLine]);
    assert!(set_boot_flag("[[partition]]\ncount = 1\n", &names[..1]).is_err());
}

/// A second `apply --save` with the boot line changes the same partition. One that does not mention the line keeps it.
#[test]
fn saving_with_the_boot_line_extends_the_existing_partition() {
    let text = "# mine\n[[partition]]\nname = \"rt\"\ncpus = \"3\"\n";
    let mut new = parse(text.as_bytes()).unwrap().remove(0);
    new.boot = BootPart::OnLine;
    let put = add(text, &new).unwrap().unwrap();
    assert_eq!(put, format!("{text}boot = true\n"));
    assert_eq!(add(&put, &new), Ok(None));
    new.boot = BootPart::Unspecified;
    assert_eq!(add(&put, &new), Ok(None));
    assert_eq!(
        add(
            "",
            &Declaration {
                boot: BootPart::OnLine,
                ..new.clone()
            }
        )
        .map(|text| parse(text.unwrap().as_bytes()).unwrap()[0].boot),
        Ok(BootPart::OnLine)
    );
    let off = put.replace("true", "false");
    new.boot = BootPart::OnLine;
    assert!(add(&off, &new).is_err(), "reported that the line does not belong to it");
}

/// Returns the CPU time of parsing: the minimum of several runs, because disturbances only add time.
fn work_of(text: &str) -> std::time::Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        std::time::Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let read = |_| {
        let start = now();
        parse(text.as_bytes()).unwrap();
        now() - start
    };
    (0..5).map(read).min().unwrap()
}

#[test]
fn parsing_time_is_not_quadratic_in_the_partitions() {
    let many = |count: u32| -> String {
        let one = |cpu| format!("[[partition]]\nname = \"p{cpu}\"\ncpus = \"{cpu}\"\n");
        (0..count).map(one).collect()
    };
    let (few, many) = (work_of(&many(1_000)), work_of(&many(4_000)));
    assert!(many < few * 10, "{few:?} for 1000, {many:?} for 4000");
}
