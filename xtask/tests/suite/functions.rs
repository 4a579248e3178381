//! Checks the size of functions: a function fits on a screen, and a call is readable without its signature.
//!
//! It works on the tokens of a file (crate `proc-macro2`), so layout, comments and string literals do not mislead it.
//! Unit tests count. A closure counts as part of its function.

use crate::module_tokens::{is_braces, is_mark, is_word};
use crate::support::{none, product};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Maximum length of a function, in lines from `fn` to the closing brace.
const LINES: usize = 60;

/// Maximum number of parameters besides `self`.
const PARAMETERS: usize = 5;

/// A function of a file.
struct Function {
    name: String,
    /// The line of `fn`, from 1.
    line: usize,
    /// Number of lines from `fn` to the closing brace; one if there is no body.
    lines: usize,
    /// Number of parameters besides `self`.
    parameters: usize,
}

/// Adds all functions in some tokens, including those inside other functions and macro calls.
fn add_functions(tokens: TokenStream, functions: &mut Vec<Function>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => add_functions(group.stream(), functions),
            token if is_word(token, "fn") => functions.extend(function(&tokens[place..])),
            _ => {}
        }
    }
}

/// The function that starts with the first of these tokens. `None` for a function pointer (`fn(u32)`).
fn function(tokens: &[TokenTree]) -> Option<Function> {
    let [keyword, TokenTree::Ident(name), rest @ ..] = tokens else {
        return None;
    };
    let outside = outside_of_angles(rest);
    let parameters = outside.iter().find_map(|token| in_parentheses(token))?;
    let body = outside
        .iter()
        .take_while(|token| !is_mark(token, ';'))
        .find(|token| is_braces(token));
    let line = keyword.span().start().line;
    Some(Function {
        name: name.to_string(),
        line,
        lines: body.map_or(line, |body| body.span().end().line) - line + 1,
        parameters: parameters_besides_self(parameters),
    })
}

fn in_parentheses<'a>(token: &&'a TokenTree) -> Option<&'a Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group),
        _ => None,
    }
}

fn parameters_besides_self(group: &Group) -> usize {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let outside = outside_of_angles(&tokens);
    let parameters = outside.split(|token| is_mark(token, ','));
    let is_self = |parameter: &[&TokenTree]| {
        let pattern = parameter.iter().take_while(|token| !is_mark(token, ':'));
        pattern.into_iter().any(|token| is_word(token, "self"))
    };
    parameters
        .filter(|parameter| !parameter.is_empty() && !is_self(parameter))
        .count()
}

/// The tokens that are not between `<` and `>`.
fn outside_of_angles(tokens: &[TokenTree]) -> Vec<&TokenTree> {
    let mut outside = Vec::new();
    let (mut depth, mut is_arrow) = (0_usize, false);
    for token in tokens {
        match token {
            token if is_mark(token, '<') => depth += 1,
            token if is_mark(token, '>') && !is_arrow => depth = depth.saturating_sub(1),
            token if depth == 0 => outside.push(token),
            _ => {}
        }
        is_arrow = is_mark(token, '-');
    }
    outside
}

/// Functions of these files that exceed a limit.
fn too_large(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in files {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut functions = Vec::new();
        add_functions(tokens, &mut functions);
        for function in functions {
            let place = format!("{file}:{}: {}", function.line, function.name);
            if function.lines > LINES {
                found.push(format!("{place} has {} lines", function.lines));
            }
            if function.parameters > PARAMETERS {
                found.push(format!("{place} has {} parameters", function.parameters));
            }
        }
    }
    found
}

#[test]
fn no_function_is_too_long_or_has_too_many_parameters() {
    none(
        &too_large(&product()),
        "at most 60 lines and five parameters: split at a joint, or make a struct of what belongs together",
    );
}

#[test]
fn a_large_function_is_found_wherever_it_is() {
    let found = |text: &str| too_large(&[("x.rs".to_owned(), text.to_owned())]);
    let body = |lines: usize| "x();\n".repeat(lines);
    let long = format!("fn f() {{\n{}}}\n", body(LINES - 1));
    assert_eq!(found(&long), ["x.rs:1: f has 61 lines"]);
    for around in ["mod tests {", "impl A for B {", "fn g() -> u32 {", "lines! {"] {
        assert!(found(&format!("{around} {long} }}")).contains(&"x.rs:1: f has 61 lines".to_owned()));
    }
    assert_eq!(
        found(&format!("fn f() {{\n{}}}\n", body(LINES - 2))),
        Vec::<String>::new()
    );
    let text = format!("trait A {{ fn f();\n{} }}", "const B: u32 = { 1 };\n".repeat(LINES));
    assert_eq!(found(&text), Vec::<String>::new(), "no body");

    let six = [
        "fn f(a: A, b: B, c: C, d: D, e: E, f: F) {}",
        "fn f<T: Fn(u32) -> u8>(a: A, b: B, c: C, d: D, e: E, f: T,);",
        "const fn f(&'a mut self, a: A, b: B, c: C, d: D, e: E, f: F) {}",
    ];
    for text in six {
        assert_eq!(found(text), ["x.rs:1: f has 6 parameters"], "{text}");
    }
    let five = [
        "fn f(self: &Rc<Self>, a: A<B, C>, b: (B, C), c: fn(A, B), d: D<{ 1 }>, e: impl Fn(A) -> B,) {}",
        "type F = fn(a: A, b: B, c: C, d: D, e: E, f: F);",
    ];
    for text in five {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
}
