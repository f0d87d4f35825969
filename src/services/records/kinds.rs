//! The kinds of records that scans return, and what the service of each shows of a record.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::assets::AssetUtilizationHistoryItem;
use crate::model::tables::table::TableMetadata;
use crate::model::test_plans::template::TestPlanTemplate;
use crate::model::test_plans::test_plan::TestPlan;
use crate::model::work_items::template::WorkItemTemplate;
use crate::model::work_items::work_item::WorkItem;
use crate::model::workspaces::Workspace;
use crate::model::{
    Asset, Feed, FileMetadata, FileRecord, PackageRecord, Product, Resource, Specification,
    Utilization,
};
use crate::services::service_record::ServiceRecord as _;
use crate::value::Env;

/// A kind of record that scans return.
pub(super) trait ScannedKind: Resource {
    /// The record as the JSON of its service.
    ///
    /// # Errors
    /// `Corrupt` for a record that has no JSON.
    fn json(self, env: &Env) -> Result<String>;
}

fn text(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(|error| {
        Error::corrupt("a stored record cannot be written as JSON").with_source(error)
    })
}

macro_rules! shown {
    ($($kind:ty: |$record:ident, $env:ident| $json:expr;)*) => {
        $(impl ScannedKind for $kind {
            fn json(self, $env: &Env) -> Result<String> {
                let $record = self;
                text(&$json)
            }
        })*
    };
}

shown! {
    Product: |record, env| record.in_answer(env);
    Specification: |record, env| record.in_answer(env);
    Asset: |record, env| record.in_answer(env);
    Utilization: |record, _env| AssetUtilizationHistoryItem::from(record);
    WorkItem: |record, env| record.in_answer(env);
    WorkItemTemplate: |record, env| record.in_answer(env);
    TestPlan: |record, env| record.in_answer(env);
    TestPlanTemplate: |record, env| record.in_answer(env);
    TableMetadata: |record, _env| record;
    FileRecord: |record, _env| FileMetadata::from(&record);
    Feed: |record, _env| record;
    PackageRecord: |record, _env| record.package;
    Workspace: |record, _env| record;
}

/// Calls a generic function with the type of a [`RecordKind`](crate::model::records::RecordKind).
macro_rules! of_kind {
    ($kind:expr, $call:ident($($arg:expr),*)) => {{
        use crate::model::records::RecordKind as Kind;
        use crate::model::test_plans::{template::TestPlanTemplate, test_plan::TestPlan};
        use crate::model::work_items::{template::WorkItemTemplate, work_item::WorkItem};
        match $kind {
            Kind::Product => $call::<crate::model::Product>($($arg),*),
            Kind::Specification => $call::<crate::model::Specification>($($arg),*),
            Kind::Asset => $call::<crate::model::Asset>($($arg),*),
            Kind::AssetUtilization => $call::<crate::model::Utilization>($($arg),*),
            Kind::WorkItem => $call::<WorkItem>($($arg),*),
            Kind::WorkItemTemplate => $call::<WorkItemTemplate>($($arg),*),
            Kind::TestPlan => $call::<TestPlan>($($arg),*),
            Kind::TestPlanTemplate => $call::<TestPlanTemplate>($($arg),*),
            Kind::Table => $call::<crate::model::tables::table::TableMetadata>($($arg),*),
            Kind::File => $call::<crate::model::FileRecord>($($arg),*),
            Kind::Feed => $call::<crate::model::Feed>($($arg),*),
            Kind::Package => $call::<crate::model::PackageRecord>($($arg),*),
            Kind::Workspace => $call::<crate::model::workspaces::Workspace>($($arg),*),
        }
    }};
}
pub(super) use of_kind;
