//! One record: the changes of the commits that share a sync.
//!
//! The checksums are seeded by the salt of the pass and by the position. So bytes of an earlier
//! pass, or of another place, are never taken for a record.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes before the body.
pub(super) const HEAD: usize = 40;
/// Every record begins at a multiple of this.
pub(super) const ALIGN: u64 = 8;

/// The commits of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequences {
    /// The sequence before the first of them.
    pub(super) before: u64,
    /// The sequence of the last of them.
    pub(super) after: u64,
}

/// What the head of an intact record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequences: Sequences,
    /// Bytes of the body.
    pub(super) len: u64,
    check: u64,
}

fn seed(salt: u64, at: u64) -> u64 {
    salt.wrapping_add(at)
}

/// Writes a record for the position `at` into `out`, which it empties first.
pub(super) fn write(out: &mut Vec<u8>, salt: u64, at: u64, sequences: Sequences, body: &[u8]) {
    let seed = seed(salt, at);
    let mut rest = Vec::with_capacity(HEAD);
    let body_check = xxh3_64_with_seed(body, seed);
    for number in [sequences.before, sequences.after, body.len() as u64, body_check] {
        rest.extend_from_slice(&number.to_le_bytes());
    }
    out.clear();
    out.reserve(HEAD + body.len() + ALIGN as usize);
    out.extend_from_slice(&xxh3_64_with_seed(&rest, seed).to_le_bytes());
    out.extend_from_slice(&rest);
    out.extend_from_slice(body);
    out.resize(out.len().next_multiple_of(ALIGN as usize), 0);
}

/// Reads the head of a record at the position `at`; `None` if none is there.
pub(super) fn head(bytes: &[u8], salt: u64, at: u64) -> Option<Head> {
    let (check, rest) = bytes.get(..HEAD)?.split_first_chunk::<8>()?;
    if xxh3_64_with_seed(rest, seed(salt, at)) != u64::from_le_bytes(*check) {
        return None;
    }
    let (numbers, _) = rest.as_chunks::<8>();
    let &[before, after, len, check] = numbers else { return None };
    let [before, after, len, check] = [before, after, len, check].map(u64::from_le_bytes);
    Some(Head { sequences: Sequences { before, after }, len, check })
}

impl Head {
    /// Whether this is the body that the record was written with.
    pub(super) fn has(&self, body: &[u8], salt: u64, at: u64) -> bool {
        body.len() as u64 == self.len && xxh3_64_with_seed(body, seed(salt, at)) == self.check
    }

    /// Bytes of the whole record.
    pub(super) fn record_len(&self) -> u64 {
        self.len.saturating_add(HEAD as u64).saturating_add(ALIGN - 1) / ALIGN * ALIGN
    }
}
