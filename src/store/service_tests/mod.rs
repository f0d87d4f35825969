//! Tests of the services over an open store that need private items: of the session, of the record
//! file, or of a service. Tests by public names alone are in `tests/services`.

mod content;
mod corpus;
#[cfg(feature = "search")]
mod counts;
mod feed_deletion;
mod intents;
mod product_values;
mod recipe;
#[cfg(feature = "search")]
mod record_bytes;
mod result_retention;
mod row_count;
mod search;
mod space;
mod step_checks;
mod table_files;
#[path = "../../../tests/common/test_store.rs"]
mod test_store;
mod utilization_history;
mod written;
