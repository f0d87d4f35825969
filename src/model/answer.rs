//! The status of every answer, for servers that wrap the store.

use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Error, ErrorKind, Result};
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
use crate::model::imports::ImportRecordsResponse;
use crate::model::lab::execution::ExecuteWorkItemResponse;
use crate::model::products::{
    CreateProductsPartialSuccess, DeleteProductsPartialSuccess, PagedProducts, Product,
    ProductOperations, UpdateProductsPartialSuccess,
};
use crate::model::quotas::{PagedQuotas, Quota};
use crate::model::records::DeleteRecordsResponse;
use crate::model::specifications::{
    CreateSpecificationsPartialSuccess, DeleteSpecificationsPartialSuccess, PagedSpecifications,
    Specification, UpdateSpecificationsPartialSuccess, V1Operations,
};
use crate::model::tables::aggregate::TableAggregates;
use crate::model::tables::deletion::{DeleteRowsResponse, DeletedRows};
use crate::model::tables::import::ImportTableResponse;
use crate::model::tables::retention::Retention;
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

/// The answer of a batch, of which some items may have failed; or `Option` of one, where nothing is
/// answered when nothing failed.
pub trait BatchAnswer: Sized {
    /// What failed: one inner error for each failed item. `None` if none did.
    fn error(&self) -> Option<&ApiError>;

    /// The answer of a batch in which nothing failed.
    ///
    /// The items that succeeded are kept in the store also when this fails.
    /// [`Session::all_or_nothing`](crate::Session::all_or_nothing) keeps none of them.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// use stationdb::prelude::*;
    /// use stationdb::products::CreateProductRequest;
    /// use stationdb::{ErrorKind, Identity};
    ///
    /// let session = store.session(Identity::user("ada"));
    /// let products = vec![CreateProductRequest::new("A"), CreateProductRequest::new("")];
    /// let error = session.create_products(products)?.into_result().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::PartialFailure);
    /// assert!(error.message().starts_with("1 of 2 items failed: item 2: "), "{error}");
    /// assert_eq!(error.api_error().inner_errors.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `PartialFailure` if an item failed: the message has the first errors, [`Error::place`] is
    /// that of the first failed item, and the inner errors of [`Error::api_error`] are all of them.
    fn into_result(self) -> Result<Self> {
        match self.error() {
            None => Ok(self),
            Some(error) => Err(Error::partial(error.clone())),
        }
    }

    /// As [`into_result`](Self::into_result), for a caller that needs nothing of the answer.
    ///
    /// # Errors
    /// Those of [`into_result`](Self::into_result).
    fn require_all(self) -> Result<()> {
        self.into_result().map(drop)
    }
}

impl<T: BatchAnswer> BatchAnswer for Option<T> {
    fn error(&self) -> Option<&ApiError> {
        self.as_ref().and_then(BatchAnswer::error)
    }
}

macro_rules! batches {
    ($(|$answer:ident| $error:expr, for [$($ty:ty),* $(,)?];)*) => {
        $($(impl BatchAnswer for $ty {
            fn error(&self) -> Option<&ApiError> {
                let $answer = self;
                $error
            }
        })*)*
    };
}

batches! {
    |answer| answer.error.as_ref(), for [
        CreateAssetsPartialSuccess, CreateProductsPartialSuccess,
        CreateSpecificationsPartialSuccess,
        CreateTestPlanTemplatePartialSuccessResponse, CreateTestPlansPartialSuccessResponse,
        CreateWorkItemTemplatesPartialSuccessResponse, CreateWorkItemsPartialSuccessResponse,
        DeleteAssetsResponse, DeleteProductsPartialSuccess,
        DeleteTestPlanTemplatesPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse,
        DeleteWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse,
        LinkFilesPartialSuccessResponse, ScheduleTestPlansResponse,
        ScheduleWorkItemsPartialSuccessResponse, StartUtilizationPartialSuccess,
        UpdateAssetsPartialSuccess, UpdateProductsPartialSuccess,
        UpdateSpecificationsPartialSuccess,
        UpdateTestPlansResponse, UpdateUtilizationPartialSuccess,
        UpdateWorkItemTemplatesPartialSuccessResponse, UpdateWorkItemsPartialSuccessResponse,
    ];
    |answer| Some(&answer.error), for [
        DeleteSpecificationsPartialSuccess, DeleteTablesPartialSuccess, ModifyTablesPartialSuccess,
    ];
}

batch_creations! {
    CreateAssetsPartialSuccess, CreateProductsPartialSuccess, CreateSpecificationsPartialSuccess,
    CreateTestPlanTemplatePartialSuccessResponse, CreateTestPlansPartialSuccessResponse,
    CreateWorkItemTemplatesPartialSuccessResponse, CreateWorkItemsPartialSuccessResponse,
}

creations! { CreateTableResponse, UploadFileResponse, UploadSession }

others! {
    Asset, AssetSummary, AssetUtilizationHistoryResponse, DeleteAssetsResponse,
    DeleteProductsPartialSuccess, DeleteRecordsResponse, DeleteRowsResponse,
    DeleteSpecificationsPartialSuccess, DeleteTablesPartialSuccess, DeletedRows,
    DeleteTestPlanTemplatesPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse,
    DeleteWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse, Feed,
    FileLinqQueryResponse, FileOperations, FileQueryResponse, ImportRecordsResponse,
    ImportTableResponse, LinkFilesPartialSuccessResponse, ModifyTablesPartialSuccess, Package,
    PagedProducts,
    PagedQuotas, PagedSpecifications, PagedTables, PagedTestPlanTemplates, PagedTestPlans,
    PagedWorkItemTemplates, PagedWorkItems, PagedWorkspaces, Product, ProductOperations,
    QueryAssetsResponse, QueryFeedsResponse, QueryPackagesResponse, Quota, Retention,
    ScheduleTestPlansResponse, ScheduleWorkItemsPartialSuccessResponse,
    SetSystemConnectionResponse, Specification,
    StartUtilizationPartialSuccess, TableAggregates, TableApiInfo, TableMetadata, TestPlan,
    UpdateAssetsPartialSuccess, UpdateProductsPartialSuccess, UpdateSpecificationsPartialSuccess,
    UpdateTestPlansResponse, UpdateUtilizationPartialSuccess,
    UpdateWorkItemTemplatesPartialSuccessResponse, UpdateWorkItemsPartialSuccessResponse,
    UploadSessionState, V1Operations, WorkItem, Workspace,
}
