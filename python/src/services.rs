//! All services of the library as one trait.

use stationdb::prelude::*;
use stationdb::{OwnedTransaction, Result, Session};

/// All services of the library, of a session or of a transaction.
pub trait Services:
    ProductService
    + ResultService
    + SpecificationService
    + AssetService
    + WorkItemService
    + TestPlanService
    + TableService
    + FileService
    + FeedService
    + WorkspaceService
    + RecordService
    + SearchService
{
    /// Calls an operation by its name.
    fn by_name(&self, operation: &str, json: &str) -> Result<String>;
}

macro_rules! services {
    ($($handle:ty),*) => {
        $(impl Services for $handle {
            fn by_name(&self, operation: &str, json: &str) -> Result<String> {
                self.call(operation, json)
            }
        })*
    };
}
services! { Session, OwnedTransaction }
