//! Formats `cpus`: a set of CPUs in every notation.

use machine::CpuSet;
use serde::Serialize;

/// A set of CPUs as list, mask and count: the JSON `quietcore.cpus/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpusReport {
    /// `quietcore.cpus/1`.
    pub schema: &'static str,
    /// The expression as given.
    pub expression: String,
    /// The set as a list.
    pub list: CpuSet,
    /// The set as a hexadecimal mask in the kernel's format: groups of eight digits.
    pub mask: String,
    /// Number of CPUs.
    pub count: usize,
    /// Those that are online; `None` if the machine does not report it.
    pub online: Option<CpuSet>,
}

impl CpusReport {
    /// Formats an evaluated expression.
    #[must_use]
    pub fn new(expression: &str, cpus: &CpuSet, online: &CpuSet) -> CpusReport {
        CpusReport {
            schema: "quietcore.cpus/1",
            expression: expression.to_owned(),
            list: cpus.clone(),
            mask: cpus.to_mask(0),
            count: cpus.len(),
            online: (!online.is_empty()).then(|| cpus.and(online)),
        }
    }

    /// Three lines of text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("list   {}\nmask   {}\ncount  {}\n", self.list, self.mask, self.count);
        match &self.online {
            Some(online) if *online != self.list => {
                let which = if online.is_empty() {
                    "none".to_owned()
                } else {
                    online.to_string()
                };
                text.push_str(&format!("online {which}\n"));
            }
            _ => {}
        }
        text
    }
}
