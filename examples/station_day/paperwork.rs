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
use stationdb::lab::{ManualExecution, ScheduleDefinition};
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
use stationdb::{ApiError, Patch, Session};

use crate::machine::Machine;
use crate::measure::{COPY, LOOP, SYNC, TICK};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Builds properties from pairs.
pub fn properties<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Converts properties to those of a product request, in which each has a value.
fn given(properties: BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    properties.into_iter().map(|(key, value)| (key, Some(value))).collect()
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
    let found = session.query_assets(QueryAssetsRequest {
        filter: Some(format!("SerialNumber = {}", json!(machine.serial))),
        take: Some(1),
        ..Default::default()
    })?;
    if let Some(asset) = found.assets.unwrap_or_default().into_iter().next() {
        return Ok((asset, false));
    }
    let made = session.create_assets(vec![CreateAssetRequest {
        name: Some(format!("Workbench {}", machine.host)),
        model_name: Some(machine.model.clone()),
        vendor_name: Some(machine.vendor.clone()),
        serial_number: Some(machine.serial.clone()),
        asset_type: Some(AssetType::DeviceUnderTest),
        location: Some(AssetLocationForCreate {
            minion_id: Some(machine.host.clone()),
            state: Some(AssetPresence { asset_presence: Some(AssetPresenceStatus::Present) }),
            ..Default::default()
        }),
        part_number: Some(machine.part_number()),
        supports_self_test: Some(true),
        keywords: Some(vec!["workbench".to_owned(), "self-test".to_owned()]),
        properties: Some(properties([
            ("processor", &machine.processor),
            ("system", &machine.system),
        ])),
        ..Default::default()
    }])?;
    Ok((first(made.assets.unwrap_or_default(), made.error)?, true))
}

/// Returns the product of this machine, and creates it if the store does not have it.
pub fn describe_product(session: &Session, machine: &Machine) -> Answer<(Product, bool)> {
    let found = session.query_products(QueryProductsRequest {
        filter: Some("partNumber == @0".to_owned()),
        substitutions: Some(vec![json!(machine.part_number())]),
        ..Default::default()
    })?;
    if let Some(product) = found.products.into_iter().next() {
        return Ok((product, false));
    }
    let made = session.create_products(vec![CreateProductRequest {
        part_number: machine.part_number(),
        name: Some(machine.model.clone()),
        family: Some("computer".to_owned()),
        keywords: Some(vec!["workbench".to_owned(), "self-test".to_owned()]),
        properties: Some(given(properties([
            ("processor", &machine.processor),
            ("threads", &machine.thread_count.to_string()),
            ("system", &machine.system),
        ]))),
        ..Default::default()
    }])?;
    Ok((first(made.products, made.error)?, true))
}

