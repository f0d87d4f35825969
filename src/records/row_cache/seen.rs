//! Which keys were read lately: a bit for each place that the hash of a key has.
//!
//! Two keys can have one place, so a key may seem to have been read. This costs the room of a row.
//! A key that seems not to have been read costs a lookup in the file.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the bound of a cache for each byte of its bits: some hundred bits for each page.
const SHARE: usize = 512;

/// The keys that were read lately.
pub(super) struct Seen {
    /// A power of two of words.
    words: Box<[AtomicU64]>,
    /// Number of bits that are set, about.
    set: AtomicUsize,
}

impl Seen {
    /// None, for a cache of `bytes_max`.
    pub(super) fn new(bytes_max: usize) -> Self {
        let count = (bytes_max / SHARE / size_of::<u64>()).max(1);
        // Rounded down, so that the share is kept.
        let count = 1usize << count.ilog2();
        Self { words: (0..count).map(|_| AtomicU64::new(0)).collect(), set: AtomicUsize::new(0) }
    }

    /// Whether a key was noted lately.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.place(key).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Notes that a key is read; returns whether it was noted before. The others are forgotten when
    /// an eighth of the bits is set: with more, many keys would seem to have been read.
    pub(super) fn again(&self, key: &[u8]) -> bool {
        let Some((word, bit)) = self.place(key) else { return false };
        if word.load(Ordering::Relaxed) & bit != 0 {
            return true;
        }
        if self.set.fetch_add(1, Ordering::Relaxed) >= self.words.len() * 8 {
            self.set.store(0, Ordering::Relaxed);
            self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        word.fetch_or(bit, Ordering::Relaxed);
        false
    }

    /// The bit of a key.
    fn place(&self, key: &[u8]) -> Option<(&AtomicU64, u64)> {
        let hash = xxh3_64(key);
        let at = (hash >> 6) & (self.words.len() as u64 - 1);
        let word = self.words.get(usize::try_from(at).ok()?);
        word.map(|word| (word, 1 << (hash & 63)))
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_after_its_first_read_until_many_others_are_read() {
        let seen = Seen::new(1 << 20);
        assert_eq!(seen.bytes(), 2048);
        let bits = 2048 * 8;
        let mut known = 0;
        for number in 0..bits / 16u32 {
            known += u32::from(seen.again(&number.to_be_bytes()));
        }
        assert!(known < bits / 160, "{known} were known that were not read");
        for number in 0..bits / 16 {
            assert!(seen.has(&number.to_be_bytes()), "{number}");
            assert!(seen.again(&number.to_be_bytes()), "{number}");
        }
        for number in bits..2 * bits {
            seen.again(&number.to_be_bytes());
            assert!(seen.has(&number.to_be_bytes()), "{number} as the newest");
        }
        let left = (0..bits / 16).filter(|number| seen.has(&number.to_be_bytes())).count();
        assert!(left < bits as usize / 64, "{left} are still known");
        // Small enough for any bound.
        assert_eq!(Seen::new(0).bytes(), 8);
    }
}
