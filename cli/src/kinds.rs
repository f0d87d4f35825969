//! The kinds of records: how they are listed and found.

use stationdb::assets::{Asset, AssetUtilizationHistoryItem};
use stationdb::feeds::{Feed, Package};
use stationdb::files::FileLinqMetadata;
use stationdb::prelude::*;
use stationdb::products::Product;
use stationdb::results::{QueryStepsRequest, Step, TestResult};
use stationdb::serde_json::{self, Value, json};
use stationdb::specifications::Specification;
use stationdb::tables::{QueryTablesRequest, TableId, TableMetadata};
use stationdb::test_plans::{TestPlan, TestPlanTemplate};
use stationdb::work_items::{WorkItem, WorkItemTemplate};
use stationdb::workspaces::Workspace;
use stationdb::{Error, ErrorKind, Result, Session, from_json, from_json_strict};

use crate::failure::{Code, Failure, Outcome};
use crate::members::{RecordReader, instead_of};

/// Products whose specifications one query can name, by id and by part number.
const PRODUCTS_MAX: usize = 5000;
/// Records on a page of a query.
const PAGE: usize = 500;

/// A list of records that someone asks for.
#[derive(Clone, Debug, Default)]
pub struct RecordsQuery {
    pub filter: Option<String>,
    pub order: Option<String>,
    pub descending: bool,
    pub take: Option<usize>,
    pub product: Option<String>,
}

pub type Records<'s> = Box<dyn Iterator<Item = Result<Value>> + 's>;

/// One kind of records.
pub struct Kind {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in the change log, and in search hits.
    pub event: &'static str,
    /// Section of the page of fields; empty if the kind has no filter.
    pub fields: &'static str,
    /// The members that a table shows.
    pub columns: &'static [&'static str],
    /// Reads a record, and so knows what members it may have.
    pub reader: RecordReader,
    list: for<'s> fn(&'s Session, &RecordsQuery) -> Result<Records<'s>>,
    find: RecordLookup,
}

enum RecordLookup {
    Get(fn(&Session, &str) -> Result<Value>),
    /// By a filter on the field `id`.
    Query,
    /// By no request of the library.
    Never,
}

fn value(converted: serde_json::Result<Value>) -> Result<Value> {
    converted.map_err(|error| Error::invalid(format!("writing a record as JSON: {error}")))
}

/// Lists by one of the session's iterators.
macro_rules! query {
    ($method:ident) => {
        |session, ask| {
            let request = from_json(&ask.request())?;
            let items = session.$method(request);
            Ok(Box::new(items.map(|item| item.and_then(|item| value(serde_json::to_value(item))))))
        }
    };
}

/// Reads a record of a type.
macro_rules! reads {
    ($record:ty) => {
        |json| from_json_strict::<$record>(json).err()
    };
}

macro_rules! get {
    ($method:ident) => {
        RecordLookup::Get(|session, id| value(serde_json::to_value(session.$method(&id.into())?)))
    };
}

