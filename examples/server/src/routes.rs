//! Every operation by its path. Where the reference has no path the one below is this server's own.

use std::io::{self, Cursor};
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, RawPathParams as Path, Request, State};
use axum::routing::{MethodFilter, on};
use axum::{Router, http::StatusCode};
use stationdb::bodies::*;
use stationdb::feeds::Package;
use stationdb::files::{GetFilesRequest, UploadFileRequest};
use stationdb::lab::ExecuteWorkItemResponse;
use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest, ResponseFormat};
use stationdb::tables::ExportTableDataRequest;
use stationdb::{Created, Error, ErrorKind, from_json};

use crate::bridge::{App, Task, bare, bytes, failure, fill, form, json, page, stream};

/// What a route calls: the operation with its body, with these arguments, or with these members of
/// its query or body; or calls of its own.
macro_rules! call {
    ($kind:ident($asked:expr) $operation:ident) => { call!($kind($asked) $operation(body)) };
    ($kind:ident($asked:expr) $operation:ident()) => { $kind($asked, |s, _| s.$operation()).await };
    ($kind:ident($asked:expr) $operation:ident($($from:ident),+) $(.map($wrap:path))?) => {
        $kind($asked, |s, c| s.$operation($(call!(c $from)),+)$(.map($wrap))?).await
    };
    ($kind:ident($asked:expr) $operation:ident($from:ident $type:ident { $($member:ident),+ })) => {
        $kind($asked, |s, c| c.$from().and_then(|r: $type| s.$operation($(r.$member),+))).await
    };
    ($kind:ident($asked:expr) $($operation:ident)+ => $($work:expr),+) => {
        $kind($asked, $($work),+).await
    };
    ($call:ident id) => { &$call.id() };
    ($call:ident name) => { $call.part(0) };
    ($call:ident $from:ident) => { $call.$from()? };
}

