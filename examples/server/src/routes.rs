//! Every operation by its path. Where the reference has no path the one below is this server's own.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use stationdb::bodies::*;
use stationdb::feeds::Package;
use stationdb::files::{ContentWriter, GetFilesRequest, UploadFileRequest};
use stationdb::lab::ExecuteWorkItemResponse;
use stationdb::prelude::*;
use stationdb::tables::ExportTableDataRequest;
use stationdb::{Answer, Created, Error, ErrorKind, Result, Session, from_json};

use crate::bridge::{
    App, Call, bad_form, blocking, download, failure, form, has_type, reading, respond, upload, whole, write,
};

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// One line a route: how its bodies travel, the verb, the path, the operations, and the call.
macro_rules! routes {
    ($($kind:ident $verb:ident $path:literal $($operation:ident)+ => $($work:expr),+;)*) => {
        /// Verb, path and operations of every route.
        pub const ROUTES: &[(&str, &str, &[&str])] =
            &[$((stringify!($verb), $path, &[$(stringify!($operation)),+])),*];

        /// The routes over a store.
        pub fn router(app: Arc<App>) -> Router {
            Router::new()
                $(.route($path, on(
                    MethodFilter::$verb,
                    async |State(app): State<Arc<App>>, path: RawPathParams, request: Request| {
                        $kind(app, path, request, $($work),+).await
                    },
                )))*
                .fallback(async || {
                    failure(&Error::new(ErrorKind::NotFound, "no operation has this path"))
                })
                .layer(DefaultBodyLimit::disable())
                .with_state(app)
        }
    };
}

