//! The status of every answer, for servers that wrap the store.

use serde::{Deserialize, Serialize};

use crate::error::ErrorKind;
use crate::model::assets::{
    Asset, AssetSummary, AssetUtilizationHistoryResponse, CreateAssetsPartialSuccess,
    DeleteAssetsResponse, LinkFilesPartialSuccessResponse, QueryAssetsResponse,
    StartUtilizationPartialSuccess, UpdateAssetsPartialSuccess, UpdateUtilizationPartialSuccess,
};
use crate::model::bodies::{CreateTableResponse, SetSystemConnectionResponse, UploadFileResponse};
use crate::model::feeds::{Feed, Package, QueryFeedsResponse, QueryPackagesResponse};
use crate::model::files::{
    FileLinqQueryResponse, FileOperations, FileQueryResponse, UploadSession, UploadSessionState,
};
use crate::model::lab::execution::ExecuteWorkItemResponse;
use crate::model::products::{
    CreateProductsPartialSuccess, DeleteProductsPartialSuccess, PagedProducts, Product,
    ProductOperations, UpdateProductsPartialSuccess,
};
use crate::model::quotas::{PagedQuotas, Quota};
use crate::model::specifications::{
    CreateSpecificationsPartialSuccess, DeleteSpecificationsPartialSuccess, PagedSpecifications,
    Specification, UpdateSpecificationsPartialSuccess, V1Operations,
};
use crate::model::tables::aggregate::TableAggregates;
use crate::model::tables::import::ImportTableResponse;
use crate::model::tables::table::{
    DeleteTablesPartialSuccess, ModifyTablesPartialSuccess, PagedTables, TableApiInfo,
    TableMetadata,
};
use crate::model::test_plans::requests::{
    CreateTestPlansPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse, PagedTestPlans,
    ScheduleTestPlansResponse, UpdateTestPlansResponse,
};
use crate::model::test_plans::template_requests::{
    CreateTestPlanTemplatePartialSuccessResponse, DeleteTestPlanTemplatesPartialSuccessResponse,
    PagedTestPlanTemplates,
};
use crate::model::test_plans::test_plan::TestPlan;
use crate::model::work_items::requests::{
    CreateWorkItemsPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse, PagedWorkItems,
    ScheduleWorkItemsPartialSuccessResponse, UpdateWorkItemsPartialSuccessResponse,
};
use crate::model::work_items::template_requests::{
    CreateWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemTemplatesPartialSuccessResponse,
    PagedWorkItemTemplates, UpdateWorkItemTemplatesPartialSuccessResponse,
};
use crate::model::work_items::work_item::WorkItem;
use crate::model::workspaces::{PagedWorkspaces, Workspace};

/// An answer of an operation, with the status that a server sends it with.
///
/// Nothing (`()`, `None`) is 204. A creation is 201, and 200 when some of its items failed. Where
/// every item of a batch failed the status is that of the umbrella error, a
/// [`PartialFailure`](ErrorKind::PartialFailure): 200, since such a call has not failed. An
/// execution is 200 when it is finished, 202 when it was triggered, and has the status of its error
/// when nothing ran. Everything else is 200. What failed as a whole is an error, which has
/// [`status`](crate::Error::status) too.
///
/// ```
/// use stationdb::{Answer, Error, Result};
///
/// /// The status and the body of every call.
/// fn respond<T: Answer>(result: Result<T>) -> (u16, String) {
///     let body = |value: serde_json::Result<String>| value.unwrap_or_default();
///     match result {
///         Ok(answer) if answer.status() == 204 => (204, String::new()),
///         Ok(answer) => (answer.status(), body(serde_json::to_string(&answer))),
///         Err(error) => {
///             (error.status(), body(serde_json::to_string(&stationdb::bodies::ErrorResponse::from(&error))))
///         }
///     }
/// }
///
/// assert_eq!(respond(Ok(())), (204, String::new()));
/// assert_eq!(respond::<()>(Err(Error::not_found("file", "x"))).0, 404);
/// ```
pub trait Answer: Serialize {
    /// The status-like number of the answer.
    fn status(&self) -> u16 {
        200
    }
}

impl Answer for () {
    fn status(&self) -> u16 {
        204
    }
}

impl<T: Answer> Answer for Option<T> {
    fn status(&self) -> u16 {
        self.as_ref().map_or(204, Answer::status)
    }
}

impl<T: Serialize> Answer for Vec<T> {}

/// A record that was created, where the same record also answers other calls: status 201.
///
/// ```
/// use stationdb::{Answer, Created};
/// use stationdb::feeds::Feed;
///
/// assert_eq!((Feed::default().status(), Created(Feed::default()).status()), (200, 201));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Created<T>(
    /// The record, which is the whole body.
    pub T,
);

impl<T: Serialize> Answer for Created<T> {
    fn status(&self) -> u16 {
        201
    }
}

impl Answer for ExecuteWorkItemResponse {
    fn status(&self) -> u16 {
        Self::status(self)
    }
}

macro_rules! batch_creations {
    ($($answer:ty),* $(,)?) => {
        $(impl Answer for $answer {
            fn status(&self) -> u16 {
                if self.error.is_some() { ErrorKind::PartialFailure.status() } else { 201 }
            }
        })*
    };
}

macro_rules! creations {
    ($($answer:ty),* $(,)?) => {
        $(impl Answer for $answer {
            fn status(&self) -> u16 {
                201
            }
        })*
    };
}

macro_rules! others {
    ($($answer:ty),* $(,)?) => {
        $(impl Answer for $answer {})*
    };
}

batch_creations! {
    CreateAssetsPartialSuccess, CreateProductsPartialSuccess, CreateSpecificationsPartialSuccess,
    CreateTestPlanTemplatePartialSuccessResponse, CreateTestPlansPartialSuccessResponse,
    CreateWorkItemTemplatesPartialSuccessResponse, CreateWorkItemsPartialSuccessResponse,
}

creations! { CreateTableResponse, UploadFileResponse, UploadSession }

others! {
    Asset, AssetSummary, AssetUtilizationHistoryResponse, DeleteAssetsResponse,
    DeleteProductsPartialSuccess, DeleteSpecificationsPartialSuccess, DeleteTablesPartialSuccess,
    DeleteTestPlanTemplatesPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse,
    DeleteWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse, Feed,
    FileLinqQueryResponse, FileOperations, FileQueryResponse, ImportTableResponse,
    LinkFilesPartialSuccessResponse, ModifyTablesPartialSuccess, Package, PagedProducts,
    PagedQuotas, PagedSpecifications, PagedTables, PagedTestPlanTemplates, PagedTestPlans,
    PagedWorkItemTemplates, PagedWorkItems, PagedWorkspaces, Product, ProductOperations,
    QueryAssetsResponse, QueryFeedsResponse, QueryPackagesResponse, Quota,
    ScheduleTestPlansResponse, ScheduleWorkItemsPartialSuccessResponse,
    SetSystemConnectionResponse, Specification,
    StartUtilizationPartialSuccess, TableAggregates, TableApiInfo, TableMetadata, TestPlan,
    UpdateAssetsPartialSuccess, UpdateProductsPartialSuccess, UpdateSpecificationsPartialSuccess,
    UpdateTestPlansResponse, UpdateUtilizationPartialSuccess,
    UpdateWorkItemTemplatesPartialSuccessResponse, UpdateWorkItemsPartialSuccessResponse,
    UploadSessionState, V1Operations, WorkItem, Workspace,
}
