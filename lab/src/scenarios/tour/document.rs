//! Reads the commands of a Markdown section, and the output that the document shows for them.

/// A block of commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TourStep {
    /// The line of the document with the first command.
    pub first_line: usize,
    /// One command for each line.
    pub commands: Vec<&'static str>,
    /// The block of output below it.
    pub output: Option<DocumentedOutput>,
}

/// A block of output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DocumentedOutput {
    /// Its first line in the document.
    pub first_line: usize,
    /// Its lines; `...` stands for lines that are left out.
    pub lines: Vec<&'static str>,
    /// The machine that printed it.
    pub origin: OutputOrigin,
}

/// Where an output comes from. A paragraph between commands and output names another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputOrigin {
    /// The guest that the section describes.
    TestedGuest,
    /// The machine that the paragraph above the output describes.
    AnotherMachine,
}

/// The steps of the section with a heading: each `sh` block with the `text` block that follows it.
pub(super) fn steps(document: &'static str, heading: &str) -> Vec<TourStep> {
    let is_end = |line: &str| line.starts_with("## ");
    let mut lines = (1..)
        .zip(document.lines())
        .skip_while(|(_, line)| *line != heading)
        .skip(1);
    let mut steps: Vec<TourStep> = Vec::new();
    let mut origin = OutputOrigin::TestedGuest;
    while let Some((number, line)) = lines.next() {
        let mut block = || -> Vec<&'static str> {
            let rest = lines.by_ref().map(|(_, line)| line);
            rest.take_while(|line| *line != "```").collect()
        };
        match line {
            line if is_end(line) => break,
            "```sh" => {
                steps.push(TourStep {
                    first_line: number + 1,
                    commands: block(),
                    output: None,
                });
                origin = OutputOrigin::TestedGuest;
            }
            "```text" => {
                let output = DocumentedOutput {
                    first_line: number + 1,
                    lines: block(),
                    origin,
                };
                if let Some(step) = steps.last_mut() {
                    step.output = Some(output);
                }
            }
            "" => {}
            _ => origin = OutputOrigin::AnotherMachine,
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_outputs_are_found_with_their_lines() {
        let text = "# A\n```sh\nno\n```\n## Tour\nProse.\n```sh\none\ntwo\n```\n\n```text\n1\n...\n```\nMore.\n```sh\nthree\n```\n\
                    Elsewhere:\n```text\n3\n```\n## End\n```sh\nno\n```\n";
        let steps = steps(text, "## Tour");
        let commands: Vec<_> = steps
            .iter()
            .map(|step| (step.first_line, step.commands.as_slice()))
            .collect();
        assert_eq!(commands, [(8, ["one", "two"].as_slice()), (18, &["three"])]);
        let outputs: Vec<_> = steps.into_iter().filter_map(|step| step.output).collect();
        assert_eq!(outputs[0].lines, ["1", "..."]);
        assert_eq!(
            (outputs[0].first_line, outputs[0].origin),
            (13, OutputOrigin::TestedGuest)
        );
        assert_eq!(
            (outputs[1].first_line, outputs[1].origin),
            (22, OutputOrigin::AnotherMachine)
        );
    }
}
