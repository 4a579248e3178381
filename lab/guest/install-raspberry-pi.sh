# The partitions of Raspberry Pi OS: the firmware's, with its two files, and the root.
printf 'n\np\n1\n2048\n+64M\nt\nc\nn\np\n2\n133120\n\nw\n' | fdisk /dev/vda
root_on /dev/vda2
mkdosfs -n bootfs /dev/vda1
mkdir /mnt/boot/firmware
mount -t vfat /dev/vda1 /mnt/boot/firmware
echo '/dev/vda1 /boot/firmware vfat defaults 0 2' >>/mnt/etc/fstab
printf '# Some settings may impact device functionality.\n[cm4]\notg_mode=1\n\n[all]\narm_64bit=1\n' \
    >/mnt/boot/firmware/config.txt
echo "$line root=/dev/vda2 rootfstype=ext4 fsck.repair=yes rootwait" >/mnt/boot/firmware/cmdline.txt
lab-guest rec cmdline.txt cat /mnt/boot/firmware/cmdline.txt
umount /mnt/boot/firmware
finished
