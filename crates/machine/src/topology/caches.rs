//! Reads caches, each once: `cpuN/cache/indexM/*` (`drivers/base/cacheinfo.c`).

use super::{Cache, CacheKind, Cpu};
use crate::reading::RootReader;
use crate::{CpuSet, OrderBy};
use std::collections::HashMap;

/// Reads the caches of the online CPUs, and sets each CPU's level-2 and last-level cache.
pub(super) fn read(reader: &RootReader, cpus: &mut [Cpu]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    // CPUs that share a cache use the same index for it, so its other files are read once and not for each of them.
    let mut known: HashMap<(u32, CpuSet), usize> = HashMap::new();
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        let dir = format!("/sys/devices/system/cpu/cpu{}/cache", cpu.id);
        let mut last_level = 0;
        for index in reader.numbered(&dir, "index").unwrap_or_default() {
            let base = format!("{dir}/index{index}");
            let shared = reader
                .list_or_mask(&format!("{base}/shared_cpu_list"), &format!("{base}/shared_cpu_map"))
                .filter(|shared| shared.contains(cpu.id));
            let Some(shared) = shared else { continue };
            let place = match known.get(&(index, shared.clone())) {
                Some(&place) => place,
                None => {
                    let Some(cache) = read_one(reader, &base, shared.clone()) else {
                        continue;
                    };
                    let same = |old: &Cache| {
                        old.level == cache.level && old.kind == cache.kind && old.shared_by == cache.shared_by
                    };
                    let place = caches.iter().rposition(same).unwrap_or_else(|| {
                        caches.push(cache);
                        caches.len() - 1
                    });
                    known.insert((index, shared), place);
                    place
                }
            };
            let Some(cache) = caches.get(place) else { continue };
            if cache.kind == CacheKind::Instruction {
                continue;
            }
            if cache.level == 2 {
                cpu.l2 = Some(cache.shared_by.clone());
            }
            if cache.level >= last_level {
                last_level = cache.level;
                cpu.llc = Some(cache.shared_by.clone());
            }
        }
    }
    caches.order_by_key(|cache| (cache.level, cache.kind, cache.shared_by.first()));
    caches
}

fn read_one(reader: &RootReader, base: &str, shared_by: CpuSet) -> Option<Cache> {
    let kind = match reader.value(&format!("{base}/type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    Some(Cache {
        level: reader.number(&format!("{base}/level"))?,
        kind,
        size_bytes: reader.value(&format!("{base}/size")).and_then(|text| parse_size(&text)),
        shared_by,
    })
}

/// `32K`, `1M`, `512`: bytes. A size of 0 means that the kernel does not know it.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_are_parsed() {
        let check = |text: &str, expected| assert_eq!(parse_size(text), expected, "of {text}");
        check("32K", Some(32 << 10));
        check("8M", Some(8 << 20));
        check("512", Some(512));
        check("0K", None);
        check("", None);
        check("K", None);
        check("99999999999999999999G", None);
        check("18446744073709551615K", None);
    }
}
