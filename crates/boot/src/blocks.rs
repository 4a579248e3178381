//! Adds entries of our own to files that belong to others: a block between two comments, which can be found and removed
//! regardless of other edits.

/// The comment before a block.
const BLOCK_START: &str = "# quietcore: begin";

/// The comment after it.
const END: &str = "# quietcore: end";

/// A text with a block at its end.
pub fn with_block(text: &str, block: &str) -> String {
    // A missing final line end is added inside the block, so that removing the block restores the bytes.
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{gap}{BLOCK_START}\n{block}{END}\n")
}

/// A text without our blocks.
pub fn without_blocks(text: &str) -> String {
    let (mut rest, mut inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        inside |= bare == BLOCK_START;
        if !inside {
            rest.push_str(line);
        }
        inside &= bare != END;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_block_keeps_the_surrounding_text() {
        let text = with_block("a\n", "b\n");
        assert_eq!(without_blocks(&text), "a\n");
        assert_eq!(without_blocks(&format!("x\r\n{text}y")), "x\r\na\ny");
    }
}
