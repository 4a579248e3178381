echo 'start=2048, type=83, bootable' | sfdisk --quiet /dev/vda
root_on /dev/vda1
for release in $release; do
    cp "/boot/vmlinuz-$release" /mnt/boot/
    initramfs "/mnt/boot/initrd.img-$release"
done
inside
sed -e 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=0/' -e "s#^GRUB_CMDLINE_LINUX=.*#GRUB_CMDLINE_LINUX=\"$line\"#" \
    /usr/share/grub/default/grub >/mnt/etc/default/grub
echo GRUB_TERMINAL=serial >>/mnt/etc/default/grub
chroot /mnt grub-install --target=i386-pc /dev/vda
chroot /mnt update-grub
finished
