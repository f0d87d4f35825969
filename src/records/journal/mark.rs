//! Marks: how far commits of a pass were acknowledged, apart from the records.
//!
//! Each append writes one, in turn at one of two places in front of the records, with the same sync
//! as its record. So damage of the records leaves the number of the commits that were there, and a
//! power cut tears at most the newer mark.

use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: [u8; 8] = *b"SDJMARK1";
/// Distance of the two copies of the header, and of the two marks.
pub(super) const COPY: usize = 4_096;
/// Bytes of a mark.
pub(super) const LEN: usize = 32;
/// Where the two marks are: behind each copy of the header, in another sector.
pub(super) const PLACES: [usize; 2] = [512, COPY + 512];

/// What an append wrote beside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// The sequence after the record that was written with it.
    pub(super) written: u64,
    /// The sequence up to which commits were acknowledged before.
    pub(super) acknowledged: u64,
}

impl Mark {
    /// The mark of a pass when nothing is written after `sequence`.
    pub(super) const fn at(sequence: u64) -> Self {
        Self { written: sequence, acknowledged: sequence }
    }

    /// The bytes of a mark at one of the [`PLACES`].
    pub(super) fn to_bytes(self, salt: u64, place: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.acknowledged.to_le_bytes());
        bytes.extend_from_slice(&self.written.to_le_bytes());
        let check = xxh3_64_with_seed(&bytes, salt.wrapping_add(place as u64));
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], salt: u64, place: usize) -> Option<Self> {
        let (summed, check) = bytes.split_last_chunk::<8>()?;
        let (chunks, _) = summed.as_chunks::<8>();
        let &[magic, acknowledged, written] = chunks else { return None };
        let is_valid = magic == MAGIC
            && xxh3_64_with_seed(summed, salt.wrapping_add(place as u64))
                == u64::from_le_bytes(*check);
        let [acknowledged, written] = [acknowledged, written].map(u64::from_le_bytes);
        is_valid.then_some(Self { written, acknowledged })
    }
}

/// The marks of a pass, as they were found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    found: [Option<Mark>; 2],
    /// Whether a power cut may have left both: whatever was written at their places before, they
    /// begin with the same bytes.
    may_be_torn: bool,
}

impl Marks {
    /// Reads the marks out of the first bytes of a file, up to the records.
    pub(super) fn of(front: &[u8], salt: u64) -> Self {
        let part = |place: usize| front.get(place..place + LEN).unwrap_or_default();
        Self {
            found: PLACES.map(|place| Mark::from_bytes(part(place), salt, place)),
            may_be_torn: PLACES.iter().all(|place| part(*place).starts_with(&MAGIC)),
        }
    }

    /// Whether both are valid.
    pub(super) fn are_whole(&self) -> bool {
        self.found.iter().all(Option::is_some)
    }

    /// The sequence up to which commits were certainly acknowledged; `None` if both are lost.
    ///
    /// If one is lost, the record that was written with the other one was acknowledged: either the
    /// lost mark was the next one, which is written only after that, or it was an earlier one that
    /// is damaged. In the second case a power cut may have torn the record, which is then taken for
    /// lost.
    pub(super) fn needed(&self) -> Option<u64> {
        match self.found {
            [Some(one), Some(other)] => Some(one.acknowledged.max(other.acknowledged)),
            [one, other] => one.or(other).map(|mark| mark.written),
        }
    }

    /// Whether the beginning of a pass without a record explains that both are lost.
    pub(super) fn may_have_begun(&self) -> bool {
        self.may_be_torn
    }

    /// What an opening that has found the commits up to `sequence` writes: the marks that are
    /// right, unchanged, and in place of the others new ones. Returns at which place the next mark
    /// goes.
    ///
    /// A power cut meanwhile leaves one of them. A mark of a record that was torn is replaced:
    /// otherwise it would claim that a record of other commits was acknowledged.
    pub(super) fn settled(&self, sequence: u64) -> ([Mark; 2], usize) {
        let is_right = |mark: &Mark| mark.written <= sequence;
        let marks = self.found.map(|mark| mark.filter(is_right).unwrap_or(Mark::at(sequence)));
        let [one, other] = marks;
        (marks, usize::from(one > other))
    }
}
