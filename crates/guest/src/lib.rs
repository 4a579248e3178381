//! A virtual machine as data: the archive that its kernel unpacks, what QEMU is started with, what a kernel's image says of
//! itself, and the frames in which a guest hands things out.

pub mod frames;
pub mod image;
mod initramfs;
pub mod program;
pub mod qemu;

pub use initramfs::Archive;
