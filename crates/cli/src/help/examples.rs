//! Examples for the help of each command.

use super::WIDTH;

/// Sections `[command]` with lines `example  # why`. The section without a name is that of the program.
const EXAMPLES: &str = include_str!("examples.txt");

/// The examples of a command, for its help; nothing for a command without examples. `path` names it, such as `boot set`.
pub fn text(path: &str) -> Option<String> {
    let heading = format!("[{path}]");
    let lines = EXAMPLES.lines().skip_while(|line| *line != heading).skip(1);
    let examples = lines.map_while(|line| line.split_once("  # "));
    let examples: Vec<(&str, &str)> = examples.collect();
    let longest = examples.iter().map(|(line, _)| line.len()).max()?;
    let widest_why = examples.iter().map(|(_, why)| why.len()).max()?;
    let is_aligned = longest + widest_why + "    # ".len() <= WIDTH;
    let longest = if is_aligned { longest } else { 0 };
    let lines = examples
        .iter()
        .map(|(line, why)| format!("  {line:<longest$}  # {why}\n"));
    Some(format!("Examples:\n{}", lines.collect::<String>()))
}
