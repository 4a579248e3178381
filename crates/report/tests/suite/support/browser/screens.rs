//! What a page looks like to somebody: in the light, in the dark, on paper, on a phone.

use super::Browser;
use serde_json::json;

/// Shows the page as a screen or as paper does, to somebody who likes it light or dark.
pub fn show(browser: &mut Browser, media: &str, scheme: &str) {
    let wanted = json!({"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.call("Emulation.setEmulatedMedia", wanted);
}

/// How much of the page a phone would have to scroll sideways for.
pub fn beyond_a_phone(browser: &mut Browser) -> f64 {
    let narrow = json!({"width": 380, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    browser.value(over).as_f64().unwrap()
}

/// How far the colour of what a selector names stands out from the ground of its section, as WCAG reckons it: 1 is not at all. The
/// least of all that there are.
pub fn contrast(browser: &mut Browser, selector: &str, colour: &str) -> f64 {
    let least = browser.value(&format!(
        "(() => {{ \
         const light = text => {{ const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(c => c / 255) \
         .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; }}; \
         const all = [...document.querySelectorAll('{selector}')].map(e => {{ \
         const two = [light(getComputedStyle(e)['{colour}']), light(getComputedStyle(e.closest('section')).backgroundColor)]; \
         return (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05); }}); \
         return all.length ? Math.min(...all) : 0; }})()"
    ));
    least.as_f64().unwrap()
}
