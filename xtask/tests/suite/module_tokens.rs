//! Reads tokens of Rust source: the imports of a `use` item, and what kind of token a token is.

use proc_macro2::{Delimiter, Group, Ident, TokenTree};

/// An import: the name that it defines, and its path.
pub type Import = (String, Vec<String>);

/// Adds the imports of a `use` item. `before` has the path before these tokens.
pub fn use_tree(tokens: &[TokenTree], before: &[String], imports: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut name = None;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if *word == "as" => {
                name = tokens.get(place + 1).map(ToString::to_string);
                break;
            }
            TokenTree::Ident(word) => path.push(plain(word)),
            TokenTree::Group(group) => return use_list(group, &path, imports),
            _ => {}
        }
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = name.or_else(|| path.last().cloned());
    imports.extend(name.map(|name| (name, path)));
}

fn use_list(group: &Group, path: &[String], imports: &mut Vec<Import>) {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    for part in tokens.split(|token| is_mark(token, ',')) {
        if !part.is_empty() {
            use_tree(part, path, imports);
        }
    }
}

/// A name without the prefix of a raw identifier.
pub fn plain(word: &Ident) -> String {
    word.to_string().trim_start_matches("r#").to_owned()
}

/// Whether a token is this punctuation character.
pub fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == mark)
}

/// Whether a token is this word.
pub fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(found) if *found == word)
}

/// Whether a token is a group in braces.
pub fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}
