//! Queries for assets.

use crate::error::{Error, Result};
use crate::model::{QueryAssetsRequest, VendorPrefix};
use crate::services::lists;
use crate::session::{OrderTerm, Query, Settings};
use crate::value::limits;

/// The name of the vendor flag in filters, which starts with the vendor prefix of the store.
pub(super) fn vendor_names(settings: &Settings) -> Vec<(String, &'static str)> {
    VendorPrefix::new(&settings.vendor_prefix)
        .map(|vendor| vec![(vendor.property(), "isVendorAsset")])
        .unwrap_or_default()
}

pub(super) fn to_query<'q>(
    request: &'q QueryAssetsRequest,
    settings: &Settings,
) -> Result<Query<'q>> {
    lists::check("projection", request.projection.as_ref().map_or(0, Vec::len))?;
    let take = request.take.filter(|take| *take != -1).unwrap_or(limits::ASSETS_TAKE);
    if !(0..=limits::ASSETS_TAKE).contains(&take) {
        return Err(Error::invalid(format!(
            "take is {take}; it must be -1 or from 0 to {}",
            limits::ASSETS_TAKE
        ))
        .at_member("take"));
    }
    let skip = usize::try_from(request.skip.unwrap_or_default()).map_err(|_| {
        Error::invalid("skip is negative; send 0 or more, or leave it out").at_member("skip")
    })?;
    let descending = request.descending.unwrap_or_default();
    let order = request.order_by.map(|order| OrderTerm { path: order.path(), descending });
    Ok(Query {
        filter: request.filter.as_deref(),
        substitutions: request.substitutions.as_deref().unwrap_or_default(),
        bracket_lists: true,
        order: order.into_iter().collect(),
        take: usize::try_from(take).unwrap_or_default(),
        skip,
        return_count: request.return_count.unwrap_or_default(),
        renames: vendor_names(settings),
        ..Query::default()
    })
}
