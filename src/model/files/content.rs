//! The location of the bytes of a file or package, as stored in its record.

use crate::value::wire::record;

record! {
    /// One blob and its expected content.
    pub struct ContentPart {
        /// Number of the blob.
        pub blob: u64,
        /// Length in bytes.
        pub size: u64,
        /// Upper half of the XXH3-128 of the bytes.
        pub hash_high: u64,
        /// Lower half of the XXH3-128 of the bytes.
        pub hash_low: u64,
    }

    /// The bytes of a file or package: the concatenation of its parts.
    ///
    /// Usually there is one part; a file from an upload session has one for each chunk.
    pub struct StoredContent {
        /// The parts, in order.
        pub parts: Vec<ContentPart>,
        /// Whether the bytes are in the record file, with the number of the only part as their key.
        pub small: bool,
    }
}

impl ContentPart {
    /// A part with this hash.
    #[must_use]
    pub fn new(blob: u64, size: u64, hash: u128) -> Self {
        Self { blob, size, hash_high: (hash >> 64) as u64, hash_low: hash as u64 }
    }

    /// XXH3-128 of the bytes.
    #[must_use]
    pub fn hash(&self) -> u128 {
        u128::from(self.hash_high) << 64 | u128::from(self.hash_low)
    }
}

impl StoredContent {
    /// Length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| part.size).fold(0, u64::saturating_add)
    }

    /// The checksum in the metadata: `xxh3-128:` and 32 digits. For content in several parts,
    /// `xxh3-128-parts:` and the hash of the hashes of its parts.
    #[must_use]
    pub fn checksum(&self) -> String {
        match self.parts.as_slice() {
            [] => format!("xxh3-128:{:032x}", xxhash_rust::xxh3::xxh3_128(&[])),
            [only] => format!("xxh3-128:{:032x}", only.hash()),
            parts => {
                let hashes: Vec<u8> =
                    parts.iter().flat_map(|part| part.hash().to_be_bytes()).collect();
                format!("xxh3-128-parts:{:032x}", xxhash_rust::xxh3::xxh3_128(&hashes))
            }
        }
    }
}
