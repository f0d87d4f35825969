//! Blocks of files whose checksums were compared, kept for the next reads; a bounded number of bytes.
//!
//! Files of the index never change, so a block that was right once is right for ever. A block that was used since the
//! last round is spared once when room is needed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tantivy::directory::OwnedBytes;

/// A file, by the number that its directory gave it, and the number of a block in it.
type Place = (u64, usize);

/// See the module.
pub struct Blocks {
    held: Mutex<Held>,
    most: usize,
}

#[derive(Default)]
struct Held {
    blocks: HashMap<Place, Block>,
    /// Every block once, the one to go first at the front.
    turns: VecDeque<Place>,
    bytes: usize,
}

struct Block {
    bytes: OwnedBytes,
    was_used: bool,
}

impl Blocks {
    /// Keeps at most this many bytes.
    pub fn new(most: usize) -> Self {
        Self { held: Mutex::default(), most }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything, so that a test meets what is on the disk.
    #[cfg(test)]
    pub fn clear(&self) {
        *self.held() = Held::default();
    }

    /// A block that is kept.
    pub fn get(&self, file: u64, number: usize) -> Option<OwnedBytes> {
        let mut held = self.held();
        let block = held.blocks.get_mut(&(file, number))?;
        block.was_used = true;
        Some(block.bytes.clone())
    }

    /// Keeps a block that has its checksum.
    pub fn keep(&self, file: u64, number: usize, bytes: OwnedBytes) {
        let len = bytes.len();
        if len > self.most {
            return;
        }
        let mut held = self.held();
        if held.blocks.contains_key(&(file, number)) {
            return;
        }
        while held.bytes + len > self.most {
            let Some(oldest) = held.turns.pop_front() else { return };
            match held.blocks.get_mut(&oldest) {
                Some(block) if block.was_used => {
                    block.was_used = false;
                    held.turns.push_back(oldest);
                }
                _ => {
                    let gone = held.blocks.remove(&oldest).map_or(0, |block| block.bytes.len());
                    held.bytes -= gone;
                }
            }
        }
        held.blocks.insert((file, number), Block { bytes, was_used: false });
        held.turns.push_back((file, number));
        held.bytes += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_within_their_bytes_and_used_ones_longer() {
        let blocks = Blocks::new(40);
        let block = |number: usize| OwnedBytes::new(vec![number as u8; 10]);
        for number in 0..4 {
            blocks.keep(1, number, block(number));
        }
        // Two readers may bring the same block.
        blocks.keep(1, 3, block(3));
        assert_eq!(blocks.get(1, 0).as_deref(), Some([0u8; 10].as_slice()));
        assert!(blocks.get(2, 0).is_none(), "a file has its own blocks");
        blocks.keep(1, 4, block(4));
        let kept = |number| blocks.held().blocks.contains_key(&(1, number));
        assert_eq!([0, 1, 2, 3, 4].map(kept), [true, false, true, true, true]);
        blocks.keep(1, 5, OwnedBytes::new(vec![0; 41]));
        assert!(!kept(5), "what is larger than everything is not kept");
        for number in 10..100 {
            blocks.keep(1, number, block(number));
            let held = blocks.held();
            assert!(held.bytes <= 40 && held.turns.len() == held.blocks.len() && held.bytes == held.blocks.len() * 10);
        }
    }
}
