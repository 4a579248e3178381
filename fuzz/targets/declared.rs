//! `/etc/quietcore.toml`: any content is either read or rejected with a line number, and what was read can be written
//! again.

use super::{FuzzTarget, owned};
use plan::declared::{add, parse, watching};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "declared",
    seeds: || {
        owned(&[
            "# one\n[[partition]]\nname = \"rt\"\ncpus = \"2-3\"\nwith = [\"stat_interval=60\"]\nowner = \"ana:audio\"\n",
            "[[partition]]\ncount = 2\nnear = \"eth0\"\nshape = \"spread\"\nkind = \"performance\"\nkeep = \"1\"\n\
             profile = \"strict\"\nwithout = [\"rps_cpus\"]\nirq_here = [\"eth0*\", \"27\"]\nat_boot = false\n",
            "[watch]\nalert = [\"/bin/page\"]\njournal = true\nrepair = [\"irq_affinity\"]\nignore = [\"tick:cpu1\"]\nlevel = \"error\"\n",
            "[pool]\ncpus = \"4-7\"\nprofile = \"strict\"\nreserve = 1\n[[partition]]\ncpus = \"2\"\n",
            "partition = [{ name = \"a\", cpus = '0x4' }, { name = \"b\", cpus = \"\"\"3\"\"\" }]\n",
        ])
    },
    run: |bytes| match parse(bytes) {
        Err(error) => {
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!(error.line <= lines && !error.what.contains(char::is_control));
        }
        Ok(declared) => {
            if let Err(error) = watching(bytes) {
                assert!(!error.what.contains(char::is_control));
            }
            // Each addition reads the whole file again.
            if declared.len() > 64 {
                return;
            }
            let mut written = String::new();
            for one in &declared {
                written = add(&written, one).unwrap().unwrap();
            }
            let again = parse(written.as_bytes()).unwrap();
            assert_eq!(again.len(), declared.len());
            assert!(declared.iter().zip(&again).all(|(one, other)| one.is_equivalent(other)));
        }
    },
};
