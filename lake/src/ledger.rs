//! What the lake has of a store: which rows of which tables, and which tables are gone.
//!
//! A commit says so in the tags of its last file, so the rows and the statement come into the lake
//! together.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stationdb::tables::Column;
use stationdb::{Error, Result};

/// Key of the tag.
const TAG: &str = "stationdb.sent";

/// Name and type of a column.
pub(crate) type Named = (String, String);

/// What the lake has of the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The first ordinal that was not sent.
    pub end: u64,
    /// The batch of the last rows.
    pub batch: u64,
    /// The columns that the table had.
    pub columns: Vec<Named>,
}

/// What commits of the store said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By table id. Rows that were sent before the table went are not counted again.
    pub sent: BTreeMap<String, Extent>,
    /// The batches with which tables went from this lake table, by table id.
    pub gone: BTreeMap<String, u64>,
}

/// A statement of a commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    pub batch: u64,
    pub columns: Vec<Named>,
    /// Ids of tables, and the first ordinal after what was sent.
    pub sent: BTreeMap<String, u64>,
    /// Tables of which no row is in the lake table any more.
    pub gone: Vec<String>,
}

/// The columns of a table as a statement names them.
pub(crate) fn named(columns: &[Column]) -> Vec<Named> {
    columns.iter().map(|column| (column.name.clone(), column.data_type.to_string())).collect()
}

impl Statement {
    /// The tags of a file.
    pub(crate) fn tags(&self, app: &str) -> Value {
        let value = json!({
            "app": app, "batch": self.batch, "columns": self.columns, "sent": self.sent,
            "gone": self.gone,
        });
        json!({ TAG: value.to_string() })
    }
}

impl Ledger {
    /// Takes over the tags of a file. Returns whether they are of this store.
    pub(crate) fn read(&mut self, app: &str, tags: &Value) -> Result<bool> {
        let Some(text) = tags.get(TAG).and_then(Value::as_str) else { return Ok(false) };
        let broken = || Error::corrupt(format!("a tag {TAG} in a log of the lake is damaged"));
        let value: Value = serde_json::from_str(text).map_err(|_| broken())?;
        if value.get("app").and_then(Value::as_str) != Some(app) {
            return Ok(false);
        }
        let batch = value.get("batch").and_then(Value::as_u64).ok_or_else(broken)?;
        let columns: Vec<Named> =
            serde_json::from_value(value.get("columns").cloned().unwrap_or_default())
                .map_err(|_| broken())?;
        for (id, end) in value.get("sent").and_then(Value::as_object).into_iter().flatten() {
            let end = end.as_u64().ok_or_else(broken)?;
            let extent = Extent { end, batch, columns: columns.clone() };
            self.sent.insert(id.clone(), extent);
        }
        for id in value.get("gone").and_then(Value::as_array).into_iter().flatten() {
            self.gone.insert(id.as_str().ok_or_else(broken)?.to_owned(), batch);
        }
        Ok(true)
    }

    /// What counts of a table: rows of batches from `from` on.
    pub(crate) fn extent(&self, id: &str, from: u64) -> Option<&Extent> {
        self.sent.get(id).filter(|extent| extent.batch >= from)
    }
}
