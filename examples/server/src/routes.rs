//! Every operation by its path. Where the reference has no path the one below is this server's own.

use std::io::{self, Cursor};
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, RawPathParams as Path, Request, State};
use axum::routing::{MethodFilter, on};
use axum::{Router, http::StatusCode};
use stationdb::bodies::*;
use stationdb::feeds::{Package, QueryFeedsRequest};
use stationdb::files::{GetFilesRequest, QueryFilesRequest, UploadFileRequest};
use stationdb::lab::ExecuteWorkItemResponse;
use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest, ResponseFormat};
use stationdb::tables::{ExportTableDataRequest, GetTableDataRequest, ListTablesRequest};
use stationdb::{Error, ErrorKind, from_json, query_members};
use stationdb_formats::ImportFiles;

use crate::bridge::{
    App, QueryMembers, Task, bare, bytes, created, failure, fill, form, json, named, own, page,
    stream,
};

/// What a route calls: an operation by its name, or calls of its own.
macro_rules! call {
    ($kind:ident($asked:expr) $($operation:ident)+ => $($work:expr),+) => {
        $kind($asked, $($work),+).await
    };
    ($kind:ident($asked:expr) $operation:ident $(($($member:ident),+))? $(? $query:ident)?) => {{
        let query = None::<QueryMembers> $(.or(Some(query_members::<$query>)))?;
        $kind(named($asked, stringify!($operation), &[$($(stringify!($member)),+)?], query).await)
    }};
}

/// A route: how its answer travels, the verb, the path, and the operation. In parentheses are the
/// members that the variable parts of the path are, and after `?` is the request whose members the
/// query string has. After `=>` are calls by hand, for what has no JSON.
macro_rules! routes {
    ($($base:literal:
        $($kind:ident $verb:ident $path:literal $($operation:ident)+ $(($($member:ident),+))?
            $(? $query:ident)? $(=> $($work:expr),+)?;)*
    )*) => {
        /// Verb, path and operations of every route.
        pub const ROUTES: &[(&str, &str, &[&str])] =
            &[$($((stringify!($verb), concat!($base, $path), &[$(stringify!($operation)),+])),*),*];

        /// The routes over a store.
        pub fn router(app: Arc<App>) -> Router {
            let router = crate::status::router();
            $($(let call = on(
                MethodFilter::$verb,
                async |State(app): State<Arc<App>>, path: Result<Path, _>, asked: Request| {
                    let Ok(path) = path else { return failure(&Error::invalid("path: not UTF-8")) };
                    call!($kind(Task::new(&app, &path, asked)) $($operation)+
                        $(($($member),+))? $(? $query)? $(=> $($work),+)?)
                },
            );
            // Clients ask for `/nifile/v1/`: a slash at the end changes nothing.
            let router = router.route(concat!($base, $path), call.clone())
                .route(concat!($base, $path, "/"), call);)*)*
            router
                .fallback(async || failure(&Error::new(ErrorKind::NotFound, "no such path")))
                .method_not_allowed_fallback(async || {
                    (StatusCode::METHOD_NOT_ALLOWED, failure(&Error::invalid("no such verb")))
                })
                .layer(DefaultBodyLimit::disable())
                .with_state(app)
        }
    };
}

