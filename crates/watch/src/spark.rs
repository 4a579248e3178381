//! Draws sparklines: the last minutes of a value in a few columns, with Unicode blocks or ASCII.

/// The characters of a sparkline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// The eight Unicode blocks.
    Blocks,
    /// ASCII characters.
    Ascii,
}

impl Glyphs {
    fn ramp(self) -> [char; 8] {
        match self {
            Glyphs::Blocks => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Glyphs::Ascii => ['_', '.', ',', '-', '=', '+', '*', '#'],
        }
    }
}

/// The number of moments per column: the smallest that fits all moments into `columns`.
pub(crate) fn moments_per_column(columns: usize, moments: usize) -> usize {
    moments.div_ceil(columns.max(1)).max(1)
}

/// Draws the line. Each column is the maximum of its moments, so that a burst is not averaged away. Columns are aligned to
/// the first moment of all, so they do not shift. `values` are number and value, ascending; unknown values stay blank.
pub(crate) fn spark(
    values: &[(u64, Option<f64>)],
    columns: usize,
    per_column: usize,
    highest: f64,
    glyphs: Glyphs,
) -> String {
    let per_column = per_column.max(1) as u64;
    let Some((newest, _)) = values.last() else {
        return " ".repeat(columns);
    };
    let newest = newest / per_column;
    let mut bins: Vec<Option<f64>> = vec![None; columns];
    for (number, value) in values {
        let back = usize::try_from(newest.saturating_sub(number / per_column)).unwrap_or(usize::MAX);
        let bin = columns
            .checked_sub(back.saturating_add(1))
            .and_then(|place| bins.get_mut(place));
        if let (Some(bin), Some(value)) = (bin, value) {
            *bin = Some(bin.map_or(*value, |known| known.max(*value)));
        }
    }
    bins.into_iter()
        .map(|bin| bin.map_or(' ', |value| glyph(value, highest, glyphs)))
        .collect()
}

/// Zero is a blank too, so that a quiet CPU looks quiet. The scale is a square root, so that small values are visible beside
/// large ones.
fn glyph(value: f64, highest: f64, glyphs: Glyphs) -> char {
    if value <= 0.0 || highest <= 0.0 {
        return match glyphs {
            Glyphs::Blocks => '·',
            Glyphs::Ascii => ' ',
        };
    }
    let ramp = glyphs.ramp();
    let part = (value / highest).clamp(0.0, 1.0).sqrt();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // From 0 to 7.
    let place = (part * 7.0).round() as usize;
    ramp.get(place).copied().unwrap_or(ramp[7])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_moment_shifts_columns_without_changing_them() {
        let values: Vec<(u64, Option<f64>)> = (0..8).map(|at| (at, Some(if at == 2 { 100.0 } else { 1.0 }))).collect();
        let first = spark(&values, 4, 2, 100.0, Glyphs::Ascii);
        assert_eq!(first, ".#..");
        // One more moment starts a column; the rest moves by one and is otherwise the same.
        let mut more = values.clone();
        more.push((8, Some(0.0)));
        assert_eq!(spark(&more, 4, 2, 100.0, Glyphs::Ascii), "#.. ");
        more.push((9, Some(100.0)));
        assert_eq!(spark(&more, 4, 2, 100.0, Glyphs::Blocks), "█▂▂█");
    }

    #[test]
    fn unknown_values_are_blank_and_a_zero_scale_is_safe() {
        assert_eq!(spark(&[], 3, 1, 0.0, Glyphs::Blocks), "   ");
        assert_eq!(spark(&[(7, None), (8, Some(0.0))], 3, 0, 0.0, Glyphs::Blocks), "  ·");
        assert_eq!(spark(&[(u64::MAX, Some(1.0))], 0, 1, 1.0, Glyphs::Blocks), "");
        assert_eq!(moments_per_column(0, 120), 120);
        assert_eq!(moments_per_column(25, 120), 5);
    }
}
