//! Reads which modules a crate has, what each of them defines and imports, and which paths its code names.
//!
//! It works on the tokens of a file (crate `proc-macro2`), so comments and string literals do not count, and paths
//! inside macro calls do. Unit tests (`#[cfg(test)]`) are left out. A method call names no path, so it is not seen.

use crate::module_tokens::{Import, is_braces, is_mark, is_word, plain, use_tree};
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The names from the crate's root to a module; empty for the root itself.
pub type ModulePath = Vec<String>;

/// Contents of one module.
#[derive(Default)]
pub struct Module {
    /// Names of items that it defines itself.
    items: BTreeSet<String>,
    /// Names that it imports or re-exports, each with its full path.
    imports: Vec<Import>,
    /// Every path of its code, imports included, as written.
    pub paths: Vec<Vec<String>>,
    /// Whether it is compiled for tests only.
    tests_only: bool,
}

/// All modules of one crate.
#[derive(Default)]
pub struct Modules(BTreeMap<ModulePath, Module>);

/// What a name or path refers to.
enum Meaning {
    Module(ModulePath),
    /// An item that this module defines.
    ItemOf(ModulePath),
}

/// Maximum depth of imports that refer to imports. An import of another crate's module of the same name refers to
/// itself.
const DEPTH: usize = 16;

const ITEMS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules",
];

impl Modules {
    /// Reads the files of one crate: their paths below its `src` folder, and their text.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Modules {
        let mut modules = Modules::default();
        for (name, text) in files {
            let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
            modules.scan(tokens, &module_of(name), true);
        }
        let tests: Vec<ModulePath> = modules
            .0
            .iter()
            .filter(|(_, module)| module.tests_only)
            .map(|(path, _)| path.clone())
            .collect();
        modules
            .0
            .retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        modules
    }

    /// Each module with its path.
    pub fn iter(&self) -> impl Iterator<Item = (&ModulePath, &Module)> {
        self.0.iter()
    }

    /// The module that defines the item of a path in the code of `from`. `None` if the item is in another crate.
    pub fn definition(&self, from: &ModulePath, path: &[String]) -> Option<ModulePath> {
        match self.meaning(from, path, DEPTH)? {
            Meaning::Module(module) | Meaning::ItemOf(module) => Some(module),
        }
    }

    fn meaning(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Meaning> {
        let depth = depth.checked_sub(1)?;
        let mut at = from.clone();
        let mut anchored = false;
        for name in path {
            match name.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                name => match self.look_up(&at, name, depth) {
                    Some(Meaning::Module(module)) => at = module,
                    Some(item) => return Some(item),
                    None if anchored => return Some(Meaning::ItemOf(at)),
                    None => return None,
                },
            }
            anchored = true;
        }
        Some(Meaning::Module(at))
    }

    fn look_up(&self, at: &ModulePath, name: &str, depth: usize) -> Option<Meaning> {
        let mut child = at.clone();
        child.push(name.to_owned());
        if self.0.contains_key(&child) {
            return Some(Meaning::Module(child));
        }
        let module = self.0.get(at)?;
        if module.items.contains(name) {
            return Some(Meaning::ItemOf(at.clone()));
        }
        let imports = module.imports.iter().filter(|(known, _)| known == name);
        imports.filter_map(|(_, path)| self.meaning(at, path, depth)).next()
    }

    /// Adds the contents of the tokens to the module `at`. `top` says whether definitions among them belong to the
    /// module itself.
    fn scan(&mut self, tokens: TokenStream, at: &ModulePath, top: bool) {
        self.0.entry(at.clone()).or_default();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut place = 0;
        while let Some(token) = tokens.get(place) {
            let rest = &tokens[place + 1..];
            place += 1 + match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => self.attribute(rest, at),
                TokenTree::Group(group) => {
                    self.scan(group.stream(), at, false);
                    0
                }
                TokenTree::Ident(word) if *word == "use" => self.import(rest, at),
                TokenTree::Ident(word) if *word == "mod" => self.inner_module(rest, at),
                TokenTree::Ident(word) => {
                    if top && ITEMS.contains(&word.to_string().as_str()) {
                        self.define(rest, at);
                    }
                    self.path(word, rest, at)
                }
                _ => 0,
            };
        }
    }

    /// Reads an attribute. With `cfg(test)` the item after it is skipped. Returns the number of tokens used.
    fn attribute(&mut self, rest: &[TokenTree], at: &ModulePath) -> usize {
        let Some(TokenTree::Group(group)) = rest.first() else {
            return 0;
        };
        if group.stream().to_string().replace(' ', "") != "cfg(test)" {
            return 0;
        }
        let ends = |token: &TokenTree| is_mark(token, ';') || is_braces(token);
        let is_import = rest
            .iter()
            .take_while(|token| !ends(token))
            .any(|token| is_word(token, "use"));
        let end = rest
            .iter()
            .position(|token| if is_import { is_mark(token, ';') } else { ends(token) });
        let end = end.unwrap_or(rest.len());
        let item = &rest[..end];
        if let Some(start) = item.iter().position(|token| is_word(token, "mod"))
            && let Some(name) = item.get(start + 1)
        {
            self.0.entry(below(at, name)).or_default().tests_only = true;
        }
        end + 1
    }

    fn define(&mut self, rest: &[TokenTree], at: &ModulePath) {
        let name = rest.iter().find_map(|token| match token {
            TokenTree::Ident(word) if *word != "mut" => Some(plain(word)),
            _ => None,
        });
        self.0.entry(at.clone()).or_default().items.extend(name);
    }

    fn inner_module(&mut self, rest: &[TokenTree], at: &ModulePath) -> usize {
        if let [name @ TokenTree::Ident(_), TokenTree::Group(body), ..] = rest {
            self.scan(body.stream(), &below(at, name), true);
            return 2;
        }
        0
    }

    fn import(&mut self, rest: &[TokenTree], at: &ModulePath) -> usize {
        let end = rest.iter().position(|token| is_mark(token, ';')).unwrap_or(rest.len());
        let mut imports = Vec::new();
        use_tree(&rest[..end], &[], &mut imports);
        let module = self.0.entry(at.clone()).or_default();
        module.paths.extend(imports.iter().map(|(_, path)| path.clone()));
        module.imports.extend(imports);
        end
    }

    /// Reads a path that starts with `first`. Returns the number of its other tokens.
    fn path(&mut self, first: &Ident, rest: &[TokenTree], at: &ModulePath) -> usize {
        let mut path = vec![plain(first)];
        let mut used = 0;
        while let [a, b, TokenTree::Ident(next), ..] = &rest[used..]
            && is_mark(a, ':')
            && is_mark(b, ':')
        {
            path.push(plain(next));
            used += 3;
        }
        if path.len() > 1 {
            self.0.entry(at.clone()).or_default().paths.push(path);
        }
        used
    }
}

/// The module of a file below `src`.
fn module_of(file: &str) -> ModulePath {
    let file = file.trim_end_matches(".rs");
    let file = file.strip_suffix("/mod").unwrap_or(file);
    if matches!(file, "lib" | "main") {
        return Vec::new();
    }
    file.split('/').map(str::to_owned).collect()
}

fn below(at: &ModulePath, name: &TokenTree) -> ModulePath {
    let mut path = at.clone();
    path.push(name.to_string().trim_start_matches("r#").to_owned());
    path
}
