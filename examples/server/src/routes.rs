//! Every operation by its path. Where the reference has no path the one below is this server's own.

use std::io::{self, Cursor};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use stationdb::bodies::*;
use stationdb::feeds::Package;
use stationdb::files::{GetFilesRequest, UploadFileRequest};
use stationdb::lab::ExecuteWorkItemResponse;
use stationdb::prelude::*;
use stationdb::tables::ExportTableDataRequest;
use stationdb::{Created, Error, ErrorKind, from_json};

use crate::bridge::{
    App, Asked, Form, bare, blocking, bytes, failure, form, has_type, json, respond, stream,
};

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// What a route calls; without a call of its own, the operation with its body.
macro_rules! call {
    ($kind:ident($asked:expr) $operation:ident) => { $kind($asked, |s, c| s.$operation(c.body()?)).await };
    ($kind:ident($asked:expr) $($operation:ident)+ => $($work:expr),+) => { $kind($asked, $($work),+).await };
}

/// One line a route: how its bodies travel, the verb, the path, the operations, and the call.
macro_rules! routes {
    ($($base:literal { $($kind:ident $verb:ident $path:literal $($operation:ident)+ $(=> $($work:expr),+)?;)* })*) => {
        /// Verb, path and operations of every route.
        pub const ROUTES: &[(&str, &str, &[&str])] =
            &[$($((stringify!($verb), concat!($base, $path), &[$(stringify!($operation)),+])),*),*];

        /// The routes over a store.
        pub fn router(app: Arc<App>) -> Router {
            Router::new()
                $($(.route(concat!($base, $path), on(
                    MethodFilter::$verb,
                    async |State(app): State<Arc<App>>, path: RawPathParams, request: Request| {
                        call!($kind(Asked::new(&app, &path, request)) $($operation)+ $(=> $($work),+)?)
                    },
                )))*)*
                .fallback(async || failure(&Error::new(ErrorKind::NotFound, "no operation has this path")))
                .layer(DefaultBodyLimit::disable())
                .with_state(app)
        }
    };
}