pub const KINDS: &[Kind] = &[
    Kind {
        name: "products",
        event: "product",
        fields: "Product",
        columns: &["id", "partNumber", "name", "family", "workspace", "updatedAt"],
        reader: reads!(Product),
        list: query!(products),
        find: get!(get_product),
    },
    Kind {
        name: "results",
        event: "test result",
        fields: "TestResult",
        columns: &[
            "id",
            "programName",
            "status.statusType",
            "partNumber",
            "serialNumber",
            "startedAt",
        ],
        reader: reads!(TestResult),
        list: query!(results),
        find: get!(get_result),
    },
    Kind {
        name: "steps",
        event: "step",
        fields: "",
        columns: &[
            "resultId",
            "stepId",
            "name",
            "stepType",
            "status.statusType",
            "totalTimeInSeconds",
        ],
        reader: reads!(Step),
        list: steps,
        find: RecordLookup::Never,
    },
    Kind {
        name: "specifications",
        event: "specification",
        fields: "Specification",
        columns: &["id", "productId", "specId", "name", "limit.min", "limit.max", "unit"],
        reader: reads!(Specification),
        list: specifications,
        find: get!(get_spec),
    },
    Kind {
        name: "assets",
        event: "asset",
        fields: "Asset",
        columns: &["id", "name", "modelName", "vendorName", "serialNumber", "calibrationStatus"],
        reader: reads!(Asset),
        list: query!(assets),
        find: get!(get_asset),
    },
    Kind {
        name: "utilizations",
        event: "asset utilization",
        fields: "AssetUtilization",
        columns: &["assetIdentifier", "category", "taskName", "userName", "startTimestamp"],
        reader: reads!(AssetUtilizationHistoryItem),
        list: query!(utilizations),
        find: RecordLookup::Never,
    },
    Kind {
        name: "work-items",
        event: "work item",
        fields: "work item",
        columns: &["id", "name", "type", "state", "partNumber", "assignedTo", "updatedAt"],
        reader: reads!(WorkItem),
        list: query!(work_items),
        find: get!(get_work_item),
    },
    Kind {
        name: "work-item-templates",
        event: "work item template",
        fields: "work item template",
        columns: &["id", "name", "type", "templateGroup", "updatedAt"],
        reader: reads!(WorkItemTemplate),
        list: query!(work_item_templates),
        find: RecordLookup::Query,
    },
    Kind {
        name: "test-plans",
        event: "test plan",
        fields: "test plan",
        columns: &["id", "name", "state", "partNumber", "assignedTo", "updatedAt"],
        reader: reads!(TestPlan),
        list: query!(test_plans),
        find: get!(get_test_plan),
    },
    Kind {
        name: "test-plan-templates",
        event: "test plan template",
        fields: "test plan template",
        columns: &["id", "name", "templateGroup", "updatedAt"],
        reader: reads!(TestPlanTemplate),
        list: query!(test_plan_templates),
        find: RecordLookup::Query,
    },
    Kind {
        name: "tables",
        event: "table",
        fields: "table",
        columns: &["id", "name", "rowCount", "supportsAppend", "workspace", "rowsModifiedAt"],
        reader: reads!(TableMetadata),
        list: query!(tables),
        find: RecordLookup::Get(|session, id| value(serde_json::to_value(metadata(session, id)?))),
    },
    Kind {
        name: "files",
        event: "file",
        fields: "file",
        columns: &["id", "properties.Name", "size64", "workspace", "updated"],
        reader: reads!(FileLinqMetadata),
        list: query!(files),
        find: RecordLookup::Query,
    },
    Kind {
        name: "feeds",
        event: "feed",
        fields: "",
        columns: &["id", "name", "platform", "workspace", "updatedAt"],
        reader: reads!(Feed),
        list: |session, ask| {
            ask.is_plain("feeds")?;
            let feeds = session.query_feeds(from_json_strict(b"{}")?)?.feeds;
            Ok(Box::new(feeds.into_iter().map(|feed| value(serde_json::to_value(feed)))))
        },
        find: get!(get_feed),
    },
    Kind {
        name: "packages",
        event: "package",
        fields: "",
        columns: &["id", "feedId", "fileName", "updatedAt"],
        reader: reads!(Package),
        list: packages,
        find: get!(get_package),
    },
    Kind {
        name: "workspaces",
        event: "workspace",
        fields: "workspace",
        columns: &["id", "name", "createdAt"],
        reader: reads!(Workspace),
        list: query!(workspaces),
        find: RecordLookup::Query,
    },
];

impl RecordsQuery {
    /// The body of a query. Members that a query does not have are ignored.
    fn request(&self) -> Vec<u8> {
        // The one order whose name is not that of its field.
        let is_rows = |order: &String| order.eq_ignore_ascii_case("rowCount");
        let order = self
            .order
            .clone()
            .map(|order| if is_rows(&order) { "NUMBER_OF_ROWS".to_owned() } else { order });
        let mut body = json!({
            "take": self.take.unwrap_or(PAGE).min(PAGE),
            "descending": self.descending,
            "orderByDescending": self.descending,
        });
        if let Some(filter) = &self.filter {
            body["filter"] = json!(filter);
            body["utilizationFilter"] = json!(filter);
        }
        if let Some(order) = order {
            body["orderBy"] = json!(order);
        }
        body.to_string().into_bytes()
    }

