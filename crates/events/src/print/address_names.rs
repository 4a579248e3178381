//! Resolves addresses to names, which are known only for the kernel that wrote an event.

/// A function, and the position of an address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name.
    pub function: &'a str,
    /// Offset from its start.
    pub offset: u64,
    /// Its size; 0 if unknown.
    pub size: u64,
    /// Its `[module]`.
    pub module: Option<&'a str>,
}

/// Names of addresses, known only for the kernel that wrote the event (`/proc/kallsyms`, `printk_formats`).
pub trait AddressNames {
    /// The function that contains an address.
    fn symbol(&self, address: u64) -> Option<Symbol<'_>>;

    /// The text at an address of the kernel.
    fn text(&self, address: u64) -> Option<&str>;
}

/// No names: addresses are printed as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl AddressNames for NoNames {
    fn symbol(&self, _: u64) -> Option<Symbol<'_>> {
        None
    }

    fn text(&self, _: u64) -> Option<&str> {
        None
    }
}
