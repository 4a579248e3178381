//! A virtual machine as data: its initramfs, the command line of QEMU, the version of a kernel image, and the frames that
//! transfer data out of a guest.

pub mod frames;
pub mod image;
mod initramfs;
pub mod program;
pub mod qemu;

pub use initramfs::Archive;
