//! Package feeds and the packages in them.

pub(crate) mod feed;
pub(crate) mod package;

pub use feed::{
    CreateFeedRequest, Feed, FeedId, Platform, QueryFeedsRequest, QueryFeedsResponse,
    UpdateFeedRequest,
};
pub(crate) use package::PackageRecord;
pub use package::{Package, PackageId, PackageMetadata, QueryPackagesResponse};
