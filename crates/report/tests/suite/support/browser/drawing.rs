//! A drawing that can be zoomed, as it stands in a page that is open: by a selector of its figure.

use super::Browser;

/// The curves of a drawing of which all is shown.
pub const WHOLE: &str = "matrix(1 0 0 1 0 0)";

/// How the curves are moved.
pub fn moved(browser: &mut Browser, figure: &str) -> String {
    browser.text(&format!(
        "document.querySelector('{figure} .moved').getAttribute('transform')"
    ))
}

/// How much they are stretched.
pub fn stretched(browser: &mut Browser, figure: &str) -> f64 {
    let matrix = moved(browser, figure);
    let first = matrix.trim_start_matches("matrix(").split(' ').next();
    first.and_then(|word| word.parse().ok()).expect(&matrix)
}

/// What is said of what is read there.
pub fn values(browser: &mut Browser, figure: &str) -> String {
    browser.text(&format!("document.querySelector('{figure} .values').textContent"))
}

/// Gives it the keyboard.
pub fn focus(browser: &mut Browser, figure: &str) {
    browser.value(&format!("document.querySelector('{figure} svg').focus()"));
}

/// A place in the drawing, in parts of its width, made visible.
pub fn place(browser: &mut Browser, figure: &str, share: f64) -> (f64, f64) {
    let frame = browser.value(&format!(
        "(() => {{ const s = document.querySelector('{figure} svg'), d = s.dataset; s.scrollIntoView({{block: 'center'}}); \
         const f = s.getBoundingClientRect(), wide = f.width / s.viewBox.baseVal.width; \
         return [f.left + d.left * wide, (d.right - d.left) * wide, f.top + f.height * 0.4]; }})()"
    ));
    let part = |place: usize| frame[place].as_f64().unwrap();
    (part(0) + share * part(1), part(2))
}

/// How an element is displayed: `none` where it is not.
pub fn display(browser: &mut Browser, selector: &str) -> String {
    browser.text(&format!(
        "getComputedStyle(document.querySelector('{selector}')).display"
    ))
}