routes! {
    "/nitestmonitor/v2" {
        json GET "" product_api_info => |s, _| s.product_api_info();
        json POST "/products" create_products => |s, c| s.create_products(c.body::<CreateProductsRequest>()?.products);
        json GET "/products" get_products => |s, c| {
            let page: GetProductsRequest = c.query()?;
            s.get_products(page.continuation_token, page.take, page.return_count)
        };
        json GET "/products/{id}" get_product => |s, c| s.get_product(&c.id());
        json DELETE "/products/{id}" delete_product => |s, c| s.delete_product(&c.id());
        json POST "/query-products" query_products;
        json POST "/query-product-values" query_product_values;
        json POST "/update-products" update_products => |s, c| {
            let update: UpdateProductsRequest = c.body()?;
            s.update_products(update.products, update.replace)
        };
        json POST "/delete-products" delete_products =>
            |s, c| s.delete_products(c.body::<DeleteProductsRequest>()?.ids);
    }
    "/nispec/v1" {
        json GET "" specification_api_info => |s, _| s.specification_api_info();
        json POST "/specs" create_specs;
        json GET "/specs/{id}" get_spec => |s, c| s.get_spec(&c.id());
        json POST "/query-specs" query_specs;
        json POST "/update-specs" update_specs;
        json POST "/delete-specs" delete_specs => |s, c| s.delete_specs(c.body::<DeleteSpecificationsRequest>()?.ids);
    }
    "/niapm/v1" {
        json POST "/assets" create_assets => |s, c| s.create_assets(c.body::<CreateAssetsRequest>()?.assets);
        json GET "/assets/{id}" get_asset => |s, c| s.get_asset(&c.id());
        json POST "/query-assets" query_assets;
        json POST "/update-assets" update_assets => |s, c| s.update_assets(c.body::<UpdateAssetsRequest>()?.assets);
        json POST "/delete-assets" delete_assets => |s, c| s.delete_assets(c.body::<DeleteAssetsRequest>()?.ids);
        json POST "/assets/{id}/file" link_files =>
            |s, c| s.link_files(&c.id(), c.body::<LinkFilesRequest>()?.file_ids);
        json DELETE "/assets/{id}/files/{file}" unlink_file => |s, c| s.unlink_file(&c.id(), &c.part(1).into());
        json POST "/start-utilization" start_utilization;
        json POST "/utilization-heartbeat" utilization_heartbeat => |s, c| {
            let beat: UpdateUtilizationRequest = c.body()?;
            s.utilization_heartbeat(beat.utilization_identifiers, beat.utilization_timestamp)
        };
        json POST "/end-utilization" end_utilization => |s, c| {
            let end: UpdateUtilizationRequest = c.body()?;
            s.end_utilization(end.utilization_identifiers, end.utilization_timestamp)
        };
        json POST "/query-asset-utilization-history" query_asset_utilization_history;
        json GET "/asset-summary" asset_summary => |s, _| s.asset_summary();
        json GET "/assets-in-use" assets_in_use => |s, _| s.assets_in_use();
    }
    "/niworkorder/v1" {
        json POST "/workitems" create_work_items =>
            |s, c| s.create_work_items(c.body::<CreateWorkItemsRequest>()?.work_items);
        json GET "/workitems/{id}" get_work_item => |s, c| s.get_work_item(&c.id());
        json POST "/query-workitems" query_work_items;
        json POST "/update-workitems" update_work_items;
        json POST "/schedule-workitems" schedule_work_items;
        json POST "/delete-workitems" delete_work_items =>
            |s, c| s.delete_work_items(c.body::<DeleteWorkItemsRequest>()?.ids);
        json POST "/workitems/{id}/execute" execute_work_item => |s, c| {
            let executed = c.body().and_then(|b: ExecuteWorkItemRequest| s.execute_work_item(&c.id(), &b.action));
            Ok(executed.unwrap_or_else(ExecuteWorkItemResponse::from))
        };
        json POST "/workitem-templates" create_work_item_templates =>
            |s, c| s.create_work_item_templates(c.body::<CreateWorkItemTemplatesRequest>()?.work_item_templates);
        json POST "/query-workitem-templates" query_work_item_templates;
        json POST "/update-workitem-templates" update_work_item_templates;
        json POST "/delete-workitem-templates" delete_work_item_templates =>
            |s, c| s.delete_work_item_templates(c.body::<DeleteWorkItemTemplatesRequest>()?.ids);
        json POST "/testplans" create_test_plans =>
            |s, c| s.create_test_plans(c.body::<CreateTestPlansRequest>()?.test_plans);
        json GET "/testplans/{id}" get_test_plan => |s, c| s.get_test_plan(&c.id());
        json POST "/query-testplans" query_test_plans;
        json POST "/update-testplans" update_test_plans;
        json POST "/schedule-testplans" schedule_test_plans;
        json POST "/delete-testplans" delete_test_plans =>
            |s, c| s.delete_test_plans(c.body::<DeleteTestPlansRequest>()?.ids);
        json POST "/testplan-templates" create_test_plan_templates =>
            |s, c| s.create_test_plan_templates(c.body::<CreateTestPlanTemplatesRequest>()?.test_plan_templates);
        json POST "/query-testplan-templates" query_test_plan_templates;
        json POST "/delete-testplan-templates" delete_test_plan_templates =>
            |s, c| s.delete_test_plan_templates(c.body::<DeleteTestPlanTemplatesRequest>()?.ids);
    }
    "/nidataframe/v1" {
        json GET "" table_api_info => |s, _| s.table_api_info();
        json GET "/tables" list_tables => |s, c| s.list_tables(c.query()?);
        json POST "/tables" create_table => |s, c| s.create_table(c.body()?).map(CreateTableResponse::from);
        json POST "/query-tables" query_tables;
        json GET "/tables/{id}" get_table_metadata => |s, c| s.get_table_metadata(&c.id());
        json PATCH "/tables/{id}" modify_table => |s, c| s.modify_table(&c.id(), c.body()?);
        json DELETE "/tables/{id}" delete_table => |s, c| s.delete_table(&c.id());
        json POST "/modify-tables" modify_tables;
        json POST "/delete-tables" delete_tables => |s, c| s.delete_tables(c.body::<DeleteTablesRequest>()?.ids);
        json GET "/tables/{id}/data" get_table_data => |s, c| s.get_table_data(&c.id(), c.query()?);
        append POST "/tables/{id}/data" append_table_data append_arrow => ARROW;
        json POST "/tables/{id}/query-data" query_table_data => |s, c| s.query_table_data(&c.id(), c.body()?);
        bytes POST "/tables/{id}/export-data" export_table_data => |s, c| {
            let format = c.body::<ExportTableDataRequest>()?.response_format;
            let table = s.get_table_metadata(&c.id())?;
            Ok(Download::of_export(format, table.name.as_deref().unwrap_or_default()))
        }, |s, c, target| s.export_table_data(&c.id(), c.body()?, target, &c.control);
        json POST "/tables/{id}/query-decimated-data" query_decimated_data =>
            |s, c| s.query_decimated_data(&c.id(), c.body()?);
    }
    "/nifile/v1" {
        json GET "" file_api_info => |s, _| s.file_api_info();
    }
    "/nifile/v1/service-groups/Default" {
        json GET "/files" get_files => |s, c| s.get_files(c.query()?);
        json POST "/query-files" query_files => |s, c| s.query_files(c.query_and_body()?);
        bare POST "/query-files-linq" query_files_linq;
        json POST "/search-files" search_files;
        file POST "/upload-files" upload_file write_file commit_file => ();
        bytes GET "/files/{id}/data" download_file => |s, c| {
            let page = s.get_files(GetFilesRequest::new().ids([c.part(0)]))?;
            Ok(page.available_files.first().map(Download::of_file).unwrap_or_default())
        }, |s, c, target| s.download_file(&c.id(), target, &c.control);
        json POST "/files/{id}/update-metadata" update_metadata => |s, c| s.update_metadata(&c.id(), c.body()?);
        json DELETE "/files/{id}" delete_file => |s, c| s.delete_file(&c.id());
        json POST "/delete-files" delete_files => |s, c| s.delete_files(c.body::<DeleteFilesRequest>()?.ids);
        json POST "/upload-sessions/start" start_upload_session =>
            |s, c| s.start_upload_session(c.body::<StartUploadSessionRequest>()?.workspace);
        stream POST "/upload-sessions/{id}/chunks/{index}" append_to_upload_session =>
            |s, c, body| {
                let index = c.part(1).parse().map_err(|_| Error::invalid("the index of the chunk is no number"))?;
                let close = c.query::<AppendToUploadSessionQuery>()?.close;
                s.append_to_upload_session(&c.id(), index, body, close, &c.control)
            };
        json POST "/upload-sessions/{id}/finish" finish_upload_session => |s, c| {
            let end: FinishUploadSessionRequest = c.body()?;
            s.finish_upload_session(&c.id(), &end.name, end.properties).map(UploadFileResponse::from)
        };
        json GET "/upload-sessions" query_upload_sessions => |s, _| s.query_upload_sessions();
        json DELETE "/upload-sessions/{id}" cancel_upload_session => |s, c| s.cancel_upload_session(&c.id());
    }
    "/nifeed/v1" {
        json POST "/feeds" create_feed => |s, c| s.create_feed(c.body()?).map(Created);
        json GET "/feeds" query_feeds => |s, c| s.query_feeds(c.query()?);
        json GET "/feeds/{id}" get_feed => |s, c| s.get_feed(&c.id());
        json PATCH "/feeds/{id}" update_feed => |s, c| s.update_feed(&c.id(), c.body()?);
        json DELETE "/feeds/{id}" delete_feed => |s, c| s.delete_feed(&c.id());
        package POST "/feeds/{id}/packages" upload_package_content write_package commit_package => ();
        json GET "/feeds/{id}/packages" query_packages => |s, c| s.query_packages(&c.id());
        json GET "/packages/{id}" get_package => |s, c| s.get_package(&c.id());
        json DELETE "/packages/{id}" delete_package => |s, c| s.delete_package(&c.id());
        json POST "/delete-packages" delete_packages =>
            |s, c| s.delete_packages(c.body::<DeletePackagesRequest>()?.package_ids);
        bytes GET "/packages/{id}/data" download_package =>
            |s, c| s.get_package(&c.id()).map(|package| Download::of_package(&package)),
            |s, c, target| s.download_package(&c.id(), target, &c.control);
        bytes GET "/feeds/{id}/files/{name}" download_package_file =>
            |_, c| Ok(Download::of_package(&Package { file_name: c.part(1).to_owned(), ..Package::default() })),
            |s, c, target| s.download_package_file(&c.id(), c.part(1), target, &c.control);
        bytes GET "/feeds/{id}/files/Packages" packages_index => |_, _| Ok(Download::of_index(false)),
            |s, c, target| Ok(io::copy(&mut s.packages_index(&c.id())?.as_bytes(), target)?);
        bytes GET "/feeds/{id}/files/Packages.gz" packages_index_gz => |_, _| Ok(Download::of_index(true)),
            |s, c, target| Ok(io::copy(&mut s.packages_index_gz(&c.id())?.as_slice(), target)?);
    }
    "/stationdb/v1" {
        json POST "/explain/query-products" explain_query_products;
        json POST "/explain/query-specs" explain_query_specs;
        json POST "/system-connections" set_system_connection => |s, c| {
            let system: SetSystemConnectionRequest = c.body()?;
            let changed = s.set_system_connection(&system.minion_id, system.connection)?;
            Ok(SetSystemConnectionResponse { changed })
        };
        json POST "/explain/query-assets" explain_query_assets;
        json POST "/explain/query-asset-utilization-history" explain_query_asset_utilization_history;
        json POST "/explain/query-workitems" explain_query_work_items;
        json POST "/explain/query-workitem-templates" explain_query_work_item_templates;
        json POST "/explain/query-testplans" explain_query_test_plans;
        json POST "/explain/query-testplan-templates" explain_query_test_plan_templates;
        stream POST "/import-csv" import_csv => |s, c, body| s.import_csv(c.query()?, body, &c.control);
        stream POST "/import-parquet" import_parquet => |s, c, body| {
            // Parquet is read from its end, so all of it has to be here first.
            let mut file = Vec::new();
            io::copy(body, &mut file)?;
            s.import_parquet(c.query()?, Box::new(Cursor::new(file)), &c.control)
        };
        json POST "/explain/query-tables" explain_query_tables;
        json POST "/explain/tables/{id}/query-data" explain_query_table_data =>
            |s, c| s.explain_query_table_data(&c.id(), c.body()?);
        json POST "/explain/query-files-linq" explain_query_files_linq;
        json POST "/search" search;
    }
}

