//! Names of addresses, which only the kernel that wrote an event knows.

/// A function, and where in it an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name.
    pub function: &'a str,
    /// Bytes from its beginning.
    pub offset: u64,
    /// Its bytes; 0 when nobody knows.
    pub size: u64,
    /// `[module]` that it belongs to.
    pub module: Option<&'a str>,
}

/// Names of addresses, which only the kernel that wrote the event knows (`/proc/kallsyms`, `printk_formats`).
pub trait Names {
    /// The function that holds an address.
    fn symbol(&self, address: u64) -> Option<Symbol<'_>>;

    /// The text that stands at an address of the kernel.
    fn text(&self, address: u64) -> Option<&str>;
}

/// No names: addresses stay numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn symbol(&self, _: u64) -> Option<Symbol<'_>> {
        None
    }

    fn text(&self, _: u64) -> Option<&str> {
        None
    }
}
