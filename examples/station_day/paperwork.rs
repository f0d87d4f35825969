//! The records of the station besides rows: the machine as an asset, its product and
//! specifications, and the work item.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::json;
use stationdb::assets::AssetIdentification;
use stationdb::assets::{
    Asset, AssetLocationForCreate, AssetPresence, AssetPresenceStatus, AssetType,
    CreateAssetRequest, QueryAssetsRequest, StartUtilizationRequest,
};
use stationdb::lab::{ManualExecution, ScheduleDefinition, SchedulePatch};
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, Product, QueryProductsRequest};
use stationdb::specifications::{
    CreateSpecificationRequest, CreateSpecificationsRequest, QuerySpecificationsRequest,
    Specification, SpecificationLimit, SpecificationType,
};
use stationdb::work_items::{
    CreateWorkItemRequest, CreateWorkItemTemplateRequest, QueryWorkItemTemplatesRequest,
    ScheduleWorkItemRequest, ScheduleWorkItemsRequest, UpdateWorkItemRequest,
    UpdateWorkItemsRequest,
};
use stationdb::{ApiError, Session};

use crate::machine::Machine;
use crate::measure::{COPY, LOOP, SYNC, TICK};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Builds properties from pairs.
pub fn properties<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns the first result of a batch call, or its error.
fn first<T>(made: Vec<T>, error: Option<ApiError>) -> Answer<T> {
    let why = error
        .and_then(|error| error.inner_errors.into_iter().next().and_then(|inner| inner.message));
    made.into_iter()
        .next()
        .ok_or_else(|| why.unwrap_or_else(|| "nothing was made".to_owned()).into())
}

/// Returns the asset of this machine, and registers it if the store does not have it.
pub fn register_asset(session: &Session, machine: &Machine) -> Answer<(Asset, bool)> {
    let found = session.query_assets(
        QueryAssetsRequest::new()
            .filter(format!("SerialNumber = {}", json!(machine.serial)))
            .take(1),
    )?;
    if let Some(asset) = found.assets.unwrap_or_default().into_iter().next() {
        return Ok((asset, false));
    }
    let made = session.create_assets(vec![
        CreateAssetRequest::new()
            .name(format!("Workbench {}", machine.host))
            .model_name(machine.model.clone())
            .vendor_name(machine.vendor.clone())
            .serial_number(machine.serial.clone())
            .asset_type(AssetType::DeviceUnderTest)
            .location(
                AssetLocationForCreate::new()
                    .minion_id(machine.host.clone())
                    .state(AssetPresence::new().asset_presence(AssetPresenceStatus::Present)),
            )
            .part_number(machine.part_number())
            .supports_self_test(true)
            .keywords(["workbench", "self-test"])
            .properties(properties([
                ("processor", &machine.processor),
                ("system", &machine.system),
            ])),
    ])?;
    Ok((first(made.assets.unwrap_or_default(), made.error)?, true))
}

/// Returns the product of this machine, and creates it if the store does not have it.
pub fn describe_product(session: &Session, machine: &Machine) -> Answer<(Product, bool)> {
    let found = session.query_products(
        QueryProductsRequest::new()
            .filter("partNumber == @0")
            .substitutions([json!(machine.part_number())]),
    )?;
    if let Some(product) = found.products.into_iter().next() {
        return Ok((product, false));
    }
    let made = session.create_products(vec![
        CreateProductRequest::new(machine.part_number())
            .name(machine.model.clone())
            .family("computer")
            .keywords(["workbench", "self-test"])
            .properties(properties([
                ("processor", &machine.processor),
                ("threads", &machine.thread_count.to_string()),
                ("system", &machine.system),
            ])),
    ])?;
    Ok((first(made.products, made.error)?, true))
}

/// Returns the limits of the product, and creates them with a new product.
pub fn specify(session: &Session, product: &Product) -> Answer<Vec<Specification>> {
    let product_id = product.id.as_deref().unwrap_or_default().to_owned();
    let query = || QuerySpecificationsRequest::new().product_ids([product_id.clone()]);
    let found = session.query_specs(query())?.specs.unwrap_or_default();
    if !found.is_empty() {
        return Ok(found);
    }
    let spec = |spec_id: &str,
                name: &str,
                column: &str,
                unit: &str,
                min: Option<f64>,
                max: Option<f64>| {
        CreateSpecificationRequest::new(product_id.clone(), spec_id.to_owned())
            .r#type(SpecificationType::Parametric)
            .name(name.to_owned())
            .category("Self-test")
            .unit(unit.to_owned())
            .limit(
                SpecificationLimit::new()
                    .maybe_min(min.map(Into::into))
                    .maybe_max(max.map(Into::into)),
            )
            .properties(properties([("column", column)]))
    };
    let specs = vec![
        spec("LOOP-P99", "Loop time, 99th percentile", LOOP, "ns", None, Some(20_000.0)),
        spec("TIMER", "Timer granularity, median", TICK, "ns", None, Some(1_000.0)),
        spec("MEMORY", "Memory copy bandwidth, median", COPY, "GB/s", Some(0.2), None),
        spec("DISK", "Sync latency of the store's disk, median", SYNC, "us", None, Some(100_000.0)),
    ];
    let made = session.create_specs(CreateSpecificationsRequest::new().specs(specs))?;
    if let Some(error) = made.error {
        return Err(error.message.unwrap_or_default().into());
    }
    Ok(session.query_specs(query())?.specs.unwrap_or_default())
}

