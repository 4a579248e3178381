//! The kernel's configuration, its release, and its version string.

use super::{FuzzTarget, owned, text};
use machine::kernel::{parse_config, parse_preemption_words, parse_version};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "kernel_config",
    seeds: || {
        owned(&[
            "# Linux/x86 6.12.0 Kernel Configuration\nCONFIG_PREEMPT_RT=y\n# CONFIG_NO_HZ_FULL is not set\nCONFIG_HZ=1000\nCONFIG_LOCALVERSION=\"-a=\\\"b\"\nCONFIG_X=\n",
            "6.12.0-rc3-rt11+",
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10)",
            "99999999999.4294967296",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        assert!(parse_config(&text).keys().all(|name| !name.is_empty()));
        let version = parse_version(&text);
        let _ = parse_preemption_words(&text, version);
    },
};
