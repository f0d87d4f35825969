//! Package feeds and the packages in them.

pub mod feed;
pub mod package;

pub use feed::{CreateFeedRequest, Feed, FeedId, Platform, QueryFeedsRequest, QueryFeedsResponse, UpdateFeedRequest};
pub use package::{Package, PackageId, PackageMetadata, PackageRecord, QueryPackagesResponse};
