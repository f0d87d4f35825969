//! Caches bounded by the total weight of their entries, which is mostly their bytes.
//!
//! `quick_cache` chooses the entries to evict: entries not used since they were inserted go first,
//! so one long scan does not evict entries that are read repeatedly. An entry heavier than the
//! bound is not kept.

use std::hash::Hash;

use quick_cache::OptionsBuilder;
use quick_cache::sync::{Cache as Shared, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Weighter};

/// A cache that threads share.
pub(crate) type Cache<K, V> = Shared<K, V, Weight<K, V>>;

/// Computes the weight of an entry.
pub(crate) struct Weight<K, V>(fn(&K, &V) -> usize);

impl<K, V> Clone for Weight<K, V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<K, V> Weighter<K, V> for Weight<K, V> {
    fn weight(&self, key: &K, value: &V) -> u64 {
        // `quick_cache` never evicts an entry of weight 0.
        (self.0)(key, value).max(1) as u64
    }
}

/// Makes an empty cache of at most `weight_max`. `expected_count` estimates how many entries fit.
pub(crate) fn bounded<K: Eq + Hash, V: Clone>(
    expected_count: usize,
    weight_max: usize,
    weight: fn(&K, &V) -> usize,
) -> Cache<K, V> {
    // With one shard, every entry within the bound is kept, whatever the number of processors.
    in_shards(1, expected_count, weight_max, weight)
}

/// As [`bounded`], with at most this number of shards, a power of two. Each has a lock and an equal
/// part of the bound, and keeps no entry heavier than its part.
pub(crate) fn in_shards<K: Eq + Hash, V: Clone>(
    shards: usize,
    expected_count: usize,
    weight_max: usize,
    weight: fn(&K, &V) -> usize,
) -> Cache<K, V> {
    let options = OptionsBuilder::new()
        .shards(shards)
        // Hot (used) entries may take the whole bound, so that one hot entry may be that large.
        .hot_allocation(1.0)
        .estimated_items_capacity(expected_count)
        .weight_capacity(weight_max as u64)
        .build();
    match options {
        Ok(options) => Shared::with_options(
            options,
            Weight(weight),
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // `build` fails only when an option is missing.
        Err(_) => Shared::with_weighter(expected_count, weight_max as u64, Weight(weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_used_entries_stay_longer() {
        let cache = bounded(4, 40, |_: &usize, bytes: &usize| *bytes);
        for key in 0..1_000 {
            cache.insert(key, 10);
            assert!(
                cache.weight() <= 40 && cache.len() <= 4,
                "{} entries of {}",
                cache.len(),
                cache.weight()
            );
            assert_eq!(cache.get(&0), Some(10), "after {key} others");
        }
        // One may take all of the bound, and none takes more.
        cache.insert(1_001, 40);
        assert_eq!((cache.get(&1_001), cache.len(), cache.weight()), (Some(40), 1, 40));
        cache.insert(1_002, 41);
        assert_eq!((cache.get(&1_002), cache.get(&1_001)), (None, Some(40)));
        // A new value takes the place of the old one, with its own weight.
        cache.insert(1_001, 15);
        assert_eq!(cache.weight(), 15);
        cache.insert(1_003, 0);
        assert_eq!(cache.weight(), 16, "an entry without weight");
    }

    #[test]
    fn entries_that_nobody_uses_any_more_make_room() {
        let cache = bounded(4, 40, |_: &usize, bytes: &usize| *bytes);
        for key in 0..4 {
            cache.insert(key, 10);
            cache.get(&key);
        }
        for round in 0..20 {
            for key in 10..14 {
                if cache.get(&key).is_none() {
                    cache.insert(key, 10);
                    cache.get(&key);
                }
            }
            assert!(cache.weight() <= 40, "round {round}");
        }
        assert_eq!((10..14).filter(|key| cache.contains_key(key)).count(), 4);
    }
}