    fn is_plain(&self, kind: &str) -> Result<()> {
        if self.filter.is_some() || self.order.is_some() || self.descending {
            Err(Error::invalid(format!("{kind} have neither filter nor order")))
        } else {
            Ok(())
        }
    }
}

/// Specifications belong to products, which the query has to name.
fn specifications<'s>(session: &'s Session, ask: &RecordsQuery) -> Result<Records<'s>> {
    let mut products = Vec::new();
    if let Some(product) = &ask.product {
        products.push(product.clone());
    } else {
        let all = br#"{"projection": ["ID", "PART_NUMBER"], "take": 1000}"#;
        for product in session.products(from_json_strict(all)?) {
            let product = product?;
            products.extend(product.id.map(String::from));
            products.extend(product.part_number);
        }
    }
    if products.len() > 2 * PRODUCTS_MAX {
        return Err(Error::limit(format!(
            "listing specifications: there are more than {PRODUCTS_MAX} products; name one with \
             --product"
        )));
    }
    if products.is_empty() {
        return Ok(Box::new(std::iter::empty()));
    }
    let mut body: Value = value(serde_json::from_slice(&ask.request()))?;
    body["productIds"] = json!(products);
    let request = from_json(body.to_string().as_bytes())?;
    let specs = session.specifications(request);
    Ok(Box::new(specs.map(|spec| spec.and_then(|spec| value(serde_json::to_value(spec))))))
}

/// Steps, page after page.
fn steps<'s>(session: &'s Session, ask: &RecordsQuery) -> Result<Records<'s>> {
    let mut request: QueryStepsRequest = from_json(&ask.request())?;
    let mut page = Vec::new().into_iter();
    let mut has_next = true;
    Ok(Box::new(std::iter::from_fn(move || {
        loop {
            if let Some(step) = page.next() {
                return Some(value(serde_json::to_value::<Step>(step)));
            }
            if !std::mem::take(&mut has_next) {
                return None;
            }
            match session.query_steps(request.clone()) {
                Ok(next) => {
                    has_next = next.continuation_token.is_some();
                    request.continuation_token = next.continuation_token;
                    page = next.steps.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    })))
}

fn packages<'s>(session: &'s Session, ask: &RecordsQuery) -> Result<Records<'s>> {
    ask.is_plain("packages")?;
    let mut all = Vec::new();
    for feed in session.query_feeds(from_json_strict(b"{}")?)?.feeds {
        all.extend(session.query_packages(&feed.id)?.packages);
    }
    Ok(Box::new(all.into_iter().map(|package| value(serde_json::to_value(package)))))
}

