//! Finds the best choice exactly, by dynamic programming over the places, from the cores outwards.
//!
//! For every place and every number of CPUs, the cheapest way to take that many is computed from those of the places inside it.
//! Whether the first CPU of a place is taken is tracked separately: it has a cost only if the place ends up shared, which the
//! inner places cannot know. The first CPU of a place is always the first one of the first place inside it.

use super::context::{ChoiceContext, DomainAllotment};
use super::places::TopologyDomain;
use super::rules::{COST, ChoiceCost, cost_of};
use machine::{CpuId, CpuSet, OrderBy};

/// Ways to take a number of CPUs: without the first CPU, and with it.
type TakeCosts = [Option<ChoiceCost>; 2];

/// The origin of a combined way: CPUs and first-flag of the last place, flag of those before it.
#[derive(Clone, Copy, Default)]
struct BackPointer {
    last: usize,
    last_first: usize,
    before_first: usize,
}

/// The results for a place.
#[derive(Default)]
struct SearchTable {
    ways: Vec<TakeCosts>,
    /// For each place inside it, by CPUs taken so far.
    backs: Vec<Vec<[BackPointer; 2]>>,
}

/// The best sets of CPUs, by size.
pub(crate) struct Search<'a, 'g> {
    context: &'a ChoiceContext<'g>,
    available: &'a CpuSet,
    tables: Vec<SearchTable>,
}

impl<'a, 'g> Search<'a, 'g> {
    /// Computes all ways to take up to `most` of the available CPUs.
    pub(crate) fn new(context: &'a ChoiceContext<'g>, available: &'a CpuSet, most: usize) -> Search<'a, 'g> {
        let mut tables: Vec<SearchTable> = Vec::new();
        tables.resize_with(context.places.len(), SearchTable::default);
        let mut search = Search {
            context,
            available,
            tables,
        };
        // Every place precedes those inside it, so in reverse order everything inside is ready.
        for (index, place) in context.places.iter().enumerate().rev() {
            let mut table = if place.inside.is_empty() {
                search.core(place, most)
            } else {
                search.join(place, most)
            };
            for (cpus, ways) in table.ways.iter_mut().enumerate() {
                for (first, way) in ways.iter_mut().enumerate() {
                    let Some(cost) = way else { continue };
                    if !context.may_take(place, cpus) {
                        *way = None;
                        continue;
                    }
                    // A core's own cost depends on its CPUs and was added there.
                    if !place.inside.is_empty() {
                        let taken = DomainAllotment {
                            cpus,
                            first: first == 1,
                            ..DomainAllotment::default()
                        };
                        *cost = sum(cost, &cost_of(context, place, &taken));
                    }
                }
            }
            if let Some(slot) = search.tables.get_mut(index) {
                *slot = table;
            }
        }
        search
    }

    /// The best set of `least..=most` CPUs.
    pub(crate) fn best(&self, least: usize, most: usize) -> Option<CpuSet> {
        let whole = self.tables.first()?;
        let mut best: Option<(ChoiceCost, usize, usize)> = None;
        for (cpus, ways) in whole.ways.iter().enumerate().take(most + 1).skip(least) {
            for (first, cost) in ways.iter().enumerate() {
                if let Some(cost) = cost
                    && best.as_ref().is_none_or(|(known, _, _)| cost < known)
                {
                    best = Some((*cost, cpus, first));
                }
            }
        }
        let (_, cpus, first) = best?;
        let mut set = CpuSet::new();
        self.collect(0, cpus, first, &mut set);
        Some(set)
    }

    /// The largest possible number of CPUs.
    pub(crate) fn most(&self) -> usize {
        let ways = self
            .tables
            .first()
            .map(|table| table.ways.as_slice())
            .unwrap_or_default();
        ways.iter()
            .rposition(|ways| ways.iter().any(Option::is_some))
            .unwrap_or(0)
    }

    /// Which threads of a core to take if not all: those isolated at boot, then the highest.
    fn threads(&self, place: &TopologyDomain, cpus: usize) -> CpuSet {
        let mut ids: Vec<CpuId> = place.cpus.and(self.available).iter().collect();
        ids.order_by_key(|&id| (!self.context.boot_isolated.contains(id), std::cmp::Reverse(id)));
        ids.into_iter().take(cpus).collect()
    }

    fn core(&self, place: &TopologyDomain, most: usize) -> SearchTable {
        let free = place.cpus.and(self.available).len().min(most);
        let mut ways = vec![[None; 2]; free + 1];
        for (cpus, ways) in ways.iter_mut().enumerate() {
            let taken = self.context.part_taken(place, &self.threads(place, cpus));
            if let Some(way) = ways.get_mut(usize::from(taken.first)) {
                *way = Some(cost_of(self.context, place, &taken));
            }
        }
        SearchTable {
            ways,
            backs: Vec::new(),
        }
    }

    fn join(&self, place: &TopologyDomain, most: usize) -> SearchTable {
        let mut table = SearchTable {
            ways: vec![[Some([0; COST]), None]],
            backs: Vec::new(),
        };
        for (number, &inside) in place.inside.iter().enumerate() {
            let Some(inner) = self.tables.get(inside) else {
                continue;
            };
            let reach = (table.ways.len() + inner.ways.len() - 2).min(most);
            let mut ways: Vec<TakeCosts> = vec![[None; 2]; reach + 1];
            let mut backs = vec![[BackPointer::default(); 2]; reach + 1];
            for (before, before_ways) in table.ways.iter().enumerate() {
                for (before_first, before_cost) in before_ways.iter().enumerate() {
                    let Some(before_cost) = before_cost else { continue };
                    for (last, last_ways) in inner.ways.iter().enumerate().take(reach + 1 - before) {
                        for (last_first, last_cost) in last_ways.iter().enumerate() {
                            let Some(last_cost) = last_cost else { continue };
                            let first = if number == 0 { last_first } else { before_first };
                            let cost = sum(before_cost, last_cost);
                            let slot = ways.get_mut(before + last).and_then(|ways| ways.get_mut(first));
                            let back = backs.get_mut(before + last).and_then(|backs| backs.get_mut(first));
                            if let (Some(slot), Some(back)) = (slot, back)
                                && slot.as_ref().is_none_or(|known| cost < *known)
                            {
                                *slot = Some(cost);
                                *back = BackPointer {
                                    last,
                                    last_first,
                                    before_first,
                                };
                            }
                        }
                    }
                }
            }
            table.ways = ways;
            table.backs.push(backs);
        }
        table
    }

    fn collect(&self, index: usize, cpus: usize, first: usize, set: &mut CpuSet) {
        let (Some(place), Some(table)) = (self.context.places.get(index), self.tables.get(index)) else {
            return;
        };
        if place.inside.is_empty() {
            *set = set.or(&self.threads(place, cpus));
            return;
        }
        let (mut cpus, mut first) = (cpus, first);
        for (&inside, backs) in place.inside.iter().zip(&table.backs).rev() {
            let Some(back) = backs.get(cpus).and_then(|backs| backs.get(first)).copied() else {
                return;
            };
            self.collect(inside, back.last, back.last_first, set);
            cpus -= back.last;
            first = back.before_first;
        }
    }
}

fn sum(one: &ChoiceCost, other: &ChoiceCost) -> ChoiceCost {
    let mut sum = *one;
    for (here, more) in sum.iter_mut().zip(other) {
        *here += more;
    }
    sum
}
