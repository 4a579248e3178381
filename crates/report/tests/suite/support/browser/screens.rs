//! How a page is displayed: in light and dark mode, in print, on a phone.

use super::Browser;
use serde_json::json;

/// Sets the media type and the preferred color scheme of the page.
pub fn show(browser: &mut Browser, media: &str, scheme: &str) {
    let wanted = json!({"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.call("Emulation.setEmulatedMedia", wanted);
}

/// Returns by how many pixels the page is wider than a phone.
pub fn beyond_a_phone(browser: &mut Browser) -> f64 {
    let narrow = json!({"width": 380, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    browser.value(over).as_f64().unwrap()
}

/// Returns the smallest contrast ratio, as defined by WCAG, between the color of the selected elements and the
/// background of their section. 1 is no contrast.
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
