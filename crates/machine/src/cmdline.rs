//! The kernel command line as the kernel splits it: quotes, `--`, repeated parameters.

/// A boot line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmdline {
    /// The line as found, without the final newline.
    pub text: String,
    /// The kernel's parameters in order; what follows ` -- ` belongs to init and is left out.
    pub parameters: Vec<Parameter>,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name as written.
    pub name: String,
    /// Value without quotes; `None` for a bare word.
    pub value: Option<String>,
}