routes! {
    json GET "/nitestmonitor/v2" product_api_info => |s, _| s.product_api_info();
    json POST "/nitestmonitor/v2/products" create_products =>
        |s, c| s.create_products(c.body::<CreateProductsRequest>()?.products);
    json GET "/nitestmonitor/v2/products" get_products => |s, c| {
        let page: GetProductsRequest = c.query()?;
        s.get_products(page.continuation_token, page.take, page.return_count)
    };
    json GET "/nitestmonitor/v2/products/{id}" get_product => |s, c| s.get_product(&c.id());
    json DELETE "/nitestmonitor/v2/products/{id}" delete_product => |s, c| s.delete_product(&c.id());
    json POST "/nitestmonitor/v2/query-products" query_products => |s, c| s.query_products(c.body()?);
    json POST "/nitestmonitor/v2/query-product-values" query_product_values => |s, c| s.query_product_values(c.body()?);
    json POST "/nitestmonitor/v2/update-products" update_products => |s, c| {
        let update: UpdateProductsRequest = c.body()?;
        s.update_products(update.products, update.replace)
    };
    json POST "/nitestmonitor/v2/delete-products" delete_products =>
        |s, c| s.delete_products(c.body::<DeleteProductsRequest>()?.ids);
    json POST "/stationdb/v1/explain/query-products" explain_query_products => |s, c| s.explain_query_products(c.body()?);

    json GET "/nispec/v1" specification_api_info => |s, _| s.specification_api_info();
    json POST "/nispec/v1/specs" create_specs => |s, c| s.create_specs(c.body()?);
    json GET "/nispec/v1/specs/{id}" get_spec => |s, c| s.get_spec(&c.id());
    json POST "/nispec/v1/query-specs" query_specs => |s, c| s.query_specs(c.body()?);
    json POST "/nispec/v1/update-specs" update_specs => |s, c| s.update_specs(c.body()?);
    json POST "/nispec/v1/delete-specs" delete_specs =>
        |s, c| s.delete_specs(c.body::<DeleteSpecificationsRequest>()?.ids);
    json POST "/stationdb/v1/explain/query-specs" explain_query_specs => |s, c| s.explain_query_specs(c.body()?);

    json POST "/niapm/v1/assets" create_assets => |s, c| s.create_assets(c.body::<CreateAssetsRequest>()?.assets);
    json GET "/niapm/v1/assets/{id}" get_asset => |s, c| s.get_asset(&c.id());
    json POST "/niapm/v1/query-assets" query_assets => |s, c| s.query_assets(c.body()?);
    json POST "/niapm/v1/update-assets" update_assets => |s, c| s.update_assets(c.body::<UpdateAssetsRequest>()?.assets);
    json POST "/niapm/v1/delete-assets" delete_assets => |s, c| s.delete_assets(c.body::<DeleteAssetsRequest>()?.ids);
    json POST "/niapm/v1/assets/{id}/file" link_files =>
        |s, c| s.link_files(&c.id(), c.body::<LinkFilesRequest>()?.file_ids);
    json DELETE "/niapm/v1/assets/{id}/files/{file}" unlink_file => |s, c| s.unlink_file(&c.id(), &c.part(1).into());
    json POST "/niapm/v1/start-utilization" start_utilization => |s, c| s.start_utilization(c.body()?);
    json POST "/niapm/v1/utilization-heartbeat" utilization_heartbeat => |s, c| {
        let beat: UpdateUtilizationRequest = c.body()?;
        s.utilization_heartbeat(beat.utilization_identifiers, beat.utilization_timestamp)
    };
    json POST "/niapm/v1/end-utilization" end_utilization => |s, c| {
        let end: UpdateUtilizationRequest = c.body()?;
        s.end_utilization(end.utilization_identifiers, end.utilization_timestamp)
    };
    json POST "/niapm/v1/query-asset-utilization-history" query_asset_utilization_history =>
        |s, c| s.query_asset_utilization_history(c.body()?);
    json GET "/niapm/v1/asset-summary" asset_summary => |s, _| s.asset_summary();
    json GET "/niapm/v1/assets-in-use" assets_in_use => |s, _| s.assets_in_use();
    json POST "/stationdb/v1/system-connections" set_system_connection => |s, c| {
        let system: SetSystemConnectionRequest = c.body()?;
        let changed = s.set_system_connection(&system.minion_id, system.connection)?;
        Ok(SetSystemConnectionResponse { changed })
    };
    json POST "/stationdb/v1/explain/query-assets" explain_query_assets => |s, c| s.explain_query_assets(c.body()?);
    json POST "/stationdb/v1/explain/query-asset-utilization-history" explain_query_asset_utilization_history =>
        |s, c| s.explain_query_asset_utilization_history(c.body()?);

    json POST "/niworkorder/v1/workitems" create_work_items =>
        |s, c| s.create_work_items(c.body::<CreateWorkItemsRequest>()?.work_items);
    json GET "/niworkorder/v1/workitems/{id}" get_work_item => |s, c| s.get_work_item(&c.id());
    json POST "/niworkorder/v1/query-workitems" query_work_items => |s, c| s.query_work_items(c.body()?);
    json POST "/niworkorder/v1/update-workitems" update_work_items => |s, c| s.update_work_items(c.body()?);
    json POST "/niworkorder/v1/schedule-workitems" schedule_work_items => |s, c| s.schedule_work_items(c.body()?);
    json POST "/niworkorder/v1/delete-workitems" delete_work_items => |s, c| {
        s.delete_work_items(c.body::<DeleteWorkItemsRequest>()?.ids.into_iter().map(Into::into).collect())
    };
    json POST "/niworkorder/v1/workitems/{id}/execute" execute_work_item => |s, c| {
        let executed = c.body::<ExecuteWorkItemRequest>().and_then(|body| s.execute_work_item(&c.id(), &body.action));
        Ok(executed.unwrap_or_else(ExecuteWorkItemResponse::from))
    };
    json POST "/niworkorder/v1/workitem-templates" create_work_item_templates =>
        |s, c| s.create_work_item_templates(c.body::<CreateWorkItemTemplatesRequest>()?.work_item_templates);
    json POST "/niworkorder/v1/query-workitem-templates" query_work_item_templates =>
        |s, c| s.query_work_item_templates(c.body()?);
    json POST "/niworkorder/v1/update-workitem-templates" update_work_item_templates =>
        |s, c| s.update_work_item_templates(c.body()?);
    json POST "/niworkorder/v1/delete-workitem-templates" delete_work_item_templates => |s, c| {
        let ids = c.body::<DeleteWorkItemTemplatesRequest>()?.ids;
        s.delete_work_item_templates(ids.into_iter().map(Into::into).collect())
    };
    json POST "/stationdb/v1/explain/query-workitems" explain_query_work_items =>
        |s, c| s.explain_query_work_items(c.body()?);
    json POST "/stationdb/v1/explain/query-workitem-templates" explain_query_work_item_templates =>
        |s, c| s.explain_query_work_item_templates(c.body()?);

    json POST "/niworkorder/v1/testplans" create_test_plans =>
        |s, c| s.create_test_plans(c.body::<CreateTestPlansRequest>()?.test_plans);
    json GET "/niworkorder/v1/testplans/{id}" get_test_plan => |s, c| s.get_test_plan(&c.id());
    json POST "/niworkorder/v1/query-testplans" query_test_plans => |s, c| s.query_test_plans(c.body()?);
    json POST "/niworkorder/v1/update-testplans" update_test_plans => |s, c| s.update_test_plans(c.body()?);
    json POST "/niworkorder/v1/schedule-testplans" schedule_test_plans => |s, c| s.schedule_test_plans(c.body()?);
    json POST "/niworkorder/v1/delete-testplans" delete_test_plans => |s, c| {
        s.delete_test_plans(c.body::<DeleteTestPlansRequest>()?.ids.into_iter().map(Into::into).collect())
    };
    json POST "/niworkorder/v1/testplan-templates" create_test_plan_templates =>
        |s, c| s.create_test_plan_templates(c.body::<CreateTestPlanTemplatesRequest>()?.test_plan_templates);
    json POST "/niworkorder/v1/query-testplan-templates" query_test_plan_templates =>
        |s, c| s.query_test_plan_templates(c.body()?);
    json POST "/niworkorder/v1/delete-testplan-templates" delete_test_plan_templates => |s, c| {
        let ids = c.body::<DeleteTestPlanTemplatesRequest>()?.ids;
        s.delete_test_plan_templates(ids.into_iter().map(Into::into).collect())
    };
    json POST "/stationdb/v1/explain/query-testplans" explain_query_test_plans =>
        |s, c| s.explain_query_test_plans(c.body()?);
    json POST "/stationdb/v1/explain/query-testplan-templates" explain_query_test_plan_templates =>
        |s, c| s.explain_query_test_plan_templates(c.body()?);

    json GET "/nidataframe/v1" table_api_info => |s, _| s.table_api_info();
    json GET "/nidataframe/v1/tables" list_tables => |s, c| s.list_tables(c.query()?);
    json POST "/nidataframe/v1/tables" create_table => |s, c| s.create_table(c.body()?).map(CreateTableResponse::from);
    json POST "/nidataframe/v1/query-tables" query_tables => |s, c| s.query_tables(c.body()?);
    json GET "/nidataframe/v1/tables/{id}" get_table_metadata => |s, c| s.get_table_metadata(&c.id());
    json PATCH "/nidataframe/v1/tables/{id}" modify_table => |s, c| s.modify_table(&c.id(), c.body()?);
    json DELETE "/nidataframe/v1/tables/{id}" delete_table => |s, c| s.delete_table(&c.id());
    json POST "/nidataframe/v1/modify-tables" modify_tables => |s, c| s.modify_tables(c.body()?);
    json POST "/nidataframe/v1/delete-tables" delete_tables => |s, c| s.delete_tables(c.body::<DeleteTablesRequest>()?.ids);
    json GET "/nidataframe/v1/tables/{id}/data" get_table_data => |s, c| s.get_table_data(&c.id(), c.query()?);
    append POST "/nidataframe/v1/tables/{id}/data" append_table_data append_arrow => ARROW;
    json POST "/nidataframe/v1/tables/{id}/query-data" query_table_data => |s, c| s.query_table_data(&c.id(), c.body()?);
    bytes POST "/nidataframe/v1/tables/{id}/export-data" export_table_data => |s, c| {
        let format = c.body::<ExportTableDataRequest>()?.response_format;
        let table = s.get_table_metadata(&c.id())?;
        Ok(Download::of_export(format, table.name.as_deref().unwrap_or_default()))
    }, |s, c, target| s.export_table_data(&c.id(), c.body()?, target, &c.control);
    json POST "/nidataframe/v1/tables/{id}/query-decimated-data" query_decimated_data =>
        |s, c| s.query_decimated_data(&c.id(), c.body()?);
    stream POST "/stationdb/v1/import-csv" import_csv => |s, c, body| s.import_csv(c.query()?, body, &c.control);
    stream POST "/stationdb/v1/import-parquet" import_parquet => |s, c, body| {
        // Parquet is read from its end, so all of it has to be here first.
        let mut file = Vec::new();
        io::copy(body, &mut file)?;
        s.import_parquet(c.query()?, Box::new(Cursor::new(file)), &c.control)
    };
    json POST "/stationdb/v1/explain/query-tables" explain_query_tables => |s, c| s.explain_query_tables(c.body()?);
    json POST "/stationdb/v1/explain/tables/{id}/query-data" explain_query_table_data =>
        |s, c| s.explain_query_table_data(&c.id(), c.body()?);

    json GET "/nifile/v1" file_api_info => |s, _| s.file_api_info();
    json GET "/nifile/v1/service-groups/Default/files" get_files => |s, c| s.get_files(c.query()?);
    json POST "/nifile/v1/service-groups/Default/query-files" query_files => |s, c| s.query_files(c.query_and_body()?);
    bare POST "/nifile/v1/service-groups/Default/query-files-linq" query_files_linq => |s, c| s.query_files_linq(c.body()?);
    json POST "/nifile/v1/service-groups/Default/search-files" search_files => |s, c| s.search_files(c.body()?);
    file POST "/nifile/v1/service-groups/Default/upload-files" upload_file write_file commit_file => ();
    bytes GET "/nifile/v1/service-groups/Default/files/{id}/data" download_file => |s, c| {
        let page = s.get_files(GetFilesRequest::new().ids([c.part(0)]))?;
        Ok(page.available_files.first().map(Download::of_file).unwrap_or_default())
    }, |s, c, target| s.download_file(&c.id(), target, &c.control);
    json POST "/nifile/v1/service-groups/Default/files/{id}/update-metadata" update_metadata =>
        |s, c| s.update_metadata(&c.id(), c.body()?);
    json DELETE "/nifile/v1/service-groups/Default/files/{id}" delete_file => |s, c| s.delete_file(&c.id());
    json POST "/nifile/v1/service-groups/Default/delete-files" delete_files =>
        |s, c| s.delete_files(c.body::<DeleteFilesRequest>()?.ids);
    json POST "/nifile/v1/service-groups/Default/upload-sessions/start" start_upload_session =>
        |s, c| s.start_upload_session(c.body::<StartUploadSessionRequest>()?.workspace);
    stream POST "/nifile/v1/service-groups/Default/upload-sessions/{id}/chunks/{index}" append_to_upload_session =>
        |s, c, body| {
            let index = c.part(1).parse().map_err(|_| Error::invalid("the chunk index is no number").at_member("index"))?;
            let close = c.query::<AppendToUploadSessionQuery>()?.close;
            s.append_to_upload_session(&c.id(), index, body, close, &c.control)
        };
    json POST "/nifile/v1/service-groups/Default/upload-sessions/{id}/finish" finish_upload_session => |s, c| {
        let end: FinishUploadSessionRequest = c.body()?;
        s.finish_upload_session(&c.id(), &end.name, end.properties).map(UploadFileResponse::from)
    };
    json GET "/nifile/v1/service-groups/Default/upload-sessions" query_upload_sessions => |s, _| s.query_upload_sessions();
    json DELETE "/nifile/v1/service-groups/Default/upload-sessions/{id}" cancel_upload_session =>
        |s, c| s.cancel_upload_session(&c.id());
    json POST "/stationdb/v1/explain/query-files-linq" explain_query_files_linq =>
        |s, c| s.explain_query_files_linq(c.body()?);

    json POST "/nifeed/v1/feeds" create_feed => |s, c| s.create_feed(c.body()?).map(Created);
    json GET "/nifeed/v1/feeds" query_feeds => |s, c| s.query_feeds(c.query()?);
    json GET "/nifeed/v1/feeds/{id}" get_feed => |s, c| s.get_feed(&c.id());
    json PATCH "/nifeed/v1/feeds/{id}" update_feed => |s, c| s.update_feed(&c.id(), c.body()?);
    json DELETE "/nifeed/v1/feeds/{id}" delete_feed => |s, c| s.delete_feed(&c.id());
    package POST "/nifeed/v1/feeds/{id}/packages" upload_package_content write_package commit_package => ();
    json GET "/nifeed/v1/feeds/{id}/packages" query_packages => |s, c| s.query_packages(&c.id());
    json GET "/nifeed/v1/packages/{id}" get_package => |s, c| s.get_package(&c.id());
    json DELETE "/nifeed/v1/packages/{id}" delete_package => |s, c| s.delete_package(&c.id());
    json POST "/nifeed/v1/delete-packages" delete_packages =>
        |s, c| s.delete_packages(c.body::<DeletePackagesRequest>()?.package_ids);
    bytes GET "/nifeed/v1/packages/{id}/data" download_package =>
        |s, c| s.get_package(&c.id()).map(|package| Download::of_package(&package)),
        |s, c, target| s.download_package(&c.id(), target, &c.control);
    bytes GET "/nifeed/v1/feeds/{id}/files/{name}" download_package_file =>
        |_, c| Ok(Download::of_package(&Package { file_name: c.part(1).to_owned(), ..Package::default() })),
        |s, c, target| s.download_package_file(&c.id(), c.part(1), target, &c.control);
    bytes GET "/nifeed/v1/feeds/{id}/files/Packages" packages_index => |_, _| Ok(Download::of_index(false)),
        |s, c, target| Ok(io::copy(&mut s.packages_index(&c.id())?.as_bytes(), target)?);
    bytes GET "/nifeed/v1/feeds/{id}/files/Packages.gz" packages_index_gz => |_, _| Ok(Download::of_index(true)),
        |s, c, target| Ok(io::copy(&mut s.packages_index_gz(&c.id())?.as_slice(), target)?);

    json POST "/stationdb/v1/search" search => |s, c| s.search(c.body()?);
}

