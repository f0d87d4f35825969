//! Queries for assets.

use crate::error::{Error, Result};
use crate::model::{QueryAssetsRequest, VendorPrefix};
use crate::services::queries::{self, QueryRequest};
use crate::session::{Query, Settings};
use crate::value::limits;

/// The name of the vendor flag in filters, which starts with the vendor prefix of the store.
pub(super) fn vendor_names(settings: &Settings) -> Vec<(String, &'static str)> {
    VendorPrefix::new(&settings.vendor_prefix)
        .map(|vendor| vec![(vendor.property(), "isVendorAsset")])
        .unwrap_or_default()
}

impl QueryRequest for QueryAssetsRequest {
    fn query(&self, settings: &Settings) -> Result<Query<'_>> {
        let query = queries::common(self)?;
        let take = self.take.filter(|take| *take != -1).unwrap_or(limits::ASSETS_TAKE);
        if !(0..=limits::ASSETS_TAKE).contains(&take) {
            return Err(Error::invalid(format!(
                "take is {take}; it must be -1 or from 0 to {}",
                limits::ASSETS_TAKE
            ))
            .at_member("take"));
        }
        let skip = usize::try_from(self.skip.unwrap_or_default()).map_err(|_| {
            Error::invalid("skip is negative; send 0 or more, or leave it out").at_member("skip")
        })?;
        Ok(Query {
            bracket_lists: true,
            take: usize::try_from(take).unwrap_or_default(),
            skip,
            renames: vendor_names(settings),
            ..query
        })
    }
}
