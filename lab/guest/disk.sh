# Steps of installing the guest that runs on /dev/vda, as an installer of Debian does. For `sh -e`.
release=$(ls /boot | sed -n 's/^vmlinuz-//p')
# What QEMU gave to this kernel serves the installed one too, but it may not start over when it panics.
line=$(sed 's/ *panic=-1//' /proc/cmdline)
export PATH=/bin:/usr/sbin:/usr/bin:/sbin

# root_on PARTITION: ext4 there, mounted at /mnt, with all that this guest has but kernel and installer.
root_on() {
    # Where Debian's program is not to hand, busybox makes an older format that the same module of the kernel mounts.
    if [ -x /sbin/mkfs.ext4 ]; then mkfs.ext4 -q -F "$1"; else mke2fs "$1"; fi
    mount -t ext4 "$1" /mnt
    for dir in boot dev mnt proc run sys tmp var var/lib; do mkdir "/mnt/$dir"; done
    for name in bin etc init lib lib64 modules modules-* root sbin scenario usr; do
        if [ -e "/$name" ]; then cp -a "/$name" /mnt/; fi
    done
    echo "$1 / ext4 rw 0 1" >/mnt/etc/fstab
    echo 0 >/mnt/boots
    for order in /mnt/modules*/order; do : >"$order"; done
}

# initramfs FILE: the way to the disk, for every kernel.
initramfs() {
    cd /
    { printf '%s\n' bin bin/busybox bin/sh dev etc init mnt proc run sys tmp var; find modules modules-* ! -type l 2>/dev/null; } |
        cpio -o -H newc >"$1" 2>/dev/null
}

# inside: /mnt becomes a place to chroot to.
inside() {
    for dir in dev proc sys; do mount -o bind "/$dir" "/mnt/$dir"; done
}

finished() {
    sync
    umount -r /mnt 2>/dev/null || mount -o remount,ro /mnt
}