type Json<T> = fn(&Session, &Call) -> Result<T>;
type Streamed<T> = fn(&Session, &Call, &mut dyn Read) -> Result<T>;
type Written = fn(&Session, &Call, &mut (dyn Write + Send)) -> Result<u64>;

/// JSON in both directions.
async fn json<T: Answer + Send + 'static>(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    work: Json<T>,
) -> Response {
    respond(whole(app, path, request, work).await)
}

/// As `json`, with the error record itself as the body of an error.
async fn bare<T: Answer + Send + 'static>(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    work: Json<T>,
) -> Response {
    match whole(app, path, request, work).await {
        Err(error) => write(error.status(), &error.api_error()),
        answer => respond(answer),
    }
}

/// A body that is read while it arrives.
async fn stream<T: Answer + Send + 'static>(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    work: Streamed<T>,
) -> Response {
    respond(upload(app, path, request, work).await)
}

/// An answer that is written while it is made.
async fn bytes(app: Arc<App>, path: RawPathParams, request: Request, head: Json<Download>, work: Written) -> Response {
    download(app, path, request, head, work).await.unwrap_or_else(|error| failure(&error))
}

/// Rows as an Arrow stream or as JSON.
async fn append(app: Arc<App>, path: RawPathParams, request: Request, arrow: &str) -> Response {
    if has_type(&request, arrow) {
        let work: Streamed<()> = |s, c, body| s.append_arrow(&c.id(), body, c.query::<AppendArrowQuery>()?.end_of_data);
        return stream(app, path, request, work).await;
    }
    json(app, path, request, |s, c| s.append_table_data(&c.id(), c.body()?)).await
}

