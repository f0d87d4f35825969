//! Tests of the services by public names only: one module for each service, and some for all of
//! them.

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/holds_at.rs"]
mod holds_at;
#[path = "../common/policy.rs"]
mod policy;
#[path = "../common/sources.rs"]
mod sources;
#[path = "../common/test_store.rs"]
mod test_store;

mod assets;
mod bounds;
mod client;
mod content_edges;
mod content_reference;
mod feed_export;
mod feeds;
mod file_queries;
mod files;
mod lab_model;
mod pinned;
mod prelude;
mod products;
mod quotas;
mod record_groups;
mod record_imports;
mod records;
mod result_steps;
mod results;
#[path = "../common/rows.rs"]
mod rows;
#[path = "../common/sizes.rs"]
mod sizes;
mod specifications;
mod tables;
mod test_plans;
mod transactions;
mod utilizations;
mod work_items;
mod workspaces;

use chrono::{DateTime, SecondsFormat, Utc};

/// The wire form of a time.
fn wire_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
