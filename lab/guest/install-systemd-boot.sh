printf 'label: gpt\nsize=96M, type=uefi\ntype=linux\n' | sfdisk --quiet /dev/vda
root_on /dev/vda2
mkdosfs -n ESP /dev/vda1
mkdir /mnt/boot/efi
mount -t vfat /dev/vda1 /mnt/boot/efi
echo '/dev/vda1 /boot/efi vfat umask=0077 0 1' >>/mnt/etc/fstab
id=$(tr -d - </proc/sys/kernel/random/uuid)
echo "$id" >/mnt/etc/machine-id
cd /mnt/boot/efi
mkdir -p EFI/BOOT EFI/systemd loader/entries "$id/$release"
cp /usr/lib/systemd/boot/efi/systemd-bootx64.efi EFI/BOOT/BOOTX64.EFI
cp /usr/lib/systemd/boot/efi/systemd-bootx64.efi EFI/systemd/
cp "/boot/vmlinuz-$release" "$id/$release/linux"
initramfs "$PWD/$id/$release/initrd.img-$release"
cd /mnt/boot/efi
mkdir /mnt/etc/kernel
echo "root=/dev/vda2 ro $line" >/mnt/etc/kernel/cmdline
printf 'timeout 0\nconsole-mode keep\n' >loader/loader.conf
cat >"loader/entries/$id-$release.conf" <<END
title      Debian GNU/Linux 12 (bookworm)
version    $release
machine-id $id
sort-key   debian
options    root=/dev/vda2 ro $line
linux      /$id/$release/linux
initrd     /$id/$release/initrd.img-$release
END
cd /
umount /mnt/boot/efi
finished
