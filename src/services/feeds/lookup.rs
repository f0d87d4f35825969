//! Feeds and their packages by id, and the update of a feed when its packages change.

use crate::error::Result;
use crate::model::feeds::package::feed_entry;
use crate::model::{Feed, PackageRecord};
use crate::services::service_record::{ServiceRecord, found};
use crate::session::{Draft, View, What};

impl ServiceRecord for Feed {
    const ABSENT: (&'static str, Option<i64>) = ("Feeds.FeedNotFoundError", None);
}

impl ServiceRecord for PackageRecord {
    const ABSENT: (&'static str, Option<i64>) = ("Feeds.PackageNotFound", None);
}

/// The packages of a feed, in the order of their creation.
pub(super) fn packages(view: &View<'_>, feed: &Feed) -> Result<Vec<PackageRecord>> {
    let keys = view.index_keys::<PackageRecord>(PackageRecord::BY_FEED, &feed_entry(&feed.id))?;
    let mut records = Vec::with_capacity(keys.len());
    for key in keys {
        records.extend(view.by_key::<PackageRecord>(key)?);
    }
    Ok(records)
}

pub(super) fn feed(view: &View<'_>, feed_id: &str) -> Result<Feed> {
    found(feed_id, view.get(feed_id)?)
}

/// Records in the feed that its packages changed. The policy has allowed the change of the
/// packages; this update is a write of the store.
pub(super) fn touch(draft: &mut Draft<'_>, mut feed: Feed) -> Result<()> {
    feed.updated_at = draft.now().max(feed.created_at);
    draft.put_by_store(&feed, What::Updated, None)
}
