//! Files with commits, in their order and without a hole, from which a store is restored to a
//! commit between two backups. `docs/format.md` has the bytes.
//!
//! What must hold: a file has every commit from its first to its last one. It is complete and
//! durable before it gets its name, and it is never changed.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::{ArchiveReader, Item};
pub(crate) use write::ArchiveWriter;

use xxhash_rust::xxh3::xxh3_64;

/// The directory of the files, in a store and in a set.
pub(crate) const DIRECTORY: &str = "archive";
/// The name of a file that is being written.
pub(crate) const NEW: &str = "archive/commits.new";

const MAGIC: [u8; 8] = *b"SDARCHV1";
const HEAD: usize = 80;
/// Bytes in front of the frame of a part.
const PART_HEAD: usize = 32;
/// In place of a change: the end of a commit.
const END: u8 = 4;

/// The commits of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    /// The id of the journal that had them.
    pub(crate) journal: u64,
    /// The sequence of the first one.
    pub(crate) first: u64,
    /// The sequence of the last one.
    pub(crate) last: u64,
}

impl Span {
    /// The path of the file.
    pub(crate) fn path(&self) -> String {
        let Self { journal, first, last } = self;
        format!("{DIRECTORY}/{journal:016x}.{first:016x}.{last:016x}")
    }

    /// Reads the name of a file; `None` for other names.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut words = name.split('.').map(|word| u64::from_str_radix(word, 16).ok());
        let mut next = || words.next().flatten();
        let span = Self { journal: next()?, first: next()?, last: next()? };
        let is_canonical = span.path().strip_prefix(DIRECTORY)?.strip_prefix('/')? == name;
        (is_canonical && span.first <= span.last).then_some(span)
    }
}

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The id of the store.
    pub(crate) seed: u64,
    /// The fingerprint of the stored form of the rows.
    pub(crate) form: u64,
    pub(crate) span: Span,
    /// The time of the first commit in milliseconds since 1970 UTC.
    pub(crate) began_ms: i64,
    /// The time of the last commit.
    pub(crate) ended_ms: i64,
    /// The length of the file.
    pub(crate) bytes: u64,
}

impl Head {
    fn to_bytes(self) -> Vec<u8> {
        let Span { journal, first, last } = self.span;
        let mut out = MAGIC.to_vec();
        for number in [self.seed, journal, self.form, first, last] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.began_ms.to_le_bytes());
        out.extend_from_slice(&self.ended_ms.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&xxh3_64(&out).to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8; HEAD]) -> Option<Self> {
        let (body, check) = bytes.split_last_chunk::<8>()?;
        if xxh3_64(body) != u64::from_le_bytes(*check) || body.first_chunk() != Some(&MAGIC) {
            return None;
        }
        let (words, _) = body.as_chunks::<8>();
        let &[_, seed, journal, form, first, last, began, ended, bytes] = words else {
            return None;
        };
        let [seed, journal, form, first, last, bytes] =
            [seed, journal, form, first, last, bytes].map(u64::from_le_bytes);
        Some(Self {
            seed,
            form,
            span: Span { journal, first, last },
            began_ms: i64::from_le_bytes(began),
            ended_ms: i64::from_le_bytes(ended),
            bytes,
        })
    }
}

/// What stands in front of a part.
#[derive(Clone, Copy, Debug)]
struct PartHead {
    /// Bytes in the file.
    stored: u32,
    /// Bytes before the compression.
    raw: u32,
    hash: u128,
}

impl PartHead {
    fn check(body: &[u8], at: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64_with_seed(body, at)
    }

    fn to_bytes(self, at: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(PART_HEAD);
        out.extend_from_slice(&self.stored.to_le_bytes());
        out.extend_from_slice(&self.raw.to_le_bytes());
        out.extend_from_slice(&self.hash.to_le_bytes());
        let check = Self::check(&out, at);
        out.extend_from_slice(&check.to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8; PART_HEAD], at: u64) -> Option<Self> {
        let (body, check) = bytes.split_last_chunk::<8>()?;
        if Self::check(body, at) != u64::from_le_bytes(*check) {
            return None;
        }
        let mut reader = crate::value::byte_reader::ByteReader::new(body);
        Some(Self {
            stored: reader.number(u32::from_le_bytes)?,
            raw: reader.number(u32::from_le_bytes)?,
            hash: reader.number(u128::from_le_bytes)?,
        })
    }
}
