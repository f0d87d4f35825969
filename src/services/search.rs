//! Full-text search over every kind of resource.

use super::batch::distinct;
use super::declare::service;
use super::lists;
use crate::error::Result;
use crate::model::{SearchRequest, SearchResponse};
use crate::session;

service! {
/// Full-text search. It sees every write that was acknowledged before the call; inside a
/// transaction it also sees the transaction's own writes.
///
/// Object-safe. Methods may be added before 1.0.
pub trait SearchService {
    /// Finds resources by their text, best first.
    ///
    /// # Errors
    /// `InvalidArgument` with the character offset if the text cannot be parsed, or at the invalid
    /// member; `LimitExceeded` for too many words, too deep nesting, or a phrase whose last word is
    /// a prefix of too many words; `Unsupported` in a build without the feature `search`.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Identity, Store};
    /// use stationdb::search::{SearchRequest, SearchService};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let request = SearchRequest::new().text("amplifier -broken");
    /// # #[cfg(feature = "search")]
    /// assert_eq!(session.search(request)?.total, Some(0));
    /// # Ok(())
    /// # }
    /// ```
    fn search(&self, request: SearchRequest) -> Result<SearchResponse> {
        request.page_size()?;
        for (member, list) in [
            ("kinds", &request.kinds),
            ("workspaces", &request.workspaces),
            ("fields", &request.fields),
        ] {
            lists::check(member, list.len())?;
        }
        let workspaces = distinct(request.workspaces);
        session::search(self, &SearchRequest { workspaces, ..request })
    }
}
}
