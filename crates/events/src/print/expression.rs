//! Defines the syntax tree of a `print fmt:` line.

/// A whole `print fmt` line: the format string and its arguments.
#[derive(Clone, Debug)]
pub(super) struct PrintFormat {
    pub(super) pieces: Vec<FormatPiece>,
    pub(super) arguments: Vec<Expression>,
}

/// A piece of the format string.
#[derive(Clone, Debug)]
pub(super) enum FormatPiece {
    Text(String),
    Conversion(Conversion),
}

/// Width or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatWidth {
    Number(usize),
    /// `*`: the next argument.
    Argument,
}

/// `%-16.3lx` and the like.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversion {
    pub(super) left: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternate: bool,
    pub(super) width: Option<FormatWidth>,
    pub(super) precision: Option<FormatWidth>,
    /// Size of the printed number in bits.
    pub(super) bits: u32,
    /// `d`, `u`, `x`, `s`, `p` ...
    pub(super) letter: char,
    /// The letters behind `%p`: `S`, `I4`, `bl`.
    pub(super) kind: String,
}

/// A C expression among the arguments of a `print fmt`.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number(i128),
    /// A name that only the kernel's sources define. Values that depend on it are printed as `?`.
    Unknown,
    Text(String),
    /// `REC->field`: index in the event's list of all fields.
    Field(FieldSource),
    /// `REC->field[i]`.
    Element(FieldSource, Box<Expression>),
    /// `(u16)x`, `(int)x`.
    Cast {
        bits: u32,
        signed: bool,
        of: Box<Expression>,
    },
    Unary(char, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `__get_str`, `__get_dynamic_array`.
    Content(FieldSource),
    /// `__get_dynamic_array_len`.
    ContentLen(FieldSource),
    /// `__get_bitmask`, `__get_cpumask`.
    Mask(FieldSource),
    /// `__print_flags(value, between, { bits, name }, ...)`.
    Flags(Box<Expression>, String, Vec<(i128, String)>),
    /// `__print_symbolic(value, { value, name }, ...)`.
    Symbolic(Box<Expression>, Vec<(i128, String)>),
    /// `__print_hex(bytes, length)`, with or without spaces.
    Hex {
        bytes: Box<Expression>,
        len: Box<Expression>,
        between: &'static str,
    },
    /// `__print_array(array, count, bytes of one)`.
    Array(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// The field of the event that an expression reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldSource {
    Own(usize),
    Common(usize),
}
