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

/// Rows that stayed when the others of their table went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// The first ordinal after them.
    pub end: u64,
    /// The batch with which the others went.
    pub batch: u64,
}

/// What commits of the store said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By table id. Rows that were sent before the table went are not counted again.
    pub sent: BTreeMap<String, Extent>,
    /// The batches with which tables went from this lake table, by table id.
    pub gone: BTreeMap<String, u64>,
    /// Rows of these that stayed.
    pub stay: BTreeMap<String, Stay>,
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
    /// Tables whose rows in the lake table are not continued any more.
    pub gone: Vec<String>,
    /// Those of them of which rows stay that the station cannot send again, and the first ordinal
    /// after these rows.
    pub stay: BTreeMap<String, u64>,
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
            "sent": self.sent, "gone": self.gone, "stay": self.stay,
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
        for (member, ends) in [("sent", &mut statement.sent), ("stay", &mut statement.stay)] {
            for (id, end) in value.get(member).and_then(Value::as_object).into_iter().flatten() {
                ends.insert(id.clone(), end.as_u64().ok_or_else(broken)?);
            }
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
        let Statement { batch, columns, sent, gone, stay } = said.statement;
        self.count += u64::from(!sent.is_empty() || !gone.is_empty());
        for (id, end) in sent {
            self.sent.insert(id, Extent { end, batch, columns: columns.clone() });
        }
        for id in gone {
            // What stayed before goes with all of the table, and stays with a part of it.
            let before = self.stay.remove(&id);
            if let Some(end) = stay.get(&id) {
                let end = before.map_or(*end, |before| before.end.max(*end));
                self.stay.insert(id.clone(), Stay { end, batch });
            }
            self.gone.insert(id, batch);
        }
    }

    /// What counts of a table: rows of batches from `from` on.
    pub(crate) fn extent(&self, id: &str, from: u64) -> Option<&Extent> {
        self.sent.get(id).filter(|extent| extent.batch >= from)
    }
}
