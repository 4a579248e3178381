//! Finds the command lines of the program in shell text, as far as help and documents use the shell.

use std::iter::Peekable;
use std::str::Chars;

/// What the program gets for `$(COMMAND)`, where it stands for a number or a name.
const SUBSTITUTED: &str = "4711";

/// The arguments of each call of the program in shell text. The first one is `quietcore`.
pub fn command_lines(text: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for words in simple_commands(text) {
        let leads = |word: &String| {
            matches!(
                word.as_str(),
                "sudo" | "time" | "exec" | "if" | "then" | "while" | "do" | "!"
            ) || word.contains('=')
        };
        let first = words.iter().position(|word| !leads(word)).unwrap_or(words.len());
        let is_program = |word: &String| word == "quietcore" || word.ends_with("/quietcore");
        let is_call = |place: &usize| {
            is_program(&words[*place]) && (*place == first || words.get(place + 1).is_some_and(|word| is_command(word)))
        };
        if let Some(place) = (0..words.len()).find(is_call) {
            let rest = words[place + 1..].iter().cloned();
            calls.push(std::iter::once("quietcore".to_owned()).chain(rest).collect());
        }
    }
    calls
}

/// Whether a word is a command of the program.
pub fn is_command(word: &str) -> bool {
    quietcore::command().find_subcommand(word).is_some()
}

/// The words of each simple command, without comments and redirections.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut letters = text.chars().peekable();
    let mut is_redirected = false;
    while let Some(&letter) = letters.peek() {
        match letter {
            '#' => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '\n' | ';' | '|' | '&' | '(' | ')' => {
                letters.next();
                commands.push(Vec::new());
            }
            '<' | '>' => {
                while letters.next_if(|letter| "<>&".contains(*letter)).is_some() {}
                is_redirected = true;
            }
            _ if letter.is_whitespace() => {
                letters.next();
            }
            _ => {
                let word = word(&mut letters);
                let is_descriptor = word.bytes().all(|byte| byte.is_ascii_digit())
                    && letters.peek().is_some_and(|letter| "<>".contains(*letter));
                match commands.last_mut() {
                    Some(words) if !is_redirected && !is_descriptor && word != "\n" => words.push(word),
                    _ => {}
                }
                is_redirected = false;
            }
        }
    }
    commands
}

/// One word. A line that ends with `\` gives the word `\n`, which is none.
fn word(letters: &mut Peekable<Chars>) -> String {
    let mut word = String::new();
    while let Some(letter) = letters.next_if(|letter| !letter.is_whitespace() && !";|&()<>".contains(*letter)) {
        match letter {
            '\\' => word.extend(letters.next()),
            '\'' => word.extend(letters.by_ref().take_while(|letter| *letter != '\'')),
            '"' => quoted(letters, &mut word),
            '$' => substitution(letters, &mut word),
            _ => word.push(letter),
        }
    }
    word
}

/// The rest of a word in double quotes.
fn quoted(letters: &mut Peekable<Chars>, word: &mut String) {
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => word.extend(letters.next()),
            '$' => substitution(letters, word),
            _ => word.push(letter),
        }
    }
}

/// What follows a `$`.
fn substitution(letters: &mut Peekable<Chars>, word: &mut String) {
    if letters.next_if_eq(&'(').is_none() {
        word.push('$');
        return;
    }
    let mut open = 1;
    for letter in letters.by_ref() {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        if open == 0 {
            break;
        }
    }
    word.push_str(SUBSTITUTED);
}

#[test]
fn command_lines_are_found_in_shell_text() {
    let lines = |text: &str| -> Vec<String> { command_lines(text).iter().map(|words| words[1..].join("|")).collect() };
    assert_eq!(lines("sudo quietcore run -- 'a b' # why"), ["run|--|a b"]);
    assert_eq!(
        lines("quietcore plan \\\n  --cpus \"2 3\" 2>&1 >x"),
        ["plan|--cpus|2 3"]
    );
    assert_eq!(
        lines("A=1 quietcore status & quietcore; ssh b quietcore check | tee x"),
        ["status", "", "check"]
    );
    assert_eq!(
        lines("quietcore blame --pid \"$(pgrep -f $(x))\" --all"),
        ["blame|--pid|4711|--all"]
    );
    assert_eq!(
        lines("sudo install quietcore /usr/bin/quietcore\napt remove quietcore"),
        [""; 0]
    );
}