/// Returns the limits of the product, and creates them with a new product.
pub fn specify(session: &Session, product: &Product) -> Answer<Vec<Specification>> {
    let product_id = product.id.as_deref().unwrap_or_default().to_owned();
    let query = || QuerySpecificationsRequest {
        product_ids: vec![product_id.clone()],
        ..Default::default()
    };
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
        CreateSpecificationRequest {
            product_id: product_id.clone(),
            spec_id: spec_id.to_owned(),
            r#type: Some(SpecificationType::Parametric),
            name: Some(name.to_owned()),
            category: Some("Self-test".to_owned()),
            unit: Some(unit.to_owned()),
            limit: Some(SpecificationLimit {
                min: min.map(Into::into),
                typical: None,
                max: max.map(Into::into),
            }),
            properties: Some(properties([("column", column)])),
            ..Default::default()
        }
    };
    let specs = vec![
        spec("LOOP-P99", "Loop time, 99th percentile", LOOP, "ns", None, Some(20_000.0)),
        spec("TIMER", "Timer granularity, median", TICK, "ns", None, Some(1_000.0)),
        spec("MEMORY", "Memory copy bandwidth, median", COPY, "GB/s", Some(0.2), None),
        spec("DISK", "Sync latency of the store's disk, median", SYNC, "us", None, Some(100_000.0)),
    ];
    let made = session.create_specs(CreateSpecificationsRequest { specs: Some(specs) })?;
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
    let found = session.query_work_item_templates(QueryWorkItemTemplatesRequest {
        filter: Some("name == @0".to_owned()),
        substitutions: Some(vec![json!("Workbench self-test")]),
        ..Default::default()
    })?;
    let template = match found.work_item_templates.into_iter().next() {
        Some(template) => template,
        None => {
            let made = session.create_work_item_templates(vec![CreateWorkItemTemplateRequest {
                name: Some("Workbench self-test".to_owned()),
                template_group: Some("Self-tests".to_owned()),
                r#type: Some("self-test".to_owned()),
                product_families: Some(vec!["computer".to_owned()]),
                description: Some(
                    "Times a loop, the timer, the memory and the disk of a workbench".to_owned(),
                ),
                test_program: Some(program.to_owned()),
                execution_actions: Some(vec![ManualExecution::new("START").into()]),
                ..Default::default()
            }])?;
            first(made.created_work_item_templates, made.error)?
        }
    };
    let made = session.create_work_items(vec![CreateWorkItemRequest {
        name: Some(format!("Self-test of {}", machine.host)),
        template_id: template.id.map(String::from),
        part_number: Some(machine.part_number()),
        properties: Some(properties([("assetId", asset.id.as_deref().unwrap_or_default())])),
        ..Default::default()
    }])?;
    let item = first(made.created_work_items, made.error)?;
    let id = item.id.as_deref().unwrap_or_default().to_owned();
    let now = item.created_at;
    let planned = session.schedule_work_items(ScheduleWorkItemsRequest {
        work_items: vec![ScheduleWorkItemRequest {
            id: Some(id.clone()),
            schedule: Patch::Value(
                ScheduleDefinition {
                    planned_start_date_time: now.map(Into::into),
                    ..Default::default()
                }
                .into(),
            ),
            ..Default::default()
        }],
        ..Default::default()
    })?;
    first(planned.scheduled_work_items.unwrap_or_default(), planned.error)?;
    let started = session.execute_work_item(&id.as_str().into(), "START")?;
    match started.error {
        Some(error) => Err(error.message.unwrap_or_default().into()),
        None => Ok(id),
    }
}

/// Starts the utilization of the machine.
pub fn begin_use(session: &Session, machine: &Machine, use_id: &str) -> Answer<()> {
    let started = session.start_utilization(StartUtilizationRequest {
        utilization_identifier: Some(use_id.to_owned()),
        minion_id: Some(machine.host.clone()),
        asset_identifications: vec![AssetIdentification {
            model_name: Some(machine.model.clone()),
            vendor_name: Some(machine.vendor.clone()),
            serial_number: Some(machine.serial.clone()),
            ..Default::default()
        }],
        utilization_category: Some("Test".to_owned()),
        task_name: Some("Self-test".to_owned()),
        user_name: Some(session.identity().user_id().to_owned()),
        ..Default::default()
    })?;
    match started.error {
        Some(error) => Err(error.message.unwrap_or_default().into()),
        None => Ok(()),
    }
}

/// The update that closes a work item: its state and its references.
pub fn closing(
    id: &str,
    table_ids: &[String],
    report_id: &str,
    passed: bool,
) -> UpdateWorkItemsRequest {
    UpdateWorkItemsRequest {
        work_items: vec![UpdateWorkItemRequest {
            id: Some(id.to_owned()),
            state: Patch::Value("CLOSED".to_owned()),
            properties: Patch::Value(properties([
                ("tableIds", &table_ids.join(",")),
                ("reportId", report_id),
                ("result", if passed { "passed" } else { "failed" }),
            ])),
            ..Default::default()
        }],
        ..Default::default()
    }
}
