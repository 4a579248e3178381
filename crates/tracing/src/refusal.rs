//! Explains why the kernel refuses tracing, and how to fix it: the same errno has several causes.

use root::{Failure, RootError, Status};
use session::Session;
use trace::TraceError;

/// The state of `/sys/kernel/security/lockdown` in which tracing is forbidden.
const CONFIDENTIALITY: &str = "confidentiality";
const UNLOCK: &str = "boot without lockdown=confidentiality; lockdown=integrity allows tracing";

/// A file of tracefs that refuses access.
pub fn refused(session: &Session, error: RootError) -> Failure {
    let (user, _) = root::process::ids();
    match error.errno() {
        Some(libc::EACCES | libc::EPERM) if user == 0 => forbidden(error, session.machine().kernel.lockdown.as_deref()),
        Some(libc::EBUSY) => Failure {
            status: Status::Conflict,
            next: "another program uses this tracer or reads this buffer; wait for it, or stop it".to_owned(),
            ..error.into()
        },
        Some(libc::ENOMEM) => Failure {
            next: "the kernel does not have enough memory for buffers of this size on all CPUs; use a smaller --buffer"
                .to_owned(),
            ..error.into()
        },
        _ => error.into(),
    }
}

/// tracefs is missing or empty.
pub fn absent(session: &Session) -> Failure {
    none(session.machine().kernel.lockdown.as_deref())
}

fn none(lockdown: Option<&str>) -> Failure {
    match lockdown {
        Some(CONFIDENTIALITY) => Failure::new(
            Status::Denied,
            "tracefs",
            "it is empty: the kernel is locked down (confidentiality)",
            UNLOCK,
        ),
        _ => Failure::unable(
            "tracefs",
            "this kernel has no tracing (CONFIG_FTRACE), or was locked down at boot (lockdown=confidentiality)",
            "use a kernel with tracing",
        ),
    }
}

/// A trace that cannot be read.
pub fn untraceable(session: &Session, error: TraceError) -> Failure {
    match error {
        TraceError::Root(error) => refused(session, error),
        error => Failure::unable(
            "the kernel's trace cannot be read",
            error,
            "`measure noise` shows how much time is stolen, without names",
        ),
    }
}

/// Root is refused as well: a setting forbids it even to root.
fn forbidden(error: RootError, lockdown: Option<&str>) -> Failure {
    let error = Failure::from(error);
    match lockdown {
        Some(CONFIDENTIALITY) => Failure {
            why: format!(
                "{}, also for root: the kernel is locked down (confidentiality)",
                error.why
            ),
            next: UNLOCK.to_owned(),
            ..error
        },
        _ => Failure {
            next: "root may not do this here: a container, a security module or lockdown=confidentiality forbids it; \
                 run it on the host"
                .to_owned(),
            ..error
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> RootError {
        RootError::Denied {
            path: "/sys/kernel/tracing/instances".to_owned(),
            errno: libc::EPERM,
        }
    }

    #[test]
    fn a_refusal_to_root_does_not_suggest_running_as_root() {
        let locked = forbidden(denied(), Some("confidentiality"));
        assert_eq!(locked.status, Status::Denied);
        assert!(
            locked.why.contains("locked down") && locked.next.contains("integrity"),
            "{locked:?}"
        );
        let other = forbidden(denied(), Some("none"));
        assert!(
            other.next.contains("container") && !other.why.contains("locked"),
            "{other:?}"
        );
    }

    #[test]
    fn an_empty_tracefs_differs_from_a_kernel_without_tracefs() {
        assert_eq!(none(Some("confidentiality")).status, Status::Denied);
        assert_eq!(none(Some("integrity")).status, Status::Unable);
        assert_eq!(none(None).status, Status::Unable);
    }

    #[test]
    fn a_busy_file_is_a_conflict_and_a_large_value_names_the_option() {
        let session = Session::live(&terminal::StandardError::Normal);
        let reported = |errno| {
            refused(
                &session,
                RootError::Io {
                    path: "/sys/kernel/tracing/instances/x/current_tracer".to_owned(),
                    operation: "write",
                    errno,
                },
            )
        };
        let busy = reported(libc::EBUSY);
        assert!(
            busy.status == Status::Conflict && busy.what.ends_with("current_tracer"),
            "{busy:?}"
        );
        let large = reported(libc::ENOMEM);
        assert!(
            large.status == Status::Unable && large.next.contains("--buffer"),
            "{large:?}"
        );
    }
}
