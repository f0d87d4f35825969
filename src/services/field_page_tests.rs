//! Generates the page `docs/reference/fields.md` from the declarations, and compares it with the
//! committed page.

use std::fmt::Write as _;
use std::path::Path;

use crate::model::resource::Resource;
use crate::model::test_plans::template::{
    TestPlanTemplate, TestPlanTemplateField, TestPlanTemplateOrderBy,
};
use crate::model::test_plans::test_plan::{TestPlan, TestPlanField, TestPlanOrderBy};
use crate::model::work_items::template::WorkItemTemplate;
use crate::model::work_items::work_item::WorkItem;
use crate::model::*;
use crate::services::results::{PATH_FIELDS, STEP_FIELDS};
use crate::value::{FieldDecl, FieldType, Ops};

fn type_name(ty: FieldType) -> String {
    match ty {
        FieldType::Bool => "Boolean".to_owned(),
        FieldType::String => "text".to_owned(),
        FieldType::DecimalId => "id, a decimal number".to_owned(),
        FieldType::Reference => "text, an id of another record".to_owned(),
        FieldType::Object => "object".to_owned(),
        FieldType::Int => "integer".to_owned(),
        FieldType::Double => "double".to_owned(),
        FieldType::Time => "date-time".to_owned(),
        FieldType::WorkspaceName => "text: the registered name, or the id".to_owned(),
        FieldType::ProductName => "text: the name of the product".to_owned(),
        FieldType::Within => "time span: reference time minus the date-time".to_owned(),
        FieldType::Enum(texts) => {
            let texts: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
            format!("one of {}", texts.join(", "))
        }
        FieldType::Strings => "list of texts".to_owned(),
        FieldType::Map => "map of texts".to_owned(),
        FieldType::Maps => "list of maps of texts".to_owned(),
        FieldType::Json => "any JSON value".to_owned(),
        FieldType::Rows(fields) => {
            let paths: Vec<&str> = fields.iter().map(|field| field.path).collect();
            format!("list of records with {}", paths.join(", "))
        }
    }
}

fn operators(decl: &FieldDecl) -> &'static str {
    match (decl.ops, decl.ty) {
        (Ops::None, _) => "none",
        (Ops::Equality, _) | (_, FieldType::Bool | FieldType::Enum(_)) => "`=` `!=` `in`",
        (_, FieldType::Object) => "`= null` `!= null`",
        (
            _,
            FieldType::String
            | FieldType::WorkspaceName
            | FieldType::ProductName
            | FieldType::Reference,
        ) => "comparisons, `in`, methods of texts",
        (_, FieldType::Strings) => "`Contains`, `Any`, `All`, `Count`, index",
        (_, FieldType::Map) => "index by key, `Any`, `All`, `ContainsKey`",
        (_, FieldType::Rows(_) | FieldType::Maps) => "`Any`, `All`, `Count`, members",
        (_, FieldType::Json) => "comparisons, `in`, methods of texts",
        _ => "comparisons, `in`",
    }
}

fn resource<R: Resource>(
    page: &mut String,
    orders: &[(&str, Vec<&str>)],
    projections: &[(&str, Vec<&str>)],
) {
    section(page, R::KIND.name, R::fields(), orders, projections);
}

fn section(
    page: &mut String,
    name: &str,
    fields: &[FieldDecl],
    orders: &[(&str, Vec<&str>)],
    projections: &[(&str, Vec<&str>)],
) {
    writeln!(page, "\n## {name}\n\n| Field | Also | Type | Operators |\n|---|---|---|---|")
        .unwrap();
    for field in fields {
        let aliases: Vec<String> = field.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let (ty, operators) = (type_name(field.ty), operators(field));
        writeln!(page, "| `{}` | {} | {ty} | {operators} |", field.path, aliases.join(", "))
            .unwrap();
    }
    for (what, lists) in [("Orders", orders), ("Projections", projections)] {
        for (name, values) in lists {
            writeln!(page, "\n{what} of {name}: {}.", values.join(", ")).unwrap();
        }
    }
}

