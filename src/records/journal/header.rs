//! The header of a pass. A file has two copies of it, in different blocks.
//!
//! A power cut while the header is written may leave the header of an earlier pass, the new one, or
//! nothing valid in each of the two places. The newer valid copy counts: a pass whose header is not
//! durable has no record yet, and the earlier pass of the file is in the record file.
//!
//! Every header of a file begins with the same bytes, so a power cut never changes these. A file
//! that begins otherwise was damaged.

use xxhash_rust::xxh3::xxh3_64;

use super::mark::{COPY, Mark, PLACES};

pub(crate) const MAGIC: [u8; 8] = *b"SDJOURN2";
/// Bytes of a header.
const LEN: usize = 48;

/// The header of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The id of the journal.
    pub(super) id: u64,
    /// The number of the pass.
    pub(super) pass: u64,
    /// The first sequence that the pass can carry.
    pub(super) first: u64,
    /// Seed of the checksums of the pass.
    pub(super) salt: u64,
}

impl Header {
    fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let numbers = [u64::from_le_bytes(MAGIC), self.id, self.pass, self.first, self.salt];
        let mut check = Vec::with_capacity(LEN);
        numbers.iter().for_each(|number| check.extend_from_slice(&number.to_le_bytes()));
        check.extend_from_slice(&xxh3_64(&check).to_le_bytes());
        bytes.iter_mut().zip(check).for_each(|(to, from)| *to = from);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, check) = bytes.get(..LEN)?.split_last_chunk::<8>()?;
        let (chunks, _) = numbers.as_chunks::<8>();
        let &[magic, id, pass, first, salt] = chunks else { return None };
        let is_valid = magic == MAGIC && xxh3_64(numbers) == u64::from_le_bytes(*check);
        let [id, pass, first, salt] = [id, pass, first, salt].map(u64::from_le_bytes);
        is_valid.then_some(Self { id, pass, first, salt })
    }

    /// The first bytes of the file: both copies, and both marks.
    pub(super) fn to_front(self, marks: [Mark; 2]) -> Vec<u8> {
        let mut block = self.to_bytes().to_vec();
        block.resize(COPY, 0);
        let mut front = block.repeat(2);
        for (mark, place) in marks.into_iter().zip(PLACES) {
            let bytes = mark.to_bytes(self.salt, place);
            front.iter_mut().skip(place).zip(bytes).for_each(|(to, from)| *to = from);
        }
        front
    }

    /// The first bytes of the file when the pass begins.
    pub(super) fn to_first_front(self) -> Vec<u8> {
        self.to_front([Mark::at(self.first.saturating_sub(1)); 2])
    }

    /// Whether a power cut explains that neither copy is valid.
    pub(super) fn may_be_torn(front: &[u8]) -> bool {
        [0, COPY].iter().any(|at| front.get(*at..).is_some_and(|copy| copy.starts_with(&MAGIC)))
    }

    /// The newer valid copy.
    pub(super) fn from_front(front: &[u8]) -> Option<Self> {
        let (one, other) = front.split_at_checked(COPY)?;
        match (Self::from_bytes(one), Self::from_bytes(other)) {
            (Some(one), Some(other)) if other.pass > one.pass => Some(other),
            (one, other) => one.or(other),
        }
    }
}