routes! {
    "/nitestmonitor/v2": json GET "" result_api_info;
    json POST "/products" create_products;
    json GET "/products" get_products ? GetProductsRequest;
    json GET "/products/{id}" get_product(id); json DELETE "/products/{id}" delete_product(id);
    json POST "/query-products" query_products;
    json POST "/query-product-values" query_product_values;
    json POST "/update-products" update_products;
    json POST "/delete-products" delete_products;
    json POST "/results" create_results;
    json GET "/results" get_results ? GetResultsRequest;
    json GET "/results/{id}" get_result(id);
    json DELETE "/results/{id}" delete_result(id) ? DeleteResultQuery;
    page POST "/query-results" query_results query_results_csv => |s, c| {
        let query: QueryResultsRequest = c.body()?;
        let is_csv = query.response_format == Some(ResponseFormat::Csv);
        is_csv.then(|| s.query_results_csv(query)).transpose()
    }, |s, c| s.query_results(c.body()?);
    json POST "/query-result-values" query_result_values;
    json POST "/update-results" update_results;
    json POST "/delete-results" delete_results;
    json POST "/steps" create_steps;
    json GET "/steps" get_steps ? GetStepsRequest;
    json GET "/results/{id}/steps/{stepId}" get_step(result_id, step_id);
    json DELETE "/results/{id}/steps/{stepId}" delete_step(result_id, step_id) ? DeleteStepsQuery;
    page POST "/query-steps" query_steps query_steps_csv => |s, c| {
        let query: QueryStepsRequest = c.body()?;
        let is_csv = query.response_format == Some(ResponseFormat::Csv);
        is_csv.then(|| s.query_steps_csv(query)).transpose()
    }, |s, c| s.query_steps(c.body()?);
    json POST "/query-step-values" query_step_values;
    json POST "/update-steps" update_steps;
    json POST "/delete-steps" delete_steps ? DeleteStepsQuery;
    json GET "/paths" get_paths ? GetStepsRequest;
    json GET "/paths/{id}" get_path(id); json POST "/query-paths" query_paths;
    "/nispec/v1": json GET "" specification_api_info;
    json POST "/specs" create_specs; json GET "/specs/{id}" get_spec(id);
    json POST "/query-specs" query_specs; json POST "/update-specs" update_specs;
    json POST "/delete-specs" delete_specs;
    "/niapm/v1": json POST "/assets" create_assets;
    json GET "/assets/{id}" get_asset(id); json POST "/query-assets" query_assets;
    json POST "/update-assets" update_assets;
    json POST "/delete-assets" delete_assets;
    json POST "/assets/{id}/file" link_files(asset_id);
    json DELETE "/assets/{id}/files/{file}" unlink_file(asset_id, file_id);
    json POST "/assets/start-utilization" start_utilization;
    json POST "/assets/utilization-heartbeat" utilization_heartbeat;
    json POST "/assets/end-utilization" end_utilization;
    json POST "/query-asset-utilization-history" query_asset_utilization_history;
    json GET "/asset-summary" asset_summary; json GET "/assets-in-use" assets_in_use;
    "/niworkitem/v1":
    json POST "/workitems" create_work_items;
    json GET "/workitems/{id}" get_work_item(work_item_id);
    json POST "/query-workitems" query_work_items;
    json POST "/update-workitems" update_work_items;
    json POST "/schedule-workitems" schedule_work_items;
    json POST "/delete-workitems" delete_work_items;
    own POST "/workitems/{id}/execute" execute_work_item => |s, c| {
        let request = c.body::<ExecuteWorkItemRequest>();
        let executed = request.and_then(|request| s.execute_work_item(&c.id(), &request.action));
        Ok(executed.unwrap_or_else(ExecuteWorkItemResponse::from))
    };
    json POST "/workitem-templates" create_work_item_templates;
    json POST "/query-workitem-templates" query_work_item_templates;
    json POST "/update-workitem-templates" update_work_item_templates;
    json POST "/delete-workitem-templates" delete_work_item_templates;
    "/niworkorder/v1":
    json POST "/testplans" create_test_plans;
    json GET "/testplans/{id}" get_test_plan(test_plan_id);
    json POST "/query-testplans" query_test_plans; json POST "/update-testplans" update_test_plans;
    json POST "/schedule-testplans" schedule_test_plans;
    json POST "/delete-testplans" delete_test_plans;
    json POST "/testplan-templates" create_test_plan_templates;
    json POST "/query-testplan-templates" query_test_plan_templates;
    json POST "/delete-testplan-templates" delete_test_plan_templates;
    "/nidataframe/v1": json GET "" table_api_info;
    json GET "/tables" list_tables ? ListTablesRequest;
    json GET "/tables/{id}/data" get_table_data(id) ? GetTableDataRequest;
    json POST "/tables" create_table;
    json POST "/query-tables" query_tables; json POST "/modify-tables" modify_tables;
    json GET "/tables/{id}" get_table_metadata(id); json DELETE "/tables/{id}" delete_table(id);
    json PATCH "/tables/{id}" modify_table(id);
    json POST "/delete-tables" delete_tables;
    stream POST "/tables/{id}/data" append_table_data append_arrow =>
        |s, c, body| if c.has_type("application/vnd.apache.arrow.stream") {
            s.append_arrow(&c.id(), body, c.query::<AppendArrowQuery>()?.end_of_data)
        } else { s.append_table_data(&c.id(), from_json(&c.held(body)?)?) };
    json POST "/tables/{id}/query-data" query_table_data(id);
    bytes POST "/tables/{id}/export-data" export_table_data => |s, c| {
        let format = c.body::<ExportTableDataRequest>()?.response_format;
        let table = s.get_table_metadata(&c.id())?;
        Ok(Download::of_export(format, table.name.as_deref().unwrap_or_default()))
    }, |s, c, target| s.export_table_data(&c.id(), c.body()?, target, &c.control);
    json POST "/tables/{id}/query-decimated-data" query_decimated_data(id);
    "/nifile/v1": json GET "" file_api_info;
    "/nifile/v1/service-groups/Default": json GET "/files" get_files ? GetFilesRequest;
    json POST "/query-files" query_files ? QueryFilesRequest;
    bare POST "/query-files-linq" query_files_linq; json POST "/search-files" search_files;
    form POST "/upload-files" upload_file write_file commit_file =>
        |s, c, body| fill(s.write_file(&c.control)?, body), |s, c, content, name, mut fields| {
            let metadata = fields.remove("metadata").unwrap_or_else(|| "{}".to_owned());
            let metadata = from_json(metadata.as_bytes())?;
            let mut upload: UploadFileRequest = c.query()?;
            (upload.metadata, upload.id, upload.name) = (metadata, fields.remove("id"), name);
            s.commit_file(content, upload).map(UploadFileResponse::from)
        };
    bytes GET "/files/{id}/data" download_file => |s, c| {
        let page = s.get_files(GetFilesRequest::new().ids([c.part(0)]))?;
        Ok(page.available_files.first().map(Download::of_file).unwrap_or_default())
    }, |s, c, target| s.download_file(&c.id(), target, &c.control);
    json POST "/files/{id}/update-metadata" update_metadata(id);
    json DELETE "/files/{id}" delete_file(id);
    json POST "/delete-files" delete_files;
    json POST "/upload-sessions/start" start_upload_session ? StartUploadSessionRequest;
    form POST "/upload-sessions/append" append_to_upload_session => |_, c, body| c.held(body),
        |s, c, chunk, _, _| c.query().and_then(|a: AppendToUploadSessionQuery|
            s.append_to_upload_session(&a.session_id, a.chunk, &mut &*chunk, a.close, &c.control));
    json POST "/upload-sessions/finish" finish_upload_session ? FinishUploadSessionRequest;
    json GET "/upload-sessions" query_upload_sessions;
    json DELETE "/upload-sessions/{id}" cancel_upload_session(session_id);
    "/nifeed/v1": created POST "/feeds" create_feed;
    json GET "/feeds" query_feeds ? QueryFeedsRequest; json DELETE "/feeds/{id}" delete_feed(feed_id);
    json GET "/feeds/{id}" get_feed(feed_id); json PATCH "/feeds/{id}" update_feed(feed_id);
    form POST "/feeds/{id}/packages" upload_package_content write_package commit_package =>
        |s, c, body| fill(s.write_package(&c.control)?, body),
        |s, c, content, name, _| s.commit_package(&c.id(), content, name.as_deref(),
            c.query::<UploadPackageQuery>()?.overwrite, &c.control);
    json GET "/feeds/{id}/packages" query_packages(feed_id);
    json GET "/packages/{id}" get_package(package_id);
    json DELETE "/packages/{id}" delete_package(package_id);
    json POST "/delete-packages" delete_packages;
    bytes GET "/packages/{id}/data" download_package =>
        |s, c| s.get_package(&c.id()).map(|package| Download::of_package(&package)),
        |s, c, target| s.download_package(&c.id(), target, &c.control);
    bytes GET "/feeds/{id}/files/{name}" download_package_file => |_, c| Ok(Download::of_package(
        &Package::new().file_name(c.part(1))
    )), |s, c, target| s.download_package_file(&c.id(), c.part(1), target, &c.control);
    bytes GET "/feeds/{id}/files/Packages" packages_index => |_, _| Ok(Download::of_index(false)),
        |s, c, target| Ok(io::copy(&mut s.packages_index(&c.id())?.as_bytes(), target)?);
    bytes GET "/feeds/{id}/files/Packages.gz" packages_index_gz =>
        |_, _| Ok(Download::of_index(true)),
        |s, c, target| Ok(io::copy(&mut s.packages_index_gz(&c.id())?.as_slice(), target)?);
    "/stationdb/v1": json POST "/explain/query-products" explain_query_products;
    json POST "/explain/query-results" explain_query_results;
    bytes POST "/export-results" export_results => |_, _| Ok(Download::of_results()),
        |s, c, target| s.export_results(c.body()?, target, &c.control);
    json POST "/explain/query-steps" explain_query_steps;
    bytes POST "/export-steps" export_steps => |_, _| Ok(Download::of_steps()),
        |s, c, target| s.export_steps(c.body()?, target, &c.control);
    json GET "/unfinished-runs" unfinished_runs;
    json POST "/apply-result-retention" apply_result_retention;
    json POST "/yields" yields;
    json POST "/failure-pareto" failure_pareto;
    json POST "/capability" capability;
    json POST "/histogram" histogram;
    json POST "/control-chart" control_chart;
    json GET "/results/{id}/tables" tables_of_result(id);
    json POST "/gage" gage;
    json POST "/explain/query-specs" explain_query_specs;
    json POST "/system-connections" set_system_connection;
    json POST "/explain/query-assets" explain_query_assets;
    json POST "/explain/query-asset-utilization-history" explain_query_asset_utilization_history;
    json POST "/explain/query-workitems" explain_query_work_items;
    json POST "/explain/query-workitem-templates" explain_query_work_item_templates;
    json POST "/explain/query-testplans" explain_query_test_plans;
    json POST "/explain/query-testplan-templates" explain_query_test_plan_templates;
    stream POST "/import-csv" import_csv => |s, c, body| s.import_csv(c.query()?, body, &c.control);
    stream POST "/import-parquet" import_parquet =>
        |s, c, body| s.import_parquet(c.query()?, Box::new(Cursor::new(c.held(body)?)), &c.control);
    json POST "/tables/{id}/aggregate" aggregate_table_data(id);
    json POST "/tables/{id}/add-columns" add_columns(id);
    json POST "/tables/{id}/rename-columns" rename_columns(id);
    json POST "/tables/{id}/drop-columns" drop_columns(id);
    json POST "/tables/{id}/delete-rows" delete_rows(id);
    json POST "/tables/{id}/list-deleted-rows" list_deleted_rows(id);
    json POST "/tables/{id}/retention" set_retention(id);
    json GET "/tables/{id}/retention" get_retention(id);
    json DELETE "/tables/{id}/retention" delete_retention(id);
    json POST "/explain/query-tables" explain_query_tables;
    json POST "/explain/tables/{id}/query-data" explain_query_table_data(id);
    json POST "/explain/query-files" explain_query_files ? QueryFilesRequest;
    json POST "/explain/query-files-linq" explain_query_files_linq;
    json POST "/explain/search-files" explain_search_files;
    json POST "/search" search; json POST "/query-workspaces" query_workspaces;
    json POST "/aggregate-records" aggregate_records;
    created POST "/workspaces" create_workspace;
    json POST "/explain/query-workspaces" explain_query_workspaces;
    json DELETE "/workspaces/{id}" delete_workspace(id);
    json POST "/quotas" set_quota; json GET "/quotas/{id}" get_quota(workspace);
    json POST "/list-quotas" list_quotas; json DELETE "/quotas/{id}" delete_quota(workspace);
}
