//! Determines the owner of a cpuset cgroup by its path: a container, a pod, a virtual machine, a unit of systemd, a set
//! of cset.
//!
//! The names are those used by runc, podman, the kubelet (both of its cgroup drivers), libvirt and systemd: see
//! `docker info` ("Cgroup Driver"), the kubelet's `cgroupDriver`, and libvirt.org/cgroups.html.

/// The owner of a cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenant {
    /// A container of Docker; `None` is the group of all of them.
    Docker(Option<String>),
    /// A container of podman.
    Podman(String),
    /// A pod of Kubernetes by its unique number, or `None` for a group of pods; and the container in it.
    Pod(Option<String>, Option<String>),
    /// A virtual machine of libvirt, and its part (`emulator`, `vcpu0`, `iothread1`).
    Guest(String, Option<String>),
    /// The group of all virtual machines.
    Machines,
    /// A unit of systemd.
    Unit(String),
    /// `system` or `user` of cset.
    Cset,
}

/// The owner of a cgroup with this path below the mount; `None` if its name does not show it.
#[must_use]
pub fn cgroup_owner(path: &str) -> Option<Tenant> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| part.starts_with("kubepods")) {
        return Some(pod(&parts));
    }
    // The innermost part that is conclusive.
    let known = parts.iter().enumerate().rev();
    let mut named = known.filter_map(|(at, part)| match *part {
        "docker" if at + 1 == parts.len() => Some(Tenant::Docker(None)),
        "machine" | "machine.slice" | "libvirt" if at + 1 == parts.len() && at == 0 => Some(Tenant::Machines),
        part if at > 0 && parts.get(at - 1) == Some(&"docker") => Some(Tenant::Docker(Some(part.to_owned()))),
        part => scope(part, parts.get(at + 1..).unwrap_or_default()),
    });
    let found = named.next();
    found.or_else(|| matches!(parts.as_slice(), ["system" | "user"]).then_some(Tenant::Cset))
}

fn scope(part: &str, below: &[&str]) -> Option<Tenant> {
    let inside = |prefix: &str| Some(part.strip_prefix(prefix)?.trim_end_matches(".scope").to_owned());
    if let Some(id) = inside("docker-") {
        return Some(Tenant::Docker(Some(id)));
    }
    if let Some(id) = inside("libpod-") {
        return Some(Tenant::Podman(id));
    }
    let plain = unescape(part);
    let guest = plain
        .strip_prefix("machine-qemu-")
        .or_else(|| plain.strip_prefix("qemu-"));
    // `qemu-3-web.libvirt-qemu`, `machine-qemu-3-web.scope`: the number counts starts.
    let name = guest.and_then(|rest| rest.split_once('-'));
    if let Some((_, name)) = name.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit())) {
        let name = name.trim_end_matches(".scope").trim_end_matches(".libvirt-qemu");
        let part = below
            .iter()
            .find(|part| **part != "libvirt")
            .map(|part| (*part).to_owned());
        return Some(Tenant::Guest(name.to_owned(), part));
    }
    let is_unit = [".service", ".scope", ".slice"].iter().any(|end| part.ends_with(end));
    is_unit.then(|| Tenant::Unit(part.to_owned()))
}

/// `/kubepods/burstable/podUID/ID`, or `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/RUNTIME-ID.scope`
/// with underscores in the number.
fn pod(parts: &[&str]) -> Tenant {
    let unique = |part: &&str| {
        let (_, unique) = part
            .trim_end_matches(".slice")
            .rsplit_once("pod")
            .filter(|(front, _)| front.is_empty() || front.starts_with("kubepods-"))?;
        (!unique.is_empty() && *unique != *"s").then(|| unique.replace('_', "-"))
    };
    let at = parts.iter().position(|part| unique(part).is_some());
    let container = at.and_then(|at| parts.get(at + 1)).map(|part| {
        let id = part.trim_end_matches(".scope");
        id.rsplit_once('-').map_or(id, |(_, id)| id).to_owned()
    });
    Tenant::Pod(at.and_then(|at| parts.get(at)).and_then(unique), container)
}

/// systemd writes a dash within a name as `\x2d`.
fn unescape(name: &str) -> String {
    name.replace("\\x2d", "-")
}

/// As `docker ps` shows it.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

