//! Counts interruptions in a table: one row per kind and culprit.

use crate::answer::{Confidence, Culprit, Interruption};
use crate::context::ExecutionContext;
use observe::Class;
use std::collections::{HashMap, HashSet};

/// Maximum number of separate rows. Later ones are counted by class.
const MOST: usize = 4_096;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RowKey {
    class: Class,
    name: String,
    culprit: Option<CulpritKey>,
}

/// Threads with the same name and work are one culprit: a build starts hundreds of compilers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CulpritKey {
    comm: String,
    cpu: u32,
    callsite: Option<String>,
    via: Option<String>,
    /// The chain without its thread numbers.
    chain: Vec<(String, String, u32)>,
}

impl CulpritKey {
    fn of(culprit: &Culprit) -> CulpritKey {
        CulpritKey {
            comm: culprit.comm.clone(),
            cpu: culprit.cpu,
            callsite: culprit.callsite.clone(),
            via: culprit.via.clone(),
            chain: culprit
                .chain
                .iter()
                .map(|link| (link.what.clone(), link.comm.clone(), link.cpu))
                .collect(),
        }
    }
}

/// Maximum number of separate culprits found afterwards.
const MOST_SERVED: usize = 64;
/// Maximum number of separate threads per row.
const MOST_THREADS: usize = 65_536;

/// The rows of one CPU.
#[derive(Debug, Default)]
pub(crate) struct InterruptionRows {
    places: HashMap<RowKey, usize>,
    rows: Vec<Interruption>,
    threads: Vec<HashSet<i32>>,
    /// Threads that a row's interruptions served, as known after they ended, and how often.
    served: HashMap<usize, HashMap<CulpritKey, (Culprit, u64)>>,
}

impl InterruptionRows {
    /// Counts an ended interruption; returns the index of its row.
    pub(crate) fn add(&mut self, context: &ExecutionContext) -> usize {
        let key = if self.rows.len() < MOST {
            RowKey {
                class: context.class,
                name: context.name(),
                culprit: context.culprit.as_ref().map(CulpritKey::of),
            }
        } else {
            RowKey {
                class: context.class,
                name: "many others".to_owned(),
                culprit: None,
            }
        };
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.rows.len();
                self.rows.push(Interruption {
                    culprit: key.culprit.as_ref().and(context.culprit.clone()),
                    subject: context.subject(),
                    ..Interruption::new(key.class, key.name.clone())
                });
                self.threads.push(HashSet::new());
                self.places.insert(key, place);
                place
            }
        };
        if let (Some(culprit), Some(threads)) = (&context.culprit, self.threads.get_mut(place))
            && threads.len() < MOST_THREADS
        {
            threads.insert(culprit.pid);
        }
        if let Some(row) = self.rows.get_mut(place) {
            row.count += u64::from(!context.is_rest);
            row.total_ns += context.in_gaps_ns;
            row.transition_ns += context.way_in_ns;
            row.max_ns = row.max_ns.max(context.in_gaps_ns);
            row.confidence = row.confidence.max(context.confidence);
        }
        place
    }

    /// Adds the way into or out of an interruption to its row.
    pub(crate) fn transition(&mut self, place: usize, ns: u64) {
        if let Some(row) = self.rows.get_mut(place) {
            row.total_ns += ns;
            row.transition_ns += ns;
        }
    }

    /// A row's interruptions served a thread that is known only now.
    pub(crate) fn served(&mut self, place: usize, by: &Culprit) {
        let all = self.served.entry(place).or_default();
        let key = CulpritKey::of(by);
        if all.len() < MOST_SERVED || all.contains_key(&key) {
            all.entry(key).or_insert_with(|| (by.clone(), 0)).1 += 1;
        }
    }

    /// The rows, in order of first occurrence.
    pub(crate) fn into_rows(self) -> Vec<Interruption> {
        let mut rows = self.rows;
        for (row, threads) in rows.iter_mut().zip(&self.threads) {
            if let Some(culprit) = &mut row.culprit {
                culprit.threads = threads.len() as u64;
            }
        }
        for (place, all) in self.served {
            let several = all.len() > 1;
            // Ties are resolved the same way each time, whatever the order of the table.
            let most = all
                .into_iter()
                .max_by(|(a, (_, times)), (b, (_, more))| times.cmp(more).then_with(|| b.cmp(a)));
            let Some((row, (_, (by, _)))) = rows.get_mut(place).zip(most) else {
                continue;
            };
            if row.culprit.as_ref().is_none_or(|culprit| culprit.pid == 0) {
                row.culprit = Some(by.before(row.culprit.as_ref()));
                if several {
                    row.confidence = row.confidence.max(Confidence::Inferred);
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Interruption {
        Interruption {
            count: 1,
            ..Interruption::new(Class::SoftBlock, "BLOCK")
        }
    }

    /// Hash tables of the standard library have another order in each run.
    #[test]
    fn equally_frequent_culprits_are_chosen_in_one_order() {
        let mut rows = InterruptionRows::default();
        rows.rows.push(row());
        rows.threads.push(HashSet::new());
        for cpu in (0..60).rev() {
            let culprit = Culprit {
                pid: 100,
                comm: "make".to_owned(),
                threads: 1,
                cpu,
                callsite: None,
                via: None,
                chain: Vec::new(),
            };
            rows.served(0, &culprit);
        }
        let chosen = rows.into_rows().remove(0).culprit.unwrap();
        assert_eq!(chosen.cpu, 0);
    }
}