/// A route: how its bodies travel, the verb, the path, the operations, and the call.
macro_rules! routes {
    ($($base:literal:
        $($kind:ident $verb:ident $path:literal $($operation:ident)+ $(($($from:tt)*))?
            $(.map($wrap:path))? $(=> $($work:expr),+)?;)*
    )*) => {
        /// Verb, path and operations of every route.
        pub const ROUTES: &[(&str, &str, &[&str])] =
            &[$($((stringify!($verb), concat!($base, $path), &[$(stringify!($operation)),+])),*),*];

        /// The routes over a store.
        pub fn router(app: Arc<App>) -> Router {
            let router = Router::new();
            $($(let call = on(
                MethodFilter::$verb,
                async |State(app): State<Arc<App>>, path: Result<Path, _>, asked: Request| {
                    let Ok(path) = path else { return failure(&Error::invalid("path: not UTF-8")) };
                    call!($kind(Task::new(&app, &path, asked)) $($operation)+
                        $(($($from)*))? $(.map($wrap))? $(=> $($work),+)?)
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
    "/nitestmonitor/v2": json GET "" result_api_info();
    json POST "/products" create_products(body CreateProductsRequest { products });
    json GET "/products" get_products(
        query GetProductsRequest { continuation_token, take, return_count });
    json GET "/products/{id}" get_product(id); json DELETE "/products/{id}" delete_product(id);
    json POST "/query-products" query_products;
    json POST "/query-product-values" query_product_values;
    json POST "/update-products" update_products(body UpdateProductsRequest { products, replace });
    json POST "/delete-products" delete_products(body DeleteProductsRequest { ids });
    json POST "/results" create_results(body CreateResultsRequest { results });
    json GET "/results" get_results(
        query GetResultsRequest { continuation_token, take, return_count });
    json GET "/results/{id}" get_result(id);
    json DELETE "/results/{id}" delete_result => |s, c| {
        s.delete_result(&c.id(), c.query::<DeleteResultQuery>()?.delete_steps.unwrap_or(true))
    };
    page POST "/query-results" query_results query_results_csv => |s, c| {
        let query: QueryResultsRequest = c.body()?;
        let is_csv = query.response_format == Some(ResponseFormat::Csv);
        is_csv.then(|| s.query_results_csv(query)).transpose()
    }, |s, c| s.query_results(c.body()?);
    json POST "/query-result-values" query_result_values;
    json POST "/update-results" update_results(
        body UpdateResultsRequest { results, replace, determine_status_from_steps });
    json POST "/delete-results" delete_results => |s, c| {
        let DeleteResultsRequest { ids, delete_steps, .. } = c.body()?;
        s.delete_results(ids, delete_steps.unwrap_or(true))
    };
    json POST "/steps" create_steps(
        body CreateStepsRequest { steps, update_result_total_time });
    json GET "/steps" get_steps(
        query GetStepsRequest { continuation_token, take, return_count });
    json GET "/results/{id}/steps/{stepId}" get_step => |s, c| s.get_step(&c.id(), c.part(1));
    json DELETE "/results/{id}/steps/{stepId}" delete_step => |s, c| {
        let DeleteStepsQuery { update_result_total_time, .. } = c.query()?;
        s.delete_step(&c.id(), c.part(1), update_result_total_time)
    };
    page POST "/query-steps" query_steps query_steps_csv => |s, c| {
        let query: QueryStepsRequest = c.body()?;
        let is_csv = query.response_format == Some(ResponseFormat::Csv);
        is_csv.then(|| s.query_steps_csv(query)).transpose()
    }, |s, c| s.query_steps(c.body()?);
    json POST "/query-step-values" query_step_values;
    json POST "/update-steps" update_steps(body UpdateStepsRequest {
        steps, update_result_total_time, replace_keywords, replace_properties });
    json POST "/delete-steps" delete_steps => |s, c| {
        let DeleteStepsQuery { update_result_total_time, .. } = c.query()?;
        let DeleteStepsRequest { steps, .. } = c.body()?;
        s.delete_steps(steps, update_result_total_time)
    };
    json GET "/paths" get_paths(query GetStepsRequest { continuation_token, take, return_count });
    json GET "/paths/{id}" get_path(name); json POST "/query-paths" query_paths;
    "/nispec/v1": json GET "" specification_api_info();
    json POST "/specs" create_specs; json GET "/specs/{id}" get_spec(id);
    json POST "/query-specs" query_specs; json POST "/update-specs" update_specs;
    json POST "/delete-specs" delete_specs(body DeleteSpecificationsRequest { ids });
    "/niapm/v1": json POST "/assets" create_assets(body CreateAssetsRequest { assets });
    json GET "/assets/{id}" get_asset(id); json POST "/query-assets" query_assets;
    json POST "/update-assets" update_assets(body UpdateAssetsRequest { assets });
    json POST "/delete-assets" delete_assets(body DeleteAssetsRequest { ids });
    json POST "/assets/{id}/file" link_files =>
        |s, c| s.link_files(&c.id(), c.body::<LinkFilesRequest>()?.file_ids);
    json DELETE "/assets/{id}/files/{file}" unlink_file =>
        |s, c| s.unlink_file(&c.id(), &c.part(1).into());
    json POST "/assets/start-utilization" start_utilization;
    json POST "/assets/utilization-heartbeat" utilization_heartbeat(
        body UpdateUtilizationRequest { utilization_identifiers, utilization_timestamp });
    json POST "/assets/end-utilization" end_utilization(
        body UpdateUtilizationRequest { utilization_identifiers, utilization_timestamp });
    json POST "/query-asset-utilization-history" query_asset_utilization_history;
    json GET "/asset-summary" asset_summary(); json GET "/assets-in-use" assets_in_use();
    "/niworkitem/v1":
    json POST "/workitems" create_work_items(body CreateWorkItemsRequest { work_items });
    json GET "/workitems/{id}" get_work_item(id); json POST "/query-workitems" query_work_items;
    json POST "/update-workitems" update_work_items;
    json POST "/schedule-workitems" schedule_work_items;
    json POST "/delete-workitems" delete_work_items(body DeleteWorkItemsRequest { ids });
    json POST "/workitems/{id}/execute" execute_work_item => |s, c| {
        let request = c.body::<ExecuteWorkItemRequest>();
        let executed = request.and_then(|request| s.execute_work_item(&c.id(), &request.action));
        Ok(executed.unwrap_or_else(ExecuteWorkItemResponse::from))
    };
    json POST "/workitem-templates" create_work_item_templates(
        body CreateWorkItemTemplatesRequest { work_item_templates });
    json POST "/query-workitem-templates" query_work_item_templates;
    json POST "/update-workitem-templates" update_work_item_templates;
    json POST "/delete-workitem-templates" delete_work_item_templates(
        body DeleteWorkItemTemplatesRequest { ids });
    "/niworkorder/v1":
    json POST "/testplans" create_test_plans(body CreateTestPlansRequest { test_plans });
    json GET "/testplans/{id}" get_test_plan(id);
    json POST "/query-testplans" query_test_plans; json POST "/update-testplans" update_test_plans;
    json POST "/schedule-testplans" schedule_test_plans;
    json POST "/delete-testplans" delete_test_plans(body DeleteTestPlansRequest { ids });
    json POST "/testplan-templates" create_test_plan_templates(
        body CreateTestPlanTemplatesRequest { test_plan_templates });
    json POST "/query-testplan-templates" query_test_plan_templates;
    json POST "/delete-testplan-templates" delete_test_plan_templates(
        body DeleteTestPlanTemplatesRequest { ids });
    "/nidataframe/v1": json GET "" table_api_info();
    json GET "/tables" list_tables(query); json GET "/tables/{id}/data" get_table_data(id, query);
    json POST "/tables" create_table(body).map(CreateTableResponse::from);
    json POST "/query-tables" query_tables; json POST "/modify-tables" modify_tables;
    json GET "/tables/{id}" get_table_metadata(id); json DELETE "/tables/{id}" delete_table(id);
    json PATCH "/tables/{id}" modify_table(id, body);
    json POST "/delete-tables" delete_tables(body DeleteTablesRequest { ids });
    stream POST "/tables/{id}/data" append_table_data append_arrow =>
        |s, c, body| if c.has_type("application/vnd.apache.arrow.stream") {
            s.append_arrow(&c.id(), body, c.query::<AppendArrowQuery>()?.end_of_data)
        } else { s.append_table_data(&c.id(), from_json(&c.held(body)?)?) };
    json POST "/tables/{id}/query-data" query_table_data(id, body);
    bytes POST "/tables/{id}/export-data" export_table_data => |s, c| {
        let format = c.body::<ExportTableDataRequest>()?.response_format;
        let table = s.get_table_metadata(&c.id())?;
        Ok(Download::of_export(format, table.name.as_deref().unwrap_or_default()))
    }, |s, c, target| s.export_table_data(&c.id(), c.body()?, target, &c.control);
    json POST "/tables/{id}/query-decimated-data" query_decimated_data(id, body);
    "/nifile/v1": json GET "" file_api_info();
    "/nifile/v1/service-groups/Default": json GET "/files" get_files(query);
    json POST "/query-files" query_files(query_and_body);
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
    json POST "/files/{id}/update-metadata" update_metadata(id, body);
    json DELETE "/files/{id}" delete_file(id);
    json POST "/delete-files" delete_files(body DeleteFilesRequest { ids });
    json POST "/upload-sessions/start" start_upload_session(
        query_and_body StartUploadSessionRequest { workspace });
    form POST "/upload-sessions/append" append_to_upload_session => |_, c, body| c.held(body),
        |s, c, chunk, _, _| c.query().and_then(|a: AppendToUploadSessionQuery|
            s.append_to_upload_session(&a.session_id, a.chunk, &mut &*chunk, a.close, &c.control));
    json POST "/upload-sessions/finish" finish_upload_session => |s, c| {
        let FinishUploadSessionRequest { session_id: id, name, properties, .. } =
            c.query_and_body()?;
        s.finish_upload_session(&id, &name, properties).map(UploadFileResponse::from)
    };
    json GET "/upload-sessions" query_upload_sessions();
    json DELETE "/upload-sessions/{id}" cancel_upload_session(id);
    "/nifeed/v1": json POST "/feeds" create_feed(body).map(Created);
    json GET "/feeds" query_feeds(query); json DELETE "/feeds/{id}" delete_feed(id);
    json GET "/feeds/{id}" get_feed(id); json PATCH "/feeds/{id}" update_feed(id, body);
    form POST "/feeds/{id}/packages" upload_package_content write_package commit_package =>
        |s, c, body| fill(s.write_package(&c.control)?, body),
        |s, c, content, name, _| s.commit_package(&c.id(), content, name.as_deref(),
            c.query::<UploadPackageQuery>()?.overwrite, &c.control);
    json GET "/feeds/{id}/packages" query_packages(id);
    json GET "/packages/{id}" get_package(id); json DELETE "/packages/{id}" delete_package(id);
    json POST "/delete-packages" delete_packages(body DeletePackagesRequest { package_ids });
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
    json GET "/unfinished-runs" unfinished_runs();
    json POST "/apply-result-retention" apply_result_retention => |s, c| {
        let ApplyResultRetentionRequest { retention, dry_run, .. } = c.body()?;
        s.apply_result_retention(retention, dry_run, &c.control)
    };
    json POST "/yields" yields => |s, c| s.yields(c.body()?, &c.control);
    json POST "/failure-pareto" failure_pareto => |s, c| s.failure_pareto(c.body()?, &c.control);
    json POST "/capability" capability => |s, c| s.capability(c.body()?, &c.control);
    json POST "/histogram" histogram => |s, c| s.histogram(c.body()?, &c.control);
    json POST "/control-chart" control_chart => |s, c| s.control_chart(c.body()?, &c.control);
    json GET "/results/{id}/tables" tables_of_result(id);
    json POST "/gage" gage => |s, c| s.gage(c.body()?, &c.control);
    json POST "/explain/query-specs" explain_query_specs;
    json POST "/system-connections" set_system_connection => |s, c| {
        let SetSystemConnectionRequest { minion_id: id, connection, .. } = c.body()?;
        Ok(SetSystemConnectionResponse::new().changed(s.set_system_connection(&id, connection)?))
    };
    json POST "/explain/query-assets" explain_query_assets;
    json POST "/explain/query-asset-utilization-history" explain_query_asset_utilization_history;
    json POST "/explain/query-workitems" explain_query_work_items;
    json POST "/explain/query-workitem-templates" explain_query_work_item_templates;
    json POST "/explain/query-testplans" explain_query_test_plans;
    json POST "/explain/query-testplan-templates" explain_query_test_plan_templates;
    stream POST "/import-csv" import_csv => |s, c, body| s.import_csv(c.query()?, body, &c.control);
    stream POST "/import-parquet" import_parquet =>
        |s, c, body| s.import_parquet(c.query()?, Box::new(Cursor::new(c.held(body)?)), &c.control);
    json POST "/tables/{id}/aggregate" aggregate_table_data(id, body);
    json POST "/tables/{id}/add-columns" add_columns(id, body);
    json POST "/tables/{id}/rename-columns" rename_columns(id, body);
    json POST "/tables/{id}/drop-columns" drop_columns(id, body);
    json POST "/tables/{id}/delete-rows" delete_rows(id, body);
    json POST "/tables/{id}/list-deleted-rows" list_deleted_rows(id, body);
    json POST "/tables/{id}/retention" set_retention(id, body);
    json GET "/tables/{id}/retention" get_retention(id);
    json DELETE "/tables/{id}/retention" delete_retention(id);
    json POST "/explain/query-tables" explain_query_tables;
    json POST "/explain/tables/{id}/query-data" explain_query_table_data(id, body);
    json POST "/explain/query-files" explain_query_files(query_and_body);
    json POST "/explain/query-files-linq" explain_query_files_linq;
    json POST "/explain/search-files" explain_search_files;
    json POST "/search" search; json POST "/query-workspaces" query_workspaces;
    json POST "/aggregate-records" aggregate_records;
    json POST "/workspaces" create_workspace(body).map(Created);
    json POST "/explain/query-workspaces" explain_query_workspaces;
    json DELETE "/workspaces/{id}" delete_workspace(name);
    json POST "/quotas" set_quota(body); json GET "/quotas/{id}" get_quota(name);
    json POST "/list-quotas" list_quotas; json DELETE "/quotas/{id}" delete_quota(name);
}
