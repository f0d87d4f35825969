//! What the lake has of a store: which rows of which tables, and which tables are gone.
//!
//! A commit says so in the tags of its last file, so the rows and the statement come into the lake
//! together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use stationdb::tables::Column;
use stationdb::{Error, Result};

use crate::ordinals::Ordinals;

/// Key of the tag.
const TAG: &str = "stationdb.sent";

/// Part of the application id whose version is the number of statements in a log.
pub(crate) const STATEMENTS: &str = "/statements";

/// Name and type of a column.
pub(crate) type NamedColumn = (String, String);

/// Rows of a table in a lake table that were sent from the first ordinal on, and go as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The batch of the first rows. Rows of earlier batches are of earlier extents.
    pub begin: u64,
    /// The first ordinal that was not sent.
    pub end: u64,
    /// The batch of the last rows.
    pub batch: u64,
    /// The columns that the table had.
    pub columns: Vec<NamedColumn>,
    /// Their numbers; none if the table never lost a column, so that they count from 0.
    pub numbers: Option<Vec<u64>>,
    /// Rows that a retention had deleted when the others were sent again.
    pub absent: Ordinals,
}

impl Extent {
    /// Whether each column that the table had is still there: under its name, and none that was
    /// dropped or renamed and whose name another one has now.
    pub(crate) fn continues(&self, columns: &[NamedColumn], numbers: &[u64]) -> bool {
        let numbers_then = self.numbers.iter().flatten().copied().chain(0..);
        let then = self.columns.iter().zip(numbers_then);
        let now = || columns.iter().zip(numbers.iter().copied());
        then.into_iter().all(|column| now().any(|other| other == column))
    }
}

/// Rows that stayed when the others of their table went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetainedRows {
    /// The first ordinal after them.
    pub end: u64,
    /// The batch with which the others went.
    pub batch: u64,
}

/// What commits of the store said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By table id, the last extent last.
    pub sent: BTreeMap<String, Vec<Extent>>,
    /// The batches with which tables went from this lake table, by table id.
    pub gone: BTreeMap<String, u64>,
    /// Rows of these that stayed.
    pub stay: BTreeMap<String, RetainedRows>,
    /// Statements that say that something was sent.
    pub count: u64,
}

/// A statement of a commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    pub batch: u64,
    pub columns: Vec<NamedColumn>,
    /// Ids of tables, and the first ordinal after what was sent.
    pub sent: BTreeMap<String, u64>,
    /// The numbers of the columns of those of them whose numbers do not count from 0.
    pub numbers: BTreeMap<String, Vec<u64>>,
    /// Those of them of which rows were sent from the first ordinal on, in a lake table that had
    /// rows of them before.
    pub again: BTreeSet<String>,
    /// Rows of them that a retention had deleted when the others were sent again.
    pub absent: BTreeMap<String, Ordinals>,
    /// Tables whose rows in the lake table are not continued any more.
    pub gone: Vec<String>,
    /// Those of them of which rows stay that the station cannot send again, and the first ordinal
    /// after these rows.
    pub stay: BTreeMap<String, u64>,
}

/// The columns of a table as a statement names them.
pub(crate) fn named(columns: &[Column]) -> Vec<NamedColumn> {
    columns.iter().map(|column| (column.name.clone(), column.data_type.to_string())).collect()
}

impl Statement {
    /// Whether it says that anything was sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.gone.is_empty()
    }

    /// After it was committed: the next one says what comes then.
    pub(crate) fn clear(&mut self) {
        self.sent.clear();
        self.numbers.clear();
        self.again.clear();
        self.absent.clear();
        self.gone.clear();
        self.stay.clear();
    }

    /// The tags of a file; `number` counts the statements of the store in the log.
    pub(crate) fn tags(&self, app: &str, number: u64) -> Value {
        let mut value = json!({
            "app": app, "number": number, "batch": self.batch, "columns": self.columns,
            "sent": self.sent, "gone": self.gone, "stay": self.stay,
        });
        // Most statements have none of these.
        if !self.numbers.is_empty() {
            value["numbers"] = json!(self.numbers);
        }
        if !self.again.is_empty() {
            value["again"] = json!(self.again);
        }
        if !self.absent.is_empty() {
            value["absent"] = json!(self.absent);
        }
        json!({ TAG: value.to_string() })
    }
}

/// A statement as a log has it.
#[derive(Debug)]
pub(crate) struct LedgerEntry {
    /// Zero in lakes of earlier versions.
    number: u64,
    statement: Statement,
}

impl LedgerEntry {
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
        let texts = |member: &str| -> Result<Vec<String>> {
            let ids = value.get(member).and_then(Value::as_array).into_iter().flatten();
            ids.map(|id| id.as_str().map(str::to_owned).ok_or_else(broken)).collect()
        };
        statement.gone = texts("gone")?;
        statement.again = texts("again")?.into_iter().collect();
        if let Some(numbers) = value.get("numbers") {
            statement.numbers = serde_json::from_value(numbers.clone()).map_err(|_| broken())?;
        }
        if let Some(absent) = value.get("absent") {
            statement.absent = serde_json::from_value(absent.clone()).map_err(|_| broken())?;
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
    pub(crate) fn take(&mut self, said: LedgerEntry) {
        let Statement { batch, columns, sent, mut numbers, again, mut absent, gone, stay } =
            said.statement;
        self.count += u64::from(!sent.is_empty() || !gone.is_empty());
        for (id, end) in sent {
            let (is_again, absent) = (again.contains(&id), absent.remove(&id));
            let numbers = numbers.remove(&id);
            let extents = self.sent.entry(id).or_default();
            let last = extents.pop_if(|_| !is_again);
            let mut extent = last.unwrap_or(Extent { begin: batch, ..Extent::default() });
            (extent.end, extent.batch) = (end, batch);
            extent.columns.clone_from(&columns);
            extent.numbers = numbers;
            extent.absent.extend(absent.unwrap_or_default());
            extents.push(extent);
        }
        for id in gone {
            // What stayed before goes with all of the table, and stays with a part of it.
            let before = self.stay.remove(&id);
            if let Some(end) = stay.get(&id) {
                let end = before.map_or(*end, |before| before.end.max(*end));
                self.stay.insert(id.clone(), RetainedRows { end, batch });
            }
            self.gone.insert(id, batch);
        }
    }

    /// What counts of a table: extents with rows of batches from `from` on.
    pub(crate) fn extents(&self, id: &str, from: u64) -> impl Iterator<Item = &Extent> {
        let all = self.sent.get(id).into_iter().flatten();
        all.filter(move |extent| extent.batch >= from)
    }
}
