//! The filterable properties of every service as the services list them, and their places in the
//! wire form. The declarations are compared with this list; `docs/reference/fields.md` is generated
//! from the declarations.

use crate::filter::Schema;
use crate::value::{FieldDecl, FieldType, Ops};

pub(crate) type Members = &'static [(&'static str, &'static [&'static str])];

pub(crate) const STATES: Members = &[
    ("NEW", &[]),
    ("DEFINED", &[]),
    ("REVIEWED", &[]),
    ("SCHEDULED", &[]),
    ("IN_PROGRESS", &[]),
    ("PENDING_APPROVAL", &[]),
    ("CLOSED", &[]),
    ("CANCELED", &[]),
];
pub(crate) const SPEC_TYPES: Members = &[("PARAMETRIC", &[]), ("FUNCTIONAL", &[])];
const ASSET_TYPES: Members =
    &[("GENERIC", &[]), ("DEVICE_UNDER_TEST", &[]), ("FIXTURE", &[]), ("SYSTEM", &[])];
const BUS_TYPES: Members = &[
    ("BUILT_IN_SYSTEM", &[]),
    ("PCI_PXI", &[]),
    ("USB", &[]),
    ("GPIB", &[]),
    ("VXI", &[]),
    ("SERIAL", &[]),
    ("TCP_IP", &[]),
    ("CRIO", &[]),
    ("SCXI", &[]),
    ("CDAQ", &[]),
    ("SWITCH_BLOCK", &[]),
    ("SCC", &[]),
    ("FIRE_WIRE", &[]),
    ("ACCESSORY", &[]),
    ("CAN", &[]),
    ("SWITCH_BLOCK_DEVICE", &[]),
    ("SLSC", &[]),
];
const CALIBRATION: Members = &[
    ("OK", &[]),
    ("APPROACHING_RECOMMENDED_DUE_DATE", &[]),
    ("PAST_RECOMMENDED_DUE_DATE", &[]),
    ("OUT_FOR_CALIBRATION", &[]),
];
const CONNECTIONS: Members = &[
    ("DISCONNECTED", &["APPROVED", "UNSUPPORTED", "ACTIVATED"]),
    (
        "CONNECTED",
        &["CONNECTED_UPDATE_PENDING", "CONNECTED_UPDATE_SUCCESSFUL", "CONNECTED_UPDATE_FAILED"],
    ),
];
const PRESENCES: Members =
    &[("INITIALIZING", &[]), ("UNKNOWN", &[]), ("NOT_PRESENT", &[]), ("PRESENT", &[])];

const SYSTEM_SELECTION: &[FieldDecl] = &[
    FieldDecl::new("id", FieldType::String),
    FieldDecl::new("targetLocationId", FieldType::String),
];
pub(crate) const SELECTION: &[FieldDecl] = &[
    FieldDecl::new("id", FieldType::String),
    FieldDecl::new("targetLocationId", FieldType::String),
    FieldDecl::new("targetSystemId", FieldType::String),
    FieldDecl::new("targetParentId", FieldType::String),
];
const COLUMN: &[FieldDecl] = &[FieldDecl::new("name", FieldType::String)];
const LOCATION: &[FieldDecl] = &[
    FieldDecl::new("MinionId", FieldType::String),
    FieldDecl::new("PhysicalLocation", FieldType::String),
    FieldDecl::new("Parent", FieldType::String),
    FieldDecl::new("SlotNumber", FieldType::Int),
];
const CONDITION: &[FieldDecl] = &[
    FieldDecl::new("name", FieldType::String),
    FieldDecl::new("unit", FieldType::String),
    FieldDecl::new("conditionType", FieldType::Enum(&[("NUMERIC", &[]), ("STRING", &[])])),
];
const DISCOVERIES: Members = &[("MANUAL", &[]), ("AUTOMATIC", &[])];

/// A field, and the path of its value in the wire form if that differs from its own.
type Entry = (&'static str, FieldType, &'static str);

const T: FieldType = FieldType::String;
const D: FieldType = FieldType::Time;
const N: FieldType = FieldType::Int;
const B: FieldType = FieldType::Bool;
const L: FieldType = FieldType::Strings;
const M: FieldType = FieldType::Map;
const W: FieldType = FieldType::Within;
const R: FieldType = FieldType::Reference;
const O: FieldType = FieldType::Object;

