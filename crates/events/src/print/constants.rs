//! Lists constants that `print fmt:` lines use although only the kernel's sources define them.

/// Name and number. Sources: `include/linux/hrtimer.h`, `include/uapi/linux/ioprio.h`, `include/linux/pm_qos.h`,
/// `include/linux/migrate_mode.h`; none has changed since it appeared.
const KNOWN: &[(&str, i128)] = &[
    ("HRTIMER_MODE_ABS", 0),
    ("HRTIMER_MODE_REL", 1),
    ("HRTIMER_MODE_ABS_PINNED", 2),
    ("HRTIMER_MODE_REL_PINNED", 3),
    ("HRTIMER_MODE_ABS_SOFT", 4),
    ("HRTIMER_MODE_REL_SOFT", 5),
    ("HRTIMER_MODE_ABS_PINNED_SOFT", 6),
    ("HRTIMER_MODE_REL_PINNED_SOFT", 7),
    ("HRTIMER_MODE_ABS_HARD", 8),
    ("HRTIMER_MODE_REL_HARD", 9),
    ("HRTIMER_MODE_ABS_PINNED_HARD", 10),
    ("HRTIMER_MODE_REL_PINNED_HARD", 11),
    ("IOPRIO_CLASS_NONE", 0),
    ("IOPRIO_CLASS_RT", 1),
    ("IOPRIO_CLASS_BE", 2),
    ("IOPRIO_CLASS_IDLE", 3),
    ("IOPRIO_CLASS_INVALID", 7),
    ("PM_QOS_ADD_REQ", 0),
    ("PM_QOS_UPDATE_REQ", 1),
    ("PM_QOS_REMOVE_REQ", 2),
    ("DEV_PM_QOS_RESUME_LATENCY", 1),
    ("DEV_PM_QOS_FLAGS", 5),
    ("false", 0),
    ("true", 1),
    ("NULL", 0),
];

/// The value of the constant with this name.
pub(super) fn number(name: &str) -> Option<i128> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| *number)
}