impl Tenant {
    /// Its usual name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Tenant::Docker(None) => "the parent of Docker's containers".to_owned(),
            Tenant::Docker(Some(id)) => format!("Docker container {}", short(id)),
            Tenant::Podman(id) => format!("podman container {}", short(id)),
            Tenant::Pod(None, _) => "pods of Kubernetes".to_owned(),
            Tenant::Pod(Some(pod), None) => format!("Kubernetes pod {pod}"),
            Tenant::Pod(Some(pod), Some(id)) => format!("container {} of Kubernetes pod {pod}", short(id)),
            Tenant::Guest(name, None) => format!("virtual machine {name}"),
            Tenant::Guest(name, Some(part)) => format!("{part} of virtual machine {name}"),
            Tenant::Machines => "the parent of virtual machines".to_owned(),
            Tenant::Unit(unit) => format!("{unit} of systemd"),
            Tenant::Cset => "cset".to_owned(),
        }
    }

    /// The command that moves it onto these CPUs.
    #[must_use]
    pub fn command(&self, cpus: &str) -> String {
        match self {
            Tenant::Docker(Some(id)) => format!("docker update --cpuset-cpus={cpus} {}", short(id)),
            Tenant::Docker(None) => "docker update --cpuset-cpus, for each container".to_owned(),
            Tenant::Podman(id) => format!("podman update --cpuset-cpus={cpus} {}", short(id)),
            Tenant::Pod(..) => "configure the kubelet with reservedSystemCPUs that include the isolated CPUs, drain \
                 the node, remove /var/lib/kubelet/cpu_manager_state and restart the kubelet"
                .to_owned(),
            Tenant::Guest(name, part) => match part.as_deref() {
                Some("emulator") | None => format!("virsh emulatorpin {name} {cpus}"),
                Some(part) => match (part.strip_prefix("vcpu"), part.strip_prefix("iothread")) {
                    (Some(number), _) => format!("virsh vcpupin {name} {number} {cpus}"),
                    (_, Some(number)) => format!("virsh iothreadpin {name} {number} {cpus}"),
                    _ => format!("virsh vcpupin {name}"),
                },
            },
            Tenant::Machines => "virsh vcpupin and virsh emulatorpin, for each virtual machine".to_owned(),
            Tenant::Unit(unit) => format!("systemctl set-property --runtime {unit} AllowedCPUs={cpus}"),
            Tenant::Cset => "cset shield --reset".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4f8e9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f";

    fn check(path: &str, name: &str, command: &str) {
        let found = cgroup_owner(&path.replace("ID", ID));
        assert_eq!(found.as_ref().map(Tenant::name).unwrap_or_default(), name, "of {path}");
        let reported = found.map(|found| found.command("0-2")).unwrap_or_default();
        assert!(reported.starts_with(command), "{path}: {reported}");
    }

    #[test]
    fn containers() {
        let update = "docker update --cpuset-cpus=0-2 4f8e9a0b1c2d";
        check("/docker", "the parent of Docker's containers", "docker update");
        check("/docker/ID", "Docker container 4f8e9a0b1c2d", update);
        check("/system.slice/docker-ID.scope", "Docker container 4f8e9a0b1c2d", update);
        check(
            "/system.slice/docker-ID.scope/init.scope",
            "init.scope of systemd",
            "systemctl",
        );
        check(
            "/machine.slice/libpod-ID.scope",
            "podman container 4f8e9a0b1c2d",
            "podman update",
        );
    }

    #[test]
    fn pods_of_kubernetes() {
        check("/kubepods.slice", "pods of Kubernetes", "configure the kubelet");
        check("/kubepods/besteffort", "pods of Kubernetes", "configure the kubelet");
        check(
            "/kubepods/burstable/pod0a1b-22/ID",
            "container 4f8e9a0b1c2d of Kubernetes pod 0a1b-22",
            "configure the kubelet",
        );
        check(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b_22.slice/cri-containerd-ID.scope",
            "container 4f8e9a0b1c2d of Kubernetes pod 0a1b-22",
            "configure the kubelet",
        );
        check(
            "/kubepods.slice/kubepods-pod0a1b_22.slice",
            "Kubernetes pod 0a1b-22",
            "configure the kubelet",
        );
    }

    #[test]
    fn virtual_machines() {
        check(
            "/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2d1.scope/libvirt/vcpu0",
            "vcpu0 of virtual machine web-1",
            "virsh vcpupin web-1 0 0-2",
        );
        check(
            "/machine/qemu-12-db.libvirt-qemu/emulator",
            "emulator of virtual machine db",
            "virsh emulatorpin db 0-2",
        );
        check("/machine.slice", "the parent of virtual machines", "virsh");
    }

    #[test]
    fn units_of_systemd_and_sets() {
        check(
            "/system.slice/nginx.service",
            "nginx.service of systemd",
            "systemctl set-property --runtime nginx.service",
        );
        check("/user", "cset", "cset shield --reset");
        for path in ["/", "/rt", "/a/user", "/dockerlike/x", "/podium"] {
            check(path, "", "");
        }
    }
}
