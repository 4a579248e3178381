#!/bin/sh
# First process of a guest: mounts what the kernel arguments ask for, runs the scenario, reports, switches off.
export PATH=/bin HOME=/root
# An installed Debian has its own programs.
if [ -e /etc/debian_version ]; then PATH=/bin:/sbin; else /bin/busybox --install -s /bin; fi
# The root of an initramfs is open to everybody (01777); that of an installed system is not.
chmod 0755 /
mount -t proc proc /proc
mount -t sysfs sys /sys
# The emulator translates a program again for each address at which it is loaded: programs start at one address.
echo 0 >/proc/sys/kernel/randomize_va_space
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /run/lock
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null

modules=/modules
if [ -e "/modules-$(uname -r)" ]; then modules=/modules-$(uname -r); fi
while read -r module; do insmod "$module" || echo "lab: $module does not load"; done <$modules/order

# What a boot loader has started is only the way to the disk. This file stands there again, beside an fstab.
root=$(sed -n 's/.*\<root=\([^ ]*\).*/\1/p' /proc/cmdline)
if [ -e /etc/fstab ]; then
    PATH=/bin:/usr/sbin:/usr/bin:/sbin
    mount -a
    mount -t efivarfs efivarfs /sys/firmware/efi/efivars 2>/dev/null
    LAB_BOOT=$(($(cat /boots) + 1))
    export LAB_BOOT
    echo "$LAB_BOOT" >/boots
elif [ -n "$root" ]; then
    # Without its disk this ends, and the kernel panics, as every initramfs has it.
    mount -t ext4 "$root" /mnt || exit 1
    exec switch_root /mnt /init
elif [ ! -e /etc/debian_version ]; then
    mount -t tmpfs state /var/lib
fi

# systemd mounts control groups itself, and runs the scenario as a service. Nothing of it is needed to fill a disk.
case $(cat /proc/cmdline) in
    *lab.init=systemd*) [ -e /install ] || exec /usr/lib/systemd/systemd ;;
esac

# The port of the records stays open: each first opening sets its interrupt's affinity anew.
for port in /dev/ttyS1 /dev/hvc0; do [ -c "$port" ] && exec 9>"$port" && break; done

layout=none
for word in $(cat /proc/cmdline); do
    case $word in lab.cgroup=*) layout=${word#lab.cgroup=} ;; esac
done
mount_v1() {
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
    mkdir /sys/fs/cgroup/cpuset
    mount -t cgroup -o cpuset cpuset /sys/fs/cgroup/cpuset
}
case $layout in
    v1) mount_v1 ;;
    v2) mount -t cgroup2 cgroup2 /sys/fs/cgroup ;;
    hybrid)
        mount_v1
        mkdir /sys/fs/cgroup/unified
        mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified ;;
esac

. /bin/lab.sh
if [ -e /install ]; then rec installed sh -ex /install; else settled; . /scenario; fi
lab-guest done
poweroff -f
