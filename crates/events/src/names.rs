//! Resolves addresses to names of functions and texts, from `/proc/kallsyms` and `printk_formats`.

use crate::print::{AddressNames, Symbol};
use std::collections::HashMap;

/// A kernel's names.
#[derive(Clone, Debug, Default)]
pub struct KernelNames {
    /// Sorted by address: the address, and the offset of its name in `functions`. A kernel has 200,000 of them, and a
    /// separate string for each would use the memory of a small machine.
    symbols: Vec<(u64, u32)>,
    /// A name on each line, followed by its module.
    functions: String,
    texts: HashMap<u64, String>,
}

/// Maximum distance from a function's start at which an address still counts as inside it.
const LONGEST_FUNCTION: u64 = 1 << 20;

impl KernelNames {
    /// Parses `/proc/kallsyms` and, if available, `printk_formats`. Invalid lines are ignored, and so are
    /// addresses that the kernel hides (all zero).
    #[must_use]
    pub fn parse(kallsyms: &str, printk_formats: &str) -> KernelNames {
        let (mut symbols, mut functions) = (Vec::new(), String::new());
        for (address, function, module) in kallsyms.lines().filter_map(symbol) {
            // No kernel has a list of more than 4 GiB.
            let Ok(at) = u32::try_from(functions.len()) else {
                break;
            };
            symbols.push((address, at));
            functions.extend([function, " ", module, "\n"]);
        }
        symbols.sort_unstable();
        symbols.shrink_to_fit();
        functions.shrink_to_fit();
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
            functions,
            texts: texts.collect(),
        }
    }

    /// Whether it contains no function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

/// `ffffffff81000000 T _text` or `ffffffffc0000000 t function\t[module]`.
fn symbol(line: &str) -> Option<(u64, &str, &str)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16)
        .ok()
        .filter(|address| *address != 0)?;
    let _kind = words.next()?;
    let name = words.next()?;
    Some((address, name, words.next().unwrap_or_default()))
}

impl AddressNames for KernelNames {
    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let after = self.symbols.partition_point(|(at, _)| *at <= address);
        let (start, at) = self.symbols.get(after.checked_sub(1)?)?;
        let size = self.symbols.get(after).map_or(0, |(next, _)| next - start);
        let offset = address - start;
        if offset > LONGEST_FUNCTION {
            return None;
        }
        let from = self.functions.get(usize::try_from(*at).ok()?..)?;
        let (function, module) = from.split_once('\n')?.0.split_once(' ')?;
        Some(Symbol {
            function,
            offset,
            size,
            module: Some(module).filter(|module| !module.is_empty()),
        })
    }

    fn text(&self, address: u64) -> Option<&str> {
        self.texts.get(&address).map(String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kernel_and_module_functions_are_found_by_any_address_inside() {
        let names = KernelNames::parse(
            "ffffffff81000100 t second\nffffffff81000000 T first\n0000000000000000 T hidden\nno line\nffffffffc0000000 t in_module\t[ext4]\n",
            "",
        );
        let of = |address| {
            let symbol = names.symbol(address)?;
            Some((symbol.function, symbol.offset, symbol.size, symbol.module))
        };
        assert_eq!(of(0xffff_ffff_8100_0010), Some(("first", 0x10, 0x100, None)));
        assert_eq!(
            of(0xffff_ffff_8100_0100).map(|(function, offset, ..)| (function, offset)),
            Some(("second", 0))
        );
        assert_eq!(of(0xffff_ffff_c000_0004), Some(("in_module", 4, 0, Some("[ext4]"))));
        assert_eq!(of(0xffff_ffff_80ff_ffff), None, "before the first");
        assert_eq!(of(0xffff_ffff_8200_0000), None, "too far behind the last");
    }
}