impl Kind {
    /// The records, in the order that was asked for.
    pub fn list<'s>(&self, session: &'s Session, ask: &RecordsQuery) -> Result<Records<'s>> {
        let records = (self.list)(session, ask)?;
        Ok(match ask.take {
            Some(take) => Box::new(records.take(take)),
            None => records,
        })
    }

    /// The number of records, where it is known without them.
    pub fn count(&self, session: &Session) -> Result<Option<u64>> {
        macro_rules! counted {
            ($query:ident) => {
                session.$query(from_json(br#"{"take": 0, "returnCount": true}"#)?)?.total_count
            };
        }
        Ok(match self.name {
            "products" => counted!(query_products),
            "results" => counted!(query_results),
            "steps" => counted!(query_steps),
            "work-items" => counted!(query_work_items),
            "test-plans" => counted!(query_test_plans),
            _ => None,
        })
    }

    /// Refuses a column that the records do not have.
    ///
    /// # Errors
    /// `Usage`, with the columns that there are.
    pub fn check_columns(&self, columns: &[String]) -> Outcome {
        for column in columns {
            if let Some(known) = instead_of(self.reader, column) {
                return Err(Failure::usage(format!(
                    "{} have no column {column:?}; there are {}",
                    self.name,
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn find(&self, session: &Session, id: &str) -> Result<Option<Value>> {
        let is_plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let found = match self.find {
            RecordLookup::Get(get) => get(session, id),
            RecordLookup::Query if is_plain => {
                let ask = RecordsQuery {
                    filter: Some(format!("id == \"{id}\"")),
                    ..RecordsQuery::default()
                };
                return match self.list(session, &ask)?.next().transpose() {
                    Err(error) if is_missing(&error) => Ok(None),
                    found => found,
                };
            }
            _ => return Ok(None),
        };
        match found {
            Err(error) if is_missing(&error) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// A text that cannot be an id of a kind is an invalid argument.
fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument)
}

/// The kind with a name: `work-items`, `work items`, `work item`, `WorkItem`.
pub fn kind(name: &str) -> Outcome<&'static Kind> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    let wanted = plain(name);
    let found = KINDS.iter().find(|kind| {
        [plain(kind.name), plain(kind.event)].contains(&wanted)
            || (kind.name == "specifications" && ["spec", "specs"].contains(&wanted.as_str()))
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Failure::usage(format!("there is no kind {name:?}; the kinds are {}", names.join(", ")))
    })
}

/// The one record with an id, and its kind.
pub fn find(session: &Session, id: &str, only: Option<&str>) -> Outcome<(&'static Kind, Value)> {
    let only = only.map(kind).transpose()?;
    let mut found = Vec::new();
    for kind in KINDS.iter().filter(|kind| only.is_none_or(|only| only.name == kind.name)) {
        found.extend(kind.find(session, id)?.map(|record| (kind, record)));
    }
    match found.len() {
        0 => Err(Failure::new(
            Code::NotFound,
            format!("there is no {} with the id {id:?}", only.map_or("record", |kind| kind.event)),
        )),
        1 => Ok(found.remove(0)),
        _ => {
            let kinds: Vec<&str> = found.iter().map(|(kind, _)| kind.name).collect();
            Err(Failure::usage(format!(
                "several records have the id {id:?}; add --kind with one of {}",
                kinds.join(", ")
            )))
        }
    }
}

/// The table with an id, or else with a name that no other table has.
pub fn metadata(session: &Session, name: &str) -> Result<TableMetadata> {
    match session.get_table_metadata(&TableId::from(name)) {
        Err(error) if is_missing(&error) => {}
        found => return found,
    }
    let by_name = QueryTablesRequest::new().filter("name == @0").substitutions([name]).take(2);
    let mut tables = session.query_tables(by_name)?.tables;
    match (tables.pop(), tables.pop()) {
        (Some(table), None) => Ok(table),
        (None, _) => Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no table with the id or name {name:?}; `ls tables` lists all"),
        )),
        (Some(_), Some(_)) => {
            Err(Error::invalid(format!("several tables have the name {name:?}; give the id")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_knows_its_columns() {
        for kind in KINDS {
            for column in kind.columns {
                assert_eq!(instead_of(kind.reader, column), None, "{}: {column}", kind.name);
                let wrong = format!("{column}x");
                let is_entry = column.starts_with("properties.");
                assert_eq!(instead_of(kind.reader, &wrong).is_none(), is_entry, "{wrong}");
            }
            let known = instead_of(kind.reader, "unknown").unwrap();
            let is_member = |column: &&str| !column.contains('.');
            for column in kind.columns.iter().filter(|column| is_member(column)) {
                assert!(known.iter().any(|name| name == column), "{}: {known:?}", kind.name);
            }
        }
    }

    #[test]
    fn members_of_members_are_columns_too() {
        let of =
            |kind_name: &str, column: &str| instead_of(kind(kind_name).unwrap().reader, column);
        assert_eq!(of("results", "status.statusName"), None);
        assert_eq!(of("results", "properties.any.name"), None);
        let inside = ["status.statusType", "status.statusName"].map(str::to_owned).to_vec();
        assert_eq!(of("results", "status.type"), Some(inside));
        // Names are those of the wire, whatever spelling a request may have.
        assert!(of("results", "part_number").is_some());
    }
}