/// Creates a work item from the template of this test, plans it and starts it. Returns its id.
pub fn begin_work_item(
    session: &Session,
    machine: &Machine,
    asset: &Asset,
    program: &str,
) -> Answer<String> {
    let found = session.query_work_item_templates(
        QueryWorkItemTemplatesRequest::new()
            .filter("name == @0")
            .substitutions([json!("Workbench self-test")]),
    )?;
    let template = match found.work_item_templates.into_iter().next() {
        Some(template) => template,
        None => {
            let made = session.create_work_item_templates(vec![
                CreateWorkItemTemplateRequest::new()
                    .name("Workbench self-test")
                    .template_group("Self-tests")
                    .r#type("self-test")
                    .product_families(["computer"])
                    .description(
                        "Times a loop, the timer, the memory and the disk of a workbench"
                            .to_owned(),
                    )
                    .test_program(program.to_owned())
                    .execution_actions([ManualExecution::new("START")]),
            ])?;
            first(made.created_work_item_templates, made.error)?
        }
    };
    let made = session.create_work_items(vec![{
        CreateWorkItemRequest::new()
            .name(format!("Self-test of {}", machine.host))
            .part_number(machine.part_number())
            .properties(properties([("assetId", asset.id.as_deref().unwrap_or_default())]))
            .maybe_template_id(template.id.map(String::from))
    }])?;
    let item = first(made.created_work_items, made.error)?;
    let id = item.id.as_deref().unwrap_or_default().to_owned();
    let now = item.created_at;
    let planned = session.schedule_work_items(ScheduleWorkItemsRequest::new(vec![
        ScheduleWorkItemRequest::new().id(id.clone()).schedule(SchedulePatch::from(
            ScheduleDefinition::new().maybe_planned_start_date_time(now.map(Into::into)),
        )),
    ]))?;
    first(planned.scheduled_work_items.unwrap_or_default(), planned.error)?;
    let started = session.execute_work_item(&id.as_str().into(), "START")?;
    match started.error {
        Some(error) => Err(error.message.unwrap_or_default().into()),
        None => Ok(id),
    }
}

/// Begins the test: a result that is RUNNING and belongs to the work item.
pub fn begin_test(
    session: &Session,
    machine: &Machine,
    product: &Product,
    work_item_id: &str,
    program: &str,
) -> Answer<Run> {
    let part_number = product.part_number.clone().unwrap_or_default();
    let test = Run::begin(part_number, machine.serial.clone(), program)
        .operator(session.identity().user_id())
        .host_name(machine.host.clone())
        .property("testPlanId", work_item_id)
        .start(session)?;
    Ok(test)
}

/// Starts the utilization of the machine.
pub fn begin_use(session: &Session, machine: &Machine, use_id: &str) -> Answer<()> {
    let started = session.start_utilization(
        StartUtilizationRequest::new([AssetIdentification::new()
            .model_name(machine.model.clone())
            .vendor_name(machine.vendor.clone())
            .serial_number(machine.serial.clone())])
        .utilization_identifier(use_id.to_owned())
        .minion_id(machine.host.clone())
        .utilization_category("Test")
        .task_name("Self-test")
        .user_name(session.identity().user_id().to_owned()),
    )?;
    match started.error {
        Some(error) => Err(error.message.unwrap_or_default().into()),
        None => Ok(()),
    }
}

/// The update that closes a work item: its state and its references.
pub fn closing(id: &str, table_id: &str, report_id: &str, passed: bool) -> UpdateWorkItemsRequest {
    UpdateWorkItemsRequest::new([UpdateWorkItemRequest::new()
        .id(id.to_owned())
        .state("CLOSED")
        .properties(properties([
            ("tableIds", table_id),
            ("reportId", report_id),
            ("result", if passed { "passed" } else { "failed" }),
        ]))])
}
