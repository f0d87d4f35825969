//! No files: a statement cannot name what is outside of the store.

use std::sync::Arc;

use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::object_store::ObjectStore;
use url::Url;

/// A registry without any object store.
#[derive(Debug)]
pub(crate) struct NoObjectStores;

impl ObjectStoreRegistry for NoObjectStores {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        exec_err!("{url} is outside of the store, and SQL reads and writes nothing else")
    }
}
