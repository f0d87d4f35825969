//! Wire bodies and query strings that hold the arguments of a call, and the bodies of creations.

use std::collections::BTreeMap;

use crate::error::{ApiError, Error};
use crate::model::assets::{AssetId, CreateAssetRequest, SystemConnection, UpdateAssetRequest};
use crate::model::feeds::{PackageId, QueryFeedsRequest};
use crate::model::files::{
    FileId, GetFilesRequest, QueryFilesRequest, UploadFileRequest, UploadSessionId,
};
use crate::model::products::{CreateProductRequest, ProductId, UpdateProductRequest};
use crate::model::results::{
    CreateResultRequest, CreateStepRequest, ResultRetention, StepIdResultIdPair, TestResultId,
    UpdateResultRequest, UpdateStepRequest,
};
use crate::model::specifications::SpecificationId;
use crate::model::tables::data::GetTableDataRequest;
use crate::model::tables::import::ImportTableRequest;
use crate::model::tables::table::{ListTablesRequest, TableId};
use crate::value::query::{FromQuery, Shape};
use crate::value::wire::record;

record! {
    /// The body of `create_products`.
    wire pub struct CreateProductsRequest requires(products) {
        /// The products to create; required.
        pub products: Vec<CreateProductRequest>,
    }

    /// The body of `update_products`.
    wire pub struct UpdateProductsRequest requires(products) {
        /// The changes, applied in order; required.
        pub products: Vec<UpdateProductRequest>,
        /// Whether lists and maps are replaced (`true`) or added to (absent, `false`).
        pub replace: bool,
    }

    /// The body of `delete_products`.
    wire pub struct DeleteProductsRequest requires(ids) {
        /// The products to delete; required.
        pub ids: Vec<ProductId>,
    }

    /// The query string of `get_products`.
    wire pub struct GetProductsRequest {
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Page size; 1000 when absent or negative.
        pub take: Option<i64>,
        /// Whether to count all products.
        pub return_count: bool,
    }

    /// The body of `create_results`.
    wire pub struct CreateResultsRequest requires(results) {
        /// The results to create; required.
        pub results: Vec<CreateResultRequest>,
    }

    /// The body of `update_results`.
    wire pub struct UpdateResultsRequest requires(results) {
        /// The changes, applied in order; required.
        pub results: Vec<UpdateResultRequest>,
        /// Whether lists and maps are replaced (`true`) or added to (absent, `false`).
        pub replace: bool,
        /// Whether each result gets the status of the most severe of its steps.
        pub determine_status_from_steps: bool,
    }

    /// The body of `delete_results`.
    wire pub struct DeleteResultsRequest requires(ids) {
        /// The results to delete; required.
        pub ids: Vec<TestResultId>,
        /// Whether their steps are deleted; true when absent.
        pub delete_steps: Option<bool>,
    }

    /// The query string of `delete_result`.
    wire pub struct DeleteResultQuery {
        /// Whether the steps are deleted; true when absent.
        pub delete_steps: Option<bool>,
    }

    /// The body of `apply_result_retention`.
    wire pub struct ApplyResultRetentionRequest requires(retention) {
        /// What is kept; required.
        pub retention: ResultRetention,
        /// Whether nothing is deleted.
        pub dry_run: bool,
    }

    /// The query string of `get_results`.
    wire pub struct GetResultsRequest {
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Page size; 1000 when absent or negative, at most 100,000.
        pub take: Option<i64>,
        /// Whether to count all results.
        pub return_count: bool,
    }

    /// The body of a creation of steps.
    wire pub struct CreateStepsRequest requires(steps) {
        /// The steps to create; required.
        pub steps: Vec<CreateStepRequest>,
        /// Whether the total time of each result becomes the sum of its steps.
        pub update_result_total_time: bool,
    }

    /// The body of an update of steps.
    wire pub struct UpdateStepsRequest requires(steps) {
        /// The changes, applied in order; required.
        pub steps: Vec<UpdateStepRequest>,
        /// Whether the total time of each result becomes the sum of its steps.
        pub update_result_total_time: bool,
        /// Whether keywords are replaced (`true`) or added to (absent, `false`).
        pub replace_keywords: bool,
        /// Whether properties are replaced (`true`) or added to (absent, `false`).
        pub replace_properties: bool,
    }

    /// The body of a deletion of steps.
    wire pub struct DeleteStepsRequest requires(steps) {
        /// The steps to delete; required.
        pub steps: Vec<StepIdResultIdPair>,
    }

    /// The query string of a deletion of steps.
    wire pub struct DeleteStepsQuery {
        /// Whether the total time of each result becomes the sum of its steps.
        pub update_result_total_time: bool,
    }

    /// The query string of a list of steps, or of paths.
    wire pub struct GetStepsRequest {
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Page size; 1000 when absent or negative, at most 100,000.
        pub take: Option<i64>,
        /// Whether to count all of them.
        pub return_count: bool,
    }

    /// The body of `delete_specs`.
    wire pub struct DeleteSpecificationsRequest requires(ids) {
        /// The specifications to delete; required.
        pub ids: Vec<SpecificationId>,
    }

    /// The body of `create_assets`.
    wire pub struct CreateAssetsRequest requires(assets) {
        /// The assets to create; required.
        pub assets: Vec<CreateAssetRequest>,
    }

    /// The body of `update_assets`.
    wire pub struct UpdateAssetsRequest requires(assets) {
        /// The changes, applied in order; required.
        pub assets: Vec<UpdateAssetRequest>,
    }

    /// The body of `delete_assets`.
    wire pub struct DeleteAssetsRequest requires(ids) {
        /// The assets to delete; required.
        pub ids: Vec<AssetId>,
    }