const TABLE: &[Entry] = &[
    ("id", T, ""),
    ("name", T, ""),
    ("workspace", T, ""),
    ("workspaceName", FieldType::WorkspaceName, "workspace"),
    ("testResultId", T, ""),
    ("createdAt", D, ""),
    ("metadataModifiedAt", D, ""),
    ("rowsModifiedAt", D, ""),
    ("createdWithin", W, "createdAt"),
    ("metadataModifiedWithin", W, "metadataModifiedAt"),
    ("rowsModifiedWithin", W, "rowsModifiedAt"),
    ("rowCount", N, ""),
    ("supportsAppend", B, ""),
    ("properties", M, ""),
    ("columns", FieldType::Rows(COLUMN), ""),
];

const FILE: &[Entry] = &[
    ("created", D, ""),
    ("updated", D, "lastUpdated"),
    ("name", T, "properties.Name"),
    ("extension", T, ""),
    ("id", T, ""),
    ("userId", T, ""),
    ("workspace", T, ""),
    ("size", N, "size64"),
    ("properties", M, ""),
];

const WORK_ITEM: &[Entry] = &[
    ("id", FieldType::DecimalId, ""),
    ("name", T, ""),
    ("type", T, ""),
    ("state", FieldType::Enum(STATES), ""),
    ("substate", T, ""),
    ("description", T, ""),
    ("parentId", R, ""),
    ("templateId", R, ""),
    ("assignedTo", T, ""),
    ("requestedBy", T, ""),
    ("testProgram", T, ""),
    ("partNumber", T, ""),
    ("productFamily", T, ""),
    ("workspace", T, ""),
    ("workflowId", T, ""),
    ("createdBy", T, ""),
    ("updatedBy", T, ""),
    ("timeline", O, ""),
    ("schedule", O, ""),
    ("resources", O, ""),
    ("dashboard", O, ""),
    ("timeline.earliestStartDateTime", D, ""),
    ("timeline.dueDateTime", D, ""),
    ("schedule.plannedStartDateTime", D, ""),
    ("schedule.plannedEndDateTime", D, ""),
    ("createdAt", D, ""),
    ("updatedAt", D, ""),
    ("timeline.estimatedDurationInSeconds", N, ""),
    ("schedule.plannedDurationInSeconds", N, ""),
    ("resources.systems.filter", T, ""),
    ("resources.assets.filter", T, ""),
    ("resources.duts.filter", T, ""),
    ("resources.fixtures.filter", T, ""),
    ("resources.systems.selections", FieldType::Rows(SYSTEM_SELECTION), ""),
    ("resources.assets.selections", FieldType::Rows(SELECTION), ""),
    ("resources.duts.selections", FieldType::Rows(SELECTION), ""),
    ("resources.fixtures.selections", FieldType::Rows(SELECTION), ""),
    ("fileIdsFromTemplate", L, ""),
    ("properties", M, ""),
    ("dashboard.id", T, ""),
];

const WORK_ITEM_TEMPLATE: &[Entry] = &[
    ("id", FieldType::DecimalId, ""),
    ("name", T, ""),
    ("type", T, ""),
    ("summary", T, ""),
    ("description", T, ""),
    ("templateGroup", T, ""),
    ("testProgram", T, ""),
    ("workspace", T, ""),
    ("workflowId", T, ""),
    ("createdBy", T, ""),
    ("updatedBy", T, ""),
    ("resources.systems.filter", T, ""),
    ("resources.assets.filter", T, ""),
    ("resources.duts.filter", T, ""),
    ("resources.fixtures.filter", T, ""),
    ("createdAt", D, ""),
    ("updatedAt", D, ""),
    ("productFamilies", L, ""),
    ("partNumbers", L, ""),
    ("fileIds", L, ""),
    ("properties", M, ""),
];

const TEST_PLAN: &[Entry] = &[
    ("id", FieldType::DecimalId, ""),
    ("name", T, ""),
    ("description", T, ""),
    ("assignedTo", T, ""),
    ("workOrderId", R, ""),
    ("partNumber", T, ""),
    ("workOrderName", T, ""),
    ("dutId", T, ""),
    ("dutSerialNumber", T, ""),
    ("testProgram", T, ""),
    ("systemFilter", T, ""),
    ("dutFilter", T, ""),
    ("systemId", T, ""),
    ("workspace", T, ""),
    ("createdBy", T, ""),
    ("updatedBy", T, ""),
    ("workflowId", T, ""),
    ("templateId", R, ""),
    ("substate", T, ""),
    ("state", FieldType::Enum(STATES), ""),
    ("plannedStartDateTime", D, ""),
    ("estimatedEndDateTime", D, ""),
    ("createdAt", D, ""),
    ("updatedAt", D, ""),
    ("estimatedDurationInSeconds", N, ""),
    ("fixtureIds", L, ""),
    ("fileIdsFromTemplate", L, ""),
    ("properties", M, ""),
    ("dashboard", O, ""),
    ("dashboard.id", T, ""),
];

