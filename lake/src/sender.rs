//! Sends data files to a lake table, and commits them with what they contain.

use std::sync::Arc;

use object_store::path::Path;
use serde_json::{Value, json};
use stationdb::arrow::array::ArrayRef;
use stationdb::arrow::datatypes::Field;
use stationdb::{Control, Result};

use crate::body::Cost;
use crate::checks::bound;
use crate::clock::now_ms;
use crate::file::LakeFile;
use crate::ledger::{STATEMENTS, Statement};
use crate::log::{CommitOutcome, LakeLog};
use crate::nonce;
use crate::remote::Remote;
use crate::segment::Segment;
use crate::splice::PreparedGroup;
use crate::upload::Upload;

/// Bytes of a file at which the next one begins.
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// Bytes after which what was sent is committed, so that a crash does not repeat more.
const COMMIT_BYTES: usize = 512 * 1024 * 1024;
/// Tables that a commit names.
const COMMIT_TABLES: usize = 2_000;
/// Pieces of stored files, which stay open, of a file that is on its way and the next one.
const OPEN_PIECES: usize = 256;

/// What all parts of a batch know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    pub station: &'a str,
    /// The application id of the store in the logs of the lake.
    pub app: &'a str,
    pub epoch: u64,
    /// The sequence of the store.
    pub sequence: u64,
    /// Epoch and sequence as one number, which grows with each batch.
    pub number: u64,
    /// The first batch of which rows count.
    pub rows_from: u64,
    /// The last complete batch; zero if there is none.
    pub complete: u64,
}

impl Batch<'_> {
    /// The application id of the epoch.
    pub(crate) fn epoch_app(&self) -> String {
        format!("{}/{}", self.app, self.epoch)
    }

    fn txn(&self) -> Value {
        crate::position::txn(self.app, self.epoch, "", self.sequence)
    }
}

/// How many statements of the store a log has.
fn counted(app: &str, number: u64) -> Value {
    let version = i64::try_from(number).unwrap_or(i64::MAX);
    json!({ "txn": {
        "appId": format!("{app}{STATEMENTS}"), "version": version, "lastUpdated": now_ms(),
    }})
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendTotals {
    pub rows: u64,
    pub measurements: u64,
    pub steps: u64,
    pub files: u64,
    pub bytes: u64,
    /// Bytes of column chunks that were taken over.
    pub taken: u64,
    pub commits: u64,
}

/// What is known of the rows of a file, so that readers need not open it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LakeObjects {
    /// The least and the greatest `_table`.
    pub tables: Option<(String, String)>,
    /// The `_rows_from` of all rows.
    pub rows_from: Option<u64>,
}

impl LakeObjects {
    /// Rows of a table came into the file. It is said after they were written, because the first of
    /// them may begin another file.
    pub(crate) fn has_table(&mut self, id: &str) {
        let (least, most) = self.tables.get_or_insert_with(|| (id.to_owned(), id.to_owned()));
        if id < least.as_str() {
            id.clone_into(least);
        }
        if id > most.as_str() {
            id.clone_into(most);
        }
    }

