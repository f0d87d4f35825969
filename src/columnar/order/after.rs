//! The place in an order after which a page begins.

use crate::columnar::read::view::{Run, TableView};
use crate::error::{Error, Result};
use crate::value::limits;

/// The last row of a page: its append ordinal, and its place in the order if that is known. The
/// place is kept because the row may be deleted before the next page is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct After {
    /// Append ordinal.
    pub ordinal: u64,
    /// In the order of the index the index value, big-endian; otherwise the key of the order.
    pub key: Option<Vec<u8>>,
}

impl After {
    /// A row in the order of the index.
    pub(in crate::columnar) fn indexed(ordinal: u64, value: i64) -> Self {
        Self { ordinal, key: Some(value.to_be_bytes().to_vec()) }
    }

    /// The bytes of a token. A long key is left out.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.ordinal.to_be_bytes().to_vec();
        let fits = |key: &&Vec<u8>| bytes.len() + key.len() <= limits::TOKEN_POSITION_BYTES;
        if let Some(key) = self.key.as_ref().filter(fits) {
            bytes.extend_from_slice(key);
        }
        bytes
    }

    /// What [`Self::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (ordinal, key) = bytes.split_first_chunk::<8>()?;
        let key = (!key.is_empty()).then(|| key.to_vec());
        Some(Self { ordinal: u64::from_be_bytes(*ordinal), key })
    }

    /// The index value of the row.
    pub(in crate::columnar) fn index_value(&self, view: &TableView) -> Result<i64> {
        match &self.key {
            Some(key) => {
                <[u8; 8]>::try_from(key.as_slice()).map(i64::from_be_bytes).map_err(|_| {
                    Error::invalid("the continuation token is malformed")
                        .at_member("continuationToken")
                })
            }
            None => {
                let here = view.locate(self.ordinal)?.ok_or_else(gone)?;
                view.run(here.run as usize)?.index_value(&view.schema, here.row as usize)
            }
        }
    }
}

/// The error of a token whose row is not there.
pub(in crate::columnar) fn gone() -> Error {
    Error::invalid(
        "the continuation token does not belong to this table, or the row at which its page ended \
         was deleted; read from the first page again",
    )
    .at_member("continuationToken")
}

/// The number of rows of a run that are not after the row with this index value and ordinal, in the
/// order of the index.
pub(in crate::columnar) fn rows_upto(
    view: &TableView,
    run: &Run,
    value: i64,
    ordinal: u64,
) -> Result<usize> {
    let range = run.ordinal_range();
    let mut low = run.rows_before(&view.schema, value, false)?;
    if ordinal < range.start {
        return Ok(low);
    }
    let mut high = run.rows_before(&view.schema, value, true)?;
    if ordinal >= range.end {
        return Ok(high);
    }
    // Rows with equal index values are in order of their ordinals.
    while low < high {
        let middle = usize::midpoint(low, high);
        let found = run.ordinals(std::slice::from_ref(&(middle..middle + 1)))?;
        if found.first().is_some_and(|found| *found <= ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