const TEST_PLAN_TEMPLATE: &[Entry] = &[
    ("id", FieldType::DecimalId, ""),
    ("name", T, ""),
    ("summary", T, ""),
    ("description", T, ""),
    ("templateGroup", T, ""),
    ("testProgram", T, ""),
    ("systemFilter", T, ""),
    ("dutFilter", T, ""),
    ("workspace", T, ""),
    ("createdBy", T, ""),
    ("updatedBy", T, ""),
    ("workflowId", T, ""),
    ("createdAt", D, ""),
    ("updatedAt", D, ""),
    ("productFamilies", L, ""),
    ("partNumbers", L, ""),
    ("fileIds", L, ""),
    ("properties", M, ""),
];

const ASSET: &[Entry] = &[
    ("AssetIdentifier", T, "id"),
    ("AssetName", T, "name"),
    ("SerialNumber", T, "serialNumber"),
    ("ModelName", T, "modelName"),
    ("VendorName", T, "vendorName"),
    ("PartNumber", T, "partNumber"),
    ("FirmwareVersion", T, "firmwareVersion"),
    ("HardwareVersion", T, "hardwareVersion"),
    ("Location.MinionId", T, "location.minionId"),
    ("ExternalCalibration.Comments", T, "externalCalibration.comments"),
    ("Workspace", T, "workspace"),
    ("ScanCode", T, "scanCode"),
    ("Location.PhysicalLocation", T, "location.physicalLocation"),
    ("Location.Parent", T, "location.parent"),
    ("VisaResourceName", T, "visaResourceName"),
    ("ModelNumber", N, "modelNumber"),
    ("VendorNumber", N, "vendorNumber"),
    ("CustomCalibrationInterval", N, "customCalibrationInterval"),
    ("Location.SlotNumber", N, "location.slotNumber"),
    ("ExternalCalibration.RecommendedInterval", N, "externalCalibration.recommendedInterval"),
    ("AssetType", FieldType::Enum(ASSET_TYPES), "assetType"),
    ("BusType", FieldType::Enum(BUS_TYPES), "busType"),
    ("CalibrationStatus", FieldType::Enum(CALIBRATION), "calibrationStatus"),
    (
        "Location.AssetState.SystemConnection",
        FieldType::Enum(CONNECTIONS),
        "location.state.systemConnection",
    ),
    (
        "Location.AssetState.AssetPresence",
        FieldType::Enum(PRESENCES),
        "location.state.assetPresence",
    ),
    ("isNIAsset", B, "isNIAsset"),
    ("IsSystemController", B, "isSystemController"),
    ("SupportsSelfCalibration", B, "supportsSelfCalibration"),
    ("SupportsExternalCalibration", B, "supportsExternalCalibration"),
    ("ExternalCalibration.IsLimited", B, "externalCalibration.isLimited"),
    ("SelfCalibration.CalibrationDate", D, "selfCalibration.date"),
    ("ExternalCalibration.CalibrationDate", D, "externalCalibration.date"),
    ("ExternalCalibration.NextRecommendedDate", D, "externalCalibration.filteredDueDate"),
    ("Keywords", L, "keywords"),
    ("Properties", M, "properties"),
    ("Locations", FieldType::Rows(LOCATION), "location"),
    ("DiscoveryType", FieldType::Enum(DISCOVERIES), "discoveryType"),
    ("OutForCalibration", B, "outForCalibration"),
    ("SupportsSelfTest", B, "supportsSelfTest"),
    ("SupportsReset", B, "supportsReset"),
    ("LastUpdatedTimestamp", D, "lastUpdatedTimestamp"),
    ("LastUpdatedWithin", W, "lastUpdatedTimestamp"),
    ("FileIds", L, "fileIds"),
    ("Location.ResourceUri", T, "location.resourceUri"),
    ("SelfCalibration.IsLimited", B, "selfCalibration.isLimited"),
    ("ExternalCalibration.ResolvedDueDate", D, "externalCalibration.resolvedDueDate"),
];

