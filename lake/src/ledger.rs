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

/// Part of the application id whose version is the number of statements in a log.
pub(crate) const STATEMENTS: &str = "/statements";

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
    /// Statements that say that something was sent.
    pub count: u64,
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
    /// Whether it says that anything was sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.gone.is_empty()
    }

    /// The tags of a file; `number` counts the statements of the store in the log.
    pub(crate) fn tags(&self, app: &str, number: u64) -> Value {
        let value = json!({
            "app": app, "number": number, "batch": self.batch, "columns": self.columns,
            "sent": self.sent, "gone": self.gone,
        });
        json!({ TAG: value.to_string() })
    }
}

/// A statement as a log has it.
#[derive(Debug)]
pub(crate) struct Said {
    /// Zero in lakes of earlier versions.
    number: u64,
    statement: Statement,
}

impl Said {
    /// The statement in the tags of a file, if it is of this store.
    pub(crate) fn read(app: &str, tags: &Value) -> Result<Option<Self>> {
        let Some(text) = tags.get(TAG).and_then(Value::as_str) else { return Ok(None) };
        let broken = || Error::corrupt(format!("a tag {TAG} in a log of the lake is damaged"));
        let value: Value = serde_json::from_str(text).map_err(|_| broken())?;
        if value.get("app").and_then(Value::as_str) != Some(app) {
            return Ok(None);
        }
        let mut statement = Statement {
            batch: value.get("batch").and_then(Value::as_u64).ok_or_else(broken)?,
            columns: serde_json::from_value(value.get("columns").cloned().unwrap_or_default())
                .map_err(|_| broken())?,
            ..Statement::default()
        };
        for (id, end) in value.get("sent").and_then(Value::as_object).into_iter().flatten() {
            statement.sent.insert(id.clone(), end.as_u64().ok_or_else(broken)?);
        }
        for id in value.get("gone").and_then(Value::as_array).into_iter().flatten() {
            statement.gone.push(id.as_str().ok_or_else(broken)?.to_owned());
        }
        let number = value.get("number").and_then(Value::as_u64).unwrap_or_default();
        Ok(Some(Self { number, statement }))
    }

    /// The order in which statements were made.
    pub(crate) fn order(&self) -> (u64, u64) {
        (self.number, self.statement.batch)
    }
}

impl Ledger {
    /// Takes over the next statement.
    pub(crate) fn take(&mut self, said: Said) {
        let Statement { batch, columns, sent, gone } = said.statement;
        self.count += u64::from(!sent.is_empty() || !gone.is_empty());
        for (id, end) in sent {
            self.sent.insert(id, Extent { end, batch, columns: columns.clone() });
        }
        self.gone.extend(gone.into_iter().map(|id| (id, batch)));
    }

    /// What counts of a table: rows of batches from `from` on.
    pub(crate) fn extent(&self, id: &str, from: u64) -> Option<&Extent> {
        self.sent.get(id).filter(|extent| extent.batch >= from)
    }
}
