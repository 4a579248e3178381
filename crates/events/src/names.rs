//! Names of functions and texts by their address, from `/proc/kallsyms` and `printk_formats`.

use crate::print::{Names, Symbol};
use std::collections::HashMap;

/// A kernel's names.
#[derive(Clone, Debug, Default)]
pub struct KernelNames {
    /// Address and name, in the order of addresses.
    symbols: Vec<(u64, String)>,
    texts: HashMap<u64, String>,
}

/// Longest distance from a function's beginning at which an address still counts as inside of it.
const LONGEST_FUNCTION: u64 = 1 << 20;

impl KernelNames {
    /// From `/proc/kallsyms` and, where there is one, `printk_formats`. Lines that are none of such a file say nothing;
    /// addresses that the kernel hides (all zero) are left out.
    #[must_use]
    pub fn parse(kallsyms: &str, printk_formats: &str) -> KernelNames {
        let mut symbols: Vec<(u64, String)> = kallsyms.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|(address, _)| *address);
        let texts = printk_formats.lines().filter_map(|line| {
            let (address, text) = line.split_once(" : ")?;
            let address = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16).ok()?;
            let text = text.trim();
            let text = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'))
                .unwrap_or(text);
            Some((address, text.replace("\\n", "\n").replace("\\\"", "\"")))
        });
        KernelNames {
            symbols,
            texts: texts.collect(),
        }
    }

    /// Whether it knows no function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

/// `ffffffff81000000 T _text` or `ffffffffc0000000 t function\t[module]`.
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16)
        .ok()
        .filter(|address| *address != 0)?;
    let _kind = words.next()?;
    let name = words.next()?;
    let module = words.next().map_or(String::new(), |module| format!(" {module}"));
    Some((address, format!("{name}{module}")))
}

impl Names for KernelNames {
    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let after = self.symbols.partition_point(|(at, _)| *at <= address);
        let (start, name) = self.symbols.get(after.checked_sub(1)?)?;
        let size = self.symbols.get(after).map_or(0, |(next, _)| next - start);
        let offset = address - start;
        if offset > LONGEST_FUNCTION {
            return None;
        }
        let (function, module) = match name.split_once(' ') {
            Some((function, module)) => (function, Some(module)),
            None => (name.as_str(), None),
        };
        Some(Symbol {
            function,
            offset,
            size,
            module,
        })
    }

    fn text(&self, address: u64) -> Option<&str> {
        self.texts.get(&address).map(String::as_str)
    }
}