    /// The statistics of a file in a log.
    fn statistics(&self, rows: u64, station: &str, batch: u64) -> Value {
        let mut least = json!({ "_station": station, "_batch": batch });
        let mut nulls = json!({ "_station": 0, "_batch": 0 });
        if let Some(rows_from) = self.rows_from {
            least["_rows_from"] = rows_from.into();
            nulls["_rows_from"] = 0.into();
        }
        let mut most = least.clone();
        if let Some(tables) = &self.tables {
            least["_table"] = tables.0.as_str().into();
            most["_table"] = tables.1.as_str().into();
            nulls["_table"] = 0.into();
        }
        json!({ "numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls })
    }
}

/// A file that is on its way.
struct PendingUpload {
    upload: Upload,
    cost: Cost,
    name: String,
    rows: u64,
    byte_count: u64,
    /// Its statistics in the log.
    stats: Value,
}

pub(crate) struct Sender<'a> {
    pub remote: &'a Remote,
    pub lake: &'a mut LakeLog,
    pub batch: Batch<'a>,
    pub control: &'a Control,
    /// The fields of the files, and as the lake's schema has them.
    pub fields: Vec<Field>,
    pub needed: Vec<Value>,
    pub statement: Statement,
    pub sent: SendTotals,
    /// Actions that precede those of the files.
    pub actions: Vec<Value>,
    /// What the statistics of the files say beside the station and the batch: for readers.
    pub known: LakeObjects,
    /// Whether the commit is made without a file.
    pub is_due: bool,
    file: Option<LakeFile>,
    /// The file before it, which is on its way.
    upload: Option<PendingUpload>,
    adds: Vec<Value>,
    uncommitted: u64,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(
        remote: &'a Remote,
        lake: &'a mut LakeLog,
        batch: Batch<'a>,
        control: &'a Control,
        (fields, needed): (Vec<Field>, Vec<Value>),
    ) -> Self {
        Self {
            remote,
            lake,
            batch,
            control,
            fields,
            needed,
            statement: Statement { batch: batch.number, ..Statement::default() },
            sent: SendTotals::default(),
            actions: Vec::new(),
            known: LakeObjects::default(),
            is_due: false,
            file: None,
            upload: None,
            adds: Vec::new(),
            uncommitted: 0,
        }
    }

    /// The file that takes the next rows.
    pub(crate) fn file(&mut self) -> Result<&mut LakeFile> {
        if self.file.as_ref().is_some_and(|file| file.size() >= bound(FILE_BYTES)) {
            self.upload()?;
        }
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(LakeFile::new(self.fields.clone())?)),
        }
    }

    /// Adds rows that are encoded here. The file before is in the lake by then, so that no more is
    /// in memory than one file.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        self.file()?;
        self.settle()?;
        self.file()?.write(columns)
    }

    /// Adds a row group of a stored file, also while the file before is on its way: as long as both
    /// together hold no more than one may.
    pub(crate) fn splice(&mut self, segment: &Segment, group: PreparedGroup) -> Result<()> {
        let open = self.file()?.cost();
        if let Some(before) = self.upload.as_ref().map(|before| before.cost) {
            let made = before.made + open.made + group.made_bytes();
            let taken = before.taken + open.taken + group.pieces.len();
            if made > bound(FILE_BYTES) as u64 || taken > OPEN_PIECES {
                self.settle()?;
            }
        }
        let taken = self.file()?.splice(segment, group)?;
        self.sent.taken += taken;
        Ok(())
    }

    /// Ends the open file and begins to upload it.
    fn upload(&mut self) -> Result<()> {
        self.settle()?;
        let Some(file) = self.file.take() else { return Ok(()) };
        let rows = file.rows;
        if rows == 0 {
            return Ok(());
        }
        let body = Arc::new(file.finish()?);
        let (byte_count, cost) = (body.byte_count(), body.cost());
        let Batch { station, number, .. } = self.batch;
        let name = format!("{number}-{}.parquet", nonce());
        let path: Path = self.lake.path.clone().join("data").join(station).join(name.as_str());
        let stats = self.known.statistics(rows, station, number);
        self.known.tables = None;
        self.uncommitted += byte_count;
        let upload = self.remote.begin_upload(path, body)?;
        self.upload = Some(PendingUpload { upload, cost, name, rows, byte_count, stats });
        Ok(())
    }

    /// Waits for the file that is on its way.
    fn settle(&mut self) -> Result<()> {
        let Some(sending) = self.upload.take() else { return Ok(()) };
        let PendingUpload { upload, cost: _, name, rows, byte_count, stats } = sending;
        self.remote.end_upload(upload, self.control)?;
        let station = self.batch.station;
        self.adds.push(json!({
            "path": format!("data/{station}/{name}"), "partitionValues": {},
            "size": byte_count, "modificationTime": now_ms(), "dataChange": true,
            "stats": stats.to_string(),
        }));
        self.sent.rows += rows;
        self.sent.files += 1;
        self.sent.bytes += byte_count;
        Ok(())
    }

    /// Whether as much was sent that it is committed.
    pub(crate) fn is_full(&self) -> bool {
        let open = self.file.as_ref().map_or(0, LakeFile::size) as u64;
        self.uncommitted + open >= bound(COMMIT_BYTES) as u64
            || self.statement.sent.len() >= COMMIT_TABLES
    }

    /// Commits what was written since the last commit.
    pub(crate) fn commit(&mut self) -> Result<CommitOutcome> {
        self.upload()?;
        self.settle()?;
        if self.adds.is_empty() && !self.is_due {
            return Ok(CommitOutcome::Done);
        }
        let mut actions = std::mem::take(&mut self.actions);
        actions.push(self.batch.txn());
        // A statement in a checkpoint is missing if its file was compacted, and the count tells.
        let number = self.lake.ledger.count + u64::from(!self.statement.is_empty());
        actions.push(counted(self.batch.app, number));
        let mut adds = std::mem::take(&mut self.adds);
        if let Some(Value::Object(add)) = adds.last_mut() {
            add.insert("tags".to_owned(), self.statement.tags(self.batch.app, number));
        }
        actions.extend(adds.into_iter().map(|add| json!({ "add": add })));
        let needed = self.needed.clone();
        let holds = move |lake: &LakeLog| lake.has_fields(&needed);
        self.uncommitted = 0;
        let outcome = self.lake.commit(self.remote, "WRITE", actions, &holds, self.control)?;
        if outcome == CommitOutcome::Done {
            self.sent.commits += 1;
        }
        self.statement.clear();
        Ok(outcome)
    }
}