    /// The body of `link_files`.
    wire pub struct LinkFilesRequest requires(file_ids) {
        /// The files to link; required.
        pub file_ids: Vec<FileId>,
    }

    /// The body of `set_system_connection`.
    wire pub struct SetSystemConnectionRequest requires(minion_id) {
        /// The system; required.
        pub minion_id: String,
        /// Its connection; unknown when absent.
        pub connection: Option<SystemConnection>,
    }

    /// The body that answers `set_system_connection`.
    answer pub struct SetSystemConnectionResponse {
        /// Number of assets that changed.
        pub changed: u64,
    }

    /// The body of `delete_tables`.
    wire pub struct DeleteTablesRequest requires(ids) {
        /// The tables to delete; required.
        pub ids: Vec<TableId>,
    }

    /// The query string of an append of Arrow batches.
    wire pub struct AppendArrowQuery {
        /// Whether no further appends are accepted.
        pub end_of_data: Option<bool>,
    }

    /// The body that answers `create_table`.
    created pub struct CreateTableResponse {
        /// The id of the table.
        pub id: TableId,
    }

    /// The body that answers `upload_file` and `finish_upload_session`.
    created pub struct UploadFileResponse {
        /// The relative URI of the file; its last segment is the id.
        pub uri: String,
    }

    /// The body of `delete_files`.
    wire pub struct DeleteFilesRequest requires(ids) {
        /// The files to delete; required.
        pub ids: Vec<FileId>,
    }

    /// The body of `start_upload_session`, or its query string.
    wire pub struct StartUploadSessionRequest {
        /// Workspace of the file; that of the session when absent.
        pub workspace: Option<String>,
    }

    /// The query string of `append_to_upload_session`.
    wire pub struct AppendToUploadSessionQuery {
        /// The session.
        pub session_id: UploadSessionId,
        /// Number of the chunk, from 1.
        pub chunk: u32,
        /// Whether the chunk is the last one.
        pub close: bool,
    }

    /// The body of `finish_upload_session`, and its query string.
    wire pub struct FinishUploadSessionRequest {
        /// The session; clients name it in the query string.
        pub session_id: UploadSessionId,
        /// Name of the file; it wins over `Name` among the properties.
        pub name: String,
        /// Properties of the file.
        pub properties: BTreeMap<String, String>,
    }

    /// The query string of an upload of a package.
    wire pub struct UploadPackageQuery also("shouldOverwrite" = "overwrite") {
        /// Whether a package that the feed has is replaced.
        pub overwrite: bool,
    }

    /// The body of `delete_packages`.
    wire pub struct DeletePackagesRequest requires(package_ids) {
        /// The packages to delete; required.
        pub package_ids: Vec<PackageId>,
    }

    /// The body of a failed call.
    wire pub struct ErrorResponse {
        /// What went wrong.
        pub error: ApiError,
    }
}

impl From<TableId> for CreateTableResponse {
    fn from(id: TableId) -> Self {
        Self { id }
    }
}

impl From<FileId> for UploadFileResponse {
    fn from(id: FileId) -> Self {
        Self { uri: crate::model::files::file::self_uri(&id) }
    }
}

impl From<&Error> for ErrorResponse {
    fn from(error: &Error) -> Self {
        Self { error: error.api_error() }
    }
}

/// The members of each query string.
macro_rules! from_query {
    ($($request:ty { $($member:literal: $shape:ident),* })*) => {
        $(impl FromQuery for $request {
            const MEMBERS: &'static [(&'static str, Shape)] = &[$(($member, Shape::$shape)),*];
        })*
    };
}

from_query! {
    ListTablesRequest {
        "take": Integer, "id": Ids, "orderBy": Text, "orderByDescending": Boolean,
        "continuationToken": Text, "workspace": Ids
    }
    GetTableDataRequest {
        "columns": Names, "orderBy": Names, "orderByDescending": Boolean, "take": Integer,
        "continuationToken": Text
    }
    ImportTableRequest {
        "id": Text, "indexColumn": Text, "separator": Text, "decimalSeparator": Text,
        "nullTexts": Names, "commentPrefix": Text, "encoding": Text, "skipLines": Integer,
        "preset": Text, "header": Boolean, "unitsLine": Boolean, "shortRows": Boolean,
        "footerLines": Integer, "sideBySide": Boolean, "sampleInterval": Text, "startTime": Text,
        "dateOrder": Text, "timeZone": Text, "cutTimes": Boolean, "binary": Text,
        "flatten": Boolean, "endOfData": Boolean
    }
    AppendArrowQuery { "endOfData": Boolean }
    GetFilesRequest {
        "skip": Integer, "take": Integer, "orderBy": Text, "orderByDescending": Boolean, "id": Ids,
        "ids": Ids
    }
    QueryFilesRequest { "skip": Integer, "take": Integer, "workspace": Text }
    UploadFileRequest { "workspace": Text }
    StartUploadSessionRequest { "workspace": Text }
    AppendToUploadSessionQuery { "sessionId": Text, "chunk": Integer, "close": Boolean }
    FinishUploadSessionRequest { "sessionId": Text }
    GetProductsRequest { "continuationToken": Text, "take": Integer, "returnCount": Boolean }
    GetResultsRequest { "continuationToken": Text, "take": Integer, "returnCount": Boolean }
    GetStepsRequest { "continuationToken": Text, "take": Integer, "returnCount": Boolean }
    DeleteResultQuery { "deleteSteps": Boolean }
    DeleteStepsQuery { "updateResultTotalTime": Boolean }
    QueryFeedsRequest { "platform": Text, "workspace": Text }
    UploadPackageQuery { "overwrite": Boolean, "shouldOverwrite": Boolean }
}