/// Rows as an Arrow stream or as JSON.
async fn append(asked: Asked, arrow: &str) -> Response {
    if has_type(&asked.request, arrow) {
        return stream(asked, |s, c, b| {
            s.append_arrow(&c.id(), b, c.query::<AppendArrowQuery>()?.end_of_data)
        })
        .await;
    }
    json(asked, |s, c| s.append_table_data(&c.id(), c.body()?)).await
}

/// A form with a file. Its content is written when it comes, and named when all parts are there.
async fn file(asked: Asked, _: ()) -> Response {
    let Asked { call, cancel: _cancel, request } = asked;
    let work = async {
        let Form { content, file_name, mut fields } =
            form(&call, request, |s, c| s.write_file(c)).await?;
        let mut upload: UploadFileRequest = call.query()?;
        upload.name = file_name;
        upload.id = fields.remove("id").map(|id| String::from_utf8_lossy(&id).into_owned());
        upload.metadata =
            fields.remove("metadata").map_or(Ok(Default::default()), |text| from_json(&text))?;
        blocking(move || call.session.commit_file(content, upload))
            .await
            .map(UploadFileResponse::from)
    };
    respond(work.await)
}

/// A form with a package.
async fn package(asked: Asked, _: ()) -> Response {
    let Asked { call, cancel: _cancel, request } = asked;
    let work = async {
        let Form { content, file_name, .. } =
            form(&call, request, |s, c| s.write_package(c)).await?;
        let (s, name, overwrite) =
            (call.session.clone(), file_name, call.query::<UploadPackageQuery>()?.overwrite);
        blocking(move || {
            s.commit_package(&call.id(), content, name.as_deref(), overwrite, &call.control)
        })
        .await
    };
    respond(work.await)
}