const UTILIZATION: &[Entry] = &[
    ("MinionId", T, "minionId"),
    ("Category", T, "category"),
    ("UserName", T, "userName"),
    ("TaskName", T, "taskName"),
    ("StartTimestamp", D, "startTimestamp"),
    ("EndTimestamp", D, "endTimestamp"),
    ("UtilizationIdentifier", T, "utilizationIdentifier"),
    ("AssetIdentifier", T, "assetIdentifier"),
    ("HeartbeatTimestamp", D, "heartbeatTimestamp"),
    ("Workspace", T, "workspace"),
];

const PRODUCT: &[Entry] = &[
    ("id", T, ""),
    ("partNumber", T, ""),
    ("name", T, ""),
    ("family", T, ""),
    ("updatedAt", D, ""),
    ("keywords", L, ""),
    ("fileIds", L, ""),
    ("properties", M, ""),
    ("workspace", T, ""),
    ("updatedWithin", W, "updatedAt"),
];

const SPECIFICATION: &[Entry] = &[
    ("id", T, ""),
    ("specId", T, ""),
    ("name", T, ""),
    ("category", T, ""),
    ("block", T, ""),
    ("symbol", T, ""),
    ("unit", T, ""),
    ("workspace", T, ""),
    ("createdBy", T, ""),
    ("updatedBy", T, ""),
    ("type", FieldType::Enum(SPEC_TYPES), ""),
    ("createdAt", D, ""),
    ("updatedAt", D, ""),
    ("version", N, ""),
    ("limit.min", FieldType::Double, ""),
    ("limit.typical", FieldType::Double, ""),
    ("limit.max", FieldType::Double, ""),
    ("keywords", L, ""),
    ("properties", M, ""),
    ("conditions", FieldType::Rows(CONDITION), ""),
];

/// A kind for rules that no property of a service covers: doubles and nested lists.
const PROBE: &[Entry] = &[
    ("id", T, ""),
    ("number", FieldType::Double, ""),
    ("other", FieldType::Double, ""),
    ("count", N, ""),
    ("limit", N, ""),
    ("flag", B, ""),
    ("flag2", B, ""),
    ("text", T, ""),
    ("text2", T, ""),
    ("at", D, ""),
    ("until", D, ""),
    ("list", L, ""),
    ("map", M, ""),
    ("state", FieldType::Enum(STATES), ""),
    ("kind", FieldType::Enum(SPEC_TYPES), ""),
    ("rows", FieldType::Rows(SELECTION), ""),
    ("createdWithin", W, "at"),
];

fn entries(kind: &str) -> &'static [Entry] {
    match kind {
        "table" => TABLE,
        "file" => FILE,
        "workItem" => WORK_ITEM,
        "workItemTemplate" => WORK_ITEM_TEMPLATE,
        "testPlan" => TEST_PLAN,
        "testPlanTemplate" => TEST_PLAN_TEMPLATE,
        "asset" => ASSET,
        "utilization" => UTILIZATION,
        "product" => PRODUCT,
        "specification" => SPECIFICATION,
        "probe" => PROBE,
        _ => panic!("no kind {kind:?}"),
    }
}

/// The fields of a kind; the same for every call.
pub(crate) fn fields(kind: &str) -> Vec<FieldDecl> {
    let equality_only = matches!(
        kind,
        "workItem" | "workItemTemplate" | "testPlan" | "testPlanTemplate" | "specification"
    );
    let declare = |(path, ty, _): &Entry| {
        let decl = FieldDecl::new(path, *ty);
        let decl = match (kind, *path) {
            ("asset", "AssetIdentifier") => decl.alias(&["Id"]),
            ("asset", "AssetName") => decl.alias(&["Name"]),
            ("asset", "isNIAsset") => decl.alias(&["IsVendorAsset"]),
            _ => decl,
        };
        if equality_only && *path == "id" { decl.ops(Ops::Equality) } else { decl }
    };
    entries(kind).iter().map(declare).collect()
}

/// The places of the values of [`fields`] in the wire form.
pub(crate) fn sources(kind: &str) -> Vec<&'static str> {
    entries(kind)
        .iter()
        .map(|(path, _, source)| if source.is_empty() { *path } else { *source })
        .collect()
}

pub(crate) fn schema<'s>(kind: &str, fields: &'s [FieldDecl]) -> Schema<'s> {
    Schema {
        fields,
        columns: None,
        renames: &[],
        requires: if kind == "table" { &[("columns", "testResultId")] } else { &[] },
        accept_substitutions: !matches!(kind, "utilization" | "file"),
        accept_brackets: matches!(kind, "asset" | "utilization"),
        search: false,
    }
}
