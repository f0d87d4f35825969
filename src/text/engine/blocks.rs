//! A bounded cache of file blocks whose checksums were verified.
//!
//! Files of the index never change, so a verified block stays valid.

use tantivy::directory::OwnedBytes;

use crate::value::cache::{Cache, bounded};

/// The number of a file, given by its directory, and the number of a block in it.
type BlockId = (u64, usize);

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Blocks(Cache<BlockId, OwnedBytes>);

impl Blocks {
    /// Keeps at most `bytes_max`, in blocks of usually `block_bytes`.
    pub(crate) fn new(bytes_max: usize, block_bytes: usize) -> Self {
        Self(bounded(bytes_max / block_bytes.max(1), bytes_max, |_, bytes| bytes.len()))
    }

    /// Drops all blocks, so that a test reads the disk again.
    #[cfg(test)]
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// A cached block.
    pub(crate) fn get(&self, file: u64, number: usize) -> Option<OwnedBytes> {
        self.0.get(&(file, number))
    }

    /// Caches a block that matches its checksum.
    pub(crate) fn keep(&self, file: u64, number: usize, bytes: OwnedBytes) {
        self.0.insert((file, number), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_within_their_bytes_and_used_ones_longer() {
        let blocks = Blocks::new(40, 10);
        let block = |number: usize| OwnedBytes::new(vec![number as u8; 10]);
        for number in 0..4 {
            blocks.keep(1, number, block(number));
        }
        // Two readers may add the same block.
        blocks.keep(1, 3, block(3));
        assert_eq!(blocks.0.weight(), 40);
        assert!(blocks.get(2, 0).is_none(), "a file has its own blocks");
        blocks.keep(1, 5, OwnedBytes::new(vec![0; 41]));
        assert!(blocks.get(1, 5).is_none(), "what is larger than everything is not kept");
        for number in 10..100 {
            assert_eq!(blocks.get(1, 0).as_deref(), Some([0u8; 10].as_slice()), "before {number}");
            blocks.keep(1, number, block(number));
            assert_eq!(
                blocks.get(1, number).as_deref(),
                Some([number as u8; 10].as_slice()),
                "the newest"
            );
            assert_eq!((blocks.0.weight(), blocks.0.len()), (40, 4));
        }
    }
}
