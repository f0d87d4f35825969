//! How many bytes values take whose metadata do not tell it, found from the bytes of their segments.

use stationdb::{Error, Result};

use super::layout::Listed;
use super::segment::{LeadIn, RawIndex};
use super::unread::{EXTENDED_BYTES, Sizes, name};

/// Bytes of the chunks of objects: what is known, and the number of floats whose size is not.
#[derive(Default)]
struct Bytes {
    known: u64,
    extended: u64,
}

impl Bytes {
    /// Bytes of a chunk with floats of `size` bytes.
    fn chunk(&self, size: u64) -> Option<u64> {
        self.extended.checked_mul(size)?.checked_add(self.known)
    }
}

/// Looks at the `len` bytes of raw data of a segment with these objects. Returns whether the
/// places of the values that are read are known.
///
/// # Errors
/// `Unsupported` for a finished segment with values that are read and whose places are not
/// known.
pub(super) fn learn(
    sizes: &mut Sizes,
    list: &[Listed],
    lead: &LeadIn,
    len: u64,
    is_unfinished: bool,
) -> Result<bool> {
    let mut bytes = Bytes::default();
    let (mut unknown, mut has_others) = (None, false);
    for listed in list.iter().filter(|listed| listed.has_data) {
        match &listed.raw {
            Some(RawIndex::Unread(index)) => match index.bytes {
                Some(known) => bytes.known = bytes.known.saturating_add(known),
                None if index.is_extended() => {
                    has_others |= index.count > 0;
                    bytes.extended = bytes.extended.saturating_add(index.count);
                }
                None if index.count > 0 => unknown = unknown.or(Some(*index)),
                None => {}
            },
            Some(RawIndex::Plain { bytes: known, count, .. }) => {
                has_others |= *count > 0;
                bytes.known = bytes.known.saturating_add(*known);
            }
            Some(RawIndex::Daqmx(_)) | None => has_others = true,
        }
    }
    if bytes.extended > 0 && sizes.extended.is_none() && !is_unfinished && unknown.is_none() {
        let fits = |size: &u8| {
            let chunk = bytes.chunk((*size).into());
            chunk.is_some_and(|chunk| chunk > 0 && len.is_multiple_of(chunk))
        };
        let mut fitting = EXTENDED_BYTES.into_iter().filter(fits);
        sizes.extended = fitting.next().filter(|_| len > 0 && fitting.next().is_none());
    }
    let is_known = unknown.is_none() && (bytes.extended == 0 || sizes.extended.is_some());
    if is_known || !has_others || len == 0 || is_unfinished {
        return Ok(is_known);
    }
    let of = unknown.or_else(|| {
        list.iter().find_map(|listed| match &listed.raw {
            Some(RawIndex::Unread(index)) if listed.has_data => Some(*index),
            _ => None,
        })
    });
    let (what, at) = of.map_or_else(Default::default, |of| (name(of.code), of.at));
    Err(Error::unsupported(format!(
        "the TDMS file has {what}, at byte {at}, and the segment at byte {} does not tell how many \
         bytes they take, so its values are not found; write other values, or leave them out",
        lead.at
    )))
}
