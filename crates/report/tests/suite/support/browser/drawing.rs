//! A zoomable drawing on an open page, selected by a CSS selector of its figure.

use super::Browser;

/// The transform of the curves when the full range is visible.
pub const WHOLE: &str = "matrix(1 0 0 1 0 0)";

/// Returns the transform of the curves.
pub fn moved(browser: &mut Browser, figure: &str) -> String {
    browser.text(&format!(
        "document.querySelector('{figure} .moved').getAttribute('transform')"
    ))
}

/// Returns the horizontal zoom factor.
pub fn stretched(browser: &mut Browser, figure: &str) -> f64 {
    let matrix = moved(browser, figure);
    let first = matrix.trim_start_matches("matrix(").split(' ').next();
    first.and_then(|word| word.parse().ok()).expect(&matrix)
}

/// Returns the announced values of the selected place.
pub fn values(browser: &mut Browser, figure: &str) -> String {
    browser.text(&format!("document.querySelector('{figure} .values').textContent"))
}

/// Gives the drawing keyboard focus.
pub fn focus(browser: &mut Browser, figure: &str) {
    browser.value(&format!("document.querySelector('{figure} svg').focus()"));
}

/// Scrolls to a place in the drawing, given as a share of its width, and returns its coordinates.
pub fn place(browser: &mut Browser, figure: &str, share: f64) -> (f64, f64) {
    let frame = browser.value(&format!(
        "(() => {{ const s = document.querySelector('{figure} svg'), d = s.dataset; s.scrollIntoView({{block: 'center'}}); \
         const f = s.getBoundingClientRect(), wide = f.width / s.viewBox.baseVal.width; \
         return [f.left + d.left * wide, (d.right - d.left) * wide, f.top + f.height * 0.4]; }})()"
    ));
    let part = |place: usize| frame[place].as_f64().unwrap();
    (part(0) + share * part(1), part(2))
}

/// Returns the computed `display` of an element: `none` if it is hidden.
pub fn display(browser: &mut Browser, selector: &str) -> String {
    browser.text(&format!(
        "getComputedStyle(document.querySelector('{selector}')).display"
    ))
}
