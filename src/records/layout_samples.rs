//! Bytes of each layout of this room, made of fixed values. The fingerprint of the stored form
//! covers their hashes.

use super::runs::{block_sample, manifest_sample};
use super::{Space, Sums, envelope, keys};

/// Names of layouts, as `docs/format.md` calls them, and sample bytes.
pub(crate) fn layout_samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut sums = Sums::default();
    sums.replace(Space::Records, b"\x01key", None, Some(b"value"));
    sums.replace(Space::Log, b"key", None, Some(b"other"));
    vec![
        ("record envelope", envelope::seal(b"key", 7, b"payload")),
        ("index key", keys::index_key(7, 2, b"entry", b"record")),
        ("sorted run", block_sample()),
        ("list of runs", manifest_sample()),
        ("sums", sums.to_row()),
    ]
}
