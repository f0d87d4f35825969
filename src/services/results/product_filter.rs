//! The products that a request over results names by a filter.

use crate::error::Result;
use crate::filter::check_substitutions;
use crate::model::ResultOrderBy;
use crate::session::ProductFilter;

/// The products whose results a request asks for; `None` without a filter or with a blank one.
///
/// # Errors
/// `InvalidArgument` at `productSubstitutions`.
pub(super) fn product_filter<'q>(
    filter: Option<&'q str>,
    substitutions: Option<&'q [serde_json::Value]>,
) -> Result<Option<ProductFilter<'q>>> {
    let substitutions = substitutions.unwrap_or_default();
    check_substitutions(substitutions).map_err(|error| error.at_member("productSubstitutions"))?;
    let filter = filter.filter(|filter| !filter.trim().is_empty());
    Ok(filter.map(|filter| ProductFilter {
        path: ResultOrderBy::PartNumber.path(),
        filter: Some(filter),
        substitutions,
    }))
}