macro_rules! texts {
    ($($name:literal = $ty:ty),*) => {
        &[$(($name, <$ty>::ALL.iter().map(|value| value.as_str()).collect())),*]
    };
}

fn page() -> String {
    let mut page = "# Fields of filters, orders and projections\n\n\
        Generated from the declarations of the resources; a test fails when this page is stale, and writes it with\n\
        `STATIONDB_WRITE_FIELDS=1`. How fields are asked for: [filters.md](filters.md).\n"
        .to_owned();
    let page = &mut page;
    resource::<Product>(
        page,
        texts!["`query_products`" = ProductOrderBy],
        texts!["`query_products`" = ProductProjection, "`query_product_values`" = ProductField],
    );
    resource::<TestResult>(
        page,
        texts!["`query_results`" = ResultOrderBy],
        texts!["`query_results`" = ResultProjection, "`query_result_values`" = ResultField],
    );
    section(
        page,
        "TestStep",
        &STEP_FIELDS,
        texts!["`query_steps`" = StepOrderBy],
        texts!["`query_steps`" = StepProjection, "`query_step_values`" = StepField],
    );
    section(
        page,
        "Path",
        &*PATH_FIELDS,
        texts!["`query_paths`" = PathOrderBy],
        texts!["`query_paths`" = PathProjection],
    );
    resource::<Specification>(
        page,
        texts!["`query_specs`" = SpecificationOrderBy],
        texts!["`query_specs`" = SpecificationProjection],
    );
    resource::<Asset>(
        page,
        texts!["`query_assets`" = AssetOrderBy],
        texts!["`query_assets`" = AssetField],
    );
    resource::<Utilization>(
        page,
        texts!["`query_asset_utilization_history`" = UtilizationOrderBy],
        &[],
    );
    resource::<WorkItem>(
        page,
        texts!["`query_work_items`" = work_items::work_item::WorkItemOrderBy],
        texts!["`query_work_items`" = work_items::work_item::WorkItemField],
    );
    resource::<WorkItemTemplate>(
        page,
        texts!["`query_work_item_templates`" = work_items::template::WorkItemTemplateOrderBy],
        texts!["`query_work_item_templates`" = work_items::template::WorkItemTemplateField],
    );
    resource::<TestPlan>(
        page,
        texts!["`query_test_plans`" = TestPlanOrderBy],
        texts!["`query_test_plans`" = TestPlanField],
    );
    resource::<TestPlanTemplate>(
        page,
        texts!["`query_test_plan_templates`" = TestPlanTemplateOrderBy],
        texts!["`query_test_plan_templates`" = TestPlanTemplateField],
    );
    resource::<tables::table::TableMetadata>(
        page,
        texts!["`list_tables` and `query_tables`" = tables::table::TableOrderBy],
        texts!["`query_tables`" = tables::table::TableProjection],
    );
    resource::<FileRecord>(
        page,
        texts![
            "`get_files`" = FileQueryOrderBy,
            "`query_files_linq` and `search_files`" = FileLinqQueryOrderBy
        ],
        &[],
    );
    resource::<workspaces::Workspace>(
        page,
        texts!["`query_workspaces`" = workspaces::WorkspaceOrderBy],
        &[],
    );
    page.clone()
}

#[test]
fn the_page_of_fields_is_what_the_declarations_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/fields.md");
    let page = page();
    if std::env::var_os("STATIONDB_WRITE_FIELDS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let differs = committed.lines().zip(page.lines()).find(|(was, is)| was != is);
    let what_to_do =
        "run this test with STATIONDB_WRITE_FIELDS=1 and commit docs/reference/fields.md";
    assert!(committed == page, "the page is stale, first difference {differs:?}; {what_to_do}");
}
