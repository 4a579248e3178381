# No boot loader and no partition: the lab passes the boot line.
root_on /dev/vda
lab-guest rec line echo "$line root=/dev/vda"
finished