/// A form whose parts come in any order: the content is written when it comes, and named when all is there.
async fn file(app: Arc<App>, path: RawPathParams, request: Request, _: ()) -> Response {
    let (call, _cancel) = Call::new(&app, &path, &request);
    let work = async {
        let mut upload: UploadFileRequest = call.query()?;
        let mut parts = form(request).await?;
        let mut content = None;
        while let Some(part) = parts.next_field().await.map_err(bad_form)? {
            match part.name().unwrap_or_default() {
                "file" => {
                    upload.name = part.file_name().map(str::to_owned);
                    let (session, control) = (call.session.clone(), call.control.clone());
                    content = Some(reading(part, move |body| copied(body, session.write_file(&control)?)).await?);
                }
                "metadata" => upload.metadata = from_json(&part.bytes().await.map_err(bad_form)?)?,
                "id" => upload.id = Some(part.text().await.map_err(bad_form)?),
                _ => {}
            }
        }
        let content = content.ok_or_else(|| Error::invalid("the form has no part `file`").at_member("file"))?;
        blocking(move || call.session.commit_file(content, upload)).await.map(UploadFileResponse::from)
    };
    respond(work.await)
}

/// A form with a package as its first file.
async fn package(app: Arc<App>, path: RawPathParams, request: Request, _: ()) -> Response {
    let (call, _cancel) = Call::new(&app, &path, &request);
    let work = async {
        let overwrite = call.query::<UploadPackageQuery>()?.overwrite;
        let mut parts = form(request).await?;
        let mut content = None;
        while let Some(part) = parts.next_field().await.map_err(bad_form)? {
            let (name, session, control) =
                (part.file_name().map(str::to_owned), call.session.clone(), call.control.clone());
            if content.is_none() {
                let write = move |body: &mut dyn Read| copied(body, session.write_package(&control)?);
                content = Some((name, reading(part, write).await?));
            }
        }
        let (name, content) = content.ok_or_else(|| Error::invalid("the form has no part with a package"))?;
        let commit =
            move || call.session.commit_package(&call.id(), content, name.as_deref(), overwrite, &call.control);
        blocking(commit).await
    };
    respond(work.await)
}

fn copied(body: &mut dyn Read, mut content: ContentWriter) -> Result<ContentWriter> {
    io::copy(body, &mut content)?;
    Ok(content)
}
