//! A lake as readers see it: its tables, and which of their files count.
//!
//! `batches` is read before all other logs. A publisher commits rows and records before the batch
//! that has them, so whatever a batch of this snapshot has is in the logs that are read after it.
//! What publishers commit while the logs are read is of later batches, and does not count.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use stationdb::scans::RecordKind;
use stationdb::{Control, Result};

use crate::names::{BATCHES, DELETED_ROWS, MEASUREMENTS, STEPS, is_rows, table_of};
use crate::position;
use crate::remote::Remote;
use crate::schema::{named_at_the_station, read_fields};

mod batches;
mod log;
mod relations;
mod views;

use log::ReadLog;
pub use relations::{LakeField, LakeFile, LakeRelation, LakeRows, LakeStation};
pub use views::LakeView;

/// A snapshot of a lake: its tables, and which of their files count.
///
/// It has the names of files, and no rows: engines read those.
#[derive(Clone, Debug)]
pub struct Lake {
    root: Path,
    stations: Vec<LakeStation>,
    rows: Vec<LakeRows>,
    changes: BTreeMap<String, LakeRelation>,
    measurements: Option<LakeRelation>,
    steps: Option<LakeRelation>,
}

impl Lake {
    /// Reads the logs of the lake at `root`. A root without a lake is a lake without stations.
    ///
    /// Blocks, and may be called on any thread, also on one of an async runtime that may wait.
    /// Keeps the names of all files in memory, and of a log at most 64 versions or one checkpoint.
    ///
    /// # Errors
    /// `Unsupported` for lake tables with properties that are not known here, `NotFound` when
    /// versions of a log were removed that no checkpoint has, `Corrupt` for damaged logs; errors
    /// of the object store; `Cancelled` and `DeadlineExceeded` by `control`.
    pub fn open(objects: Arc<dyn ObjectStore>, root: &Path, control: &Control) -> Result<Self> {
        let remote = Arc::new(Remote::new(objects)?);
        let open = |name: &str| ReadLog::open(&remote, root, name, control);
        let batches = open(BATCHES)?;
        let stations = batches::complete(&remote, root, &batches, control)?;
        let mut names = position::tables_of_all(&batches.apps);
        // Lakes of earlier versions name no tables there.
        names.extend(remote.names(root, control)?.into_iter().filter(|name| is_rows(name)));
        let by_name = stations.iter().map(|station| (station.name.as_str(), station)).collect();
        let counts = Counts { root, stations: &by_name };
        let mut rows = Vec::new();
        for name in names {
            let log = open(&name)?;
            if log.exists {
                let deleted = open(&format!("{name}{DELETED_ROWS}"))?;
                let deleted =
                    deleted.exists.then(|| counts.relation(&deleted, false)).transpose()?;
                let deleted = deleted.filter(|deleted| !deleted.files.is_empty());
                rows.push(LakeRows { rows: counts.relation(&log, true)?, deleted });
            }
        }
        let mut changes = BTreeMap::new();
        for kind in RecordKind::ALL {
            let log = open(&table_of(*kind))?;
            if log.exists {
                changes.insert(log.name.clone(), counts.relation(&log, false)?);
            }
        }
        // A full pass of an epoch sends all results again, so steps of earlier ones do not count.
        let steps = |name: &str| {
            let log = open(name)?;
            log.exists.then(|| counts.relation(&log, true)).transpose()
        };
        let (measurements, steps) = (steps(MEASUREMENTS)?, steps(STEPS)?);
        Ok(Self { root: root.clone(), stations, rows, changes, measurements, steps })
    }

    /// Where the lake is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The stations with a complete batch, by name.
    #[must_use]
    pub fn stations(&self) -> &[LakeStation] {
        &self.stations
    }

    /// The lake tables with rows, by name.
    #[must_use]
    pub fn rows(&self) -> &[LakeRows] {
        &self.rows
    }

    /// The lake table with the changes of a kind of record, if any were published.
    #[must_use]
    pub fn changes(&self, kind: RecordKind) -> Option<&LakeRelation> {
        self.changes.get(&table_of(kind))
    }

    /// The lake table with the measurements of results, if any were published. A row counts if the
    /// latest change of its result, in the lake table of [`RecordKind::TestResult`], has the same
    /// `_sending`.
    #[must_use]
    pub fn measurements(&self) -> Option<&LakeRelation> {
        self.measurements.as_ref()
    }

    /// The lake table with the steps of results, as [`Lake::measurements`].
    #[must_use]
    pub fn steps(&self) -> Option<&LakeRelation> {
        self.steps.as_ref()
    }
}

/// Which files count.
struct Counts<'a> {
    root: &'a Path,
    stations: &'a BTreeMap<&'a str, &'a LakeStation>,
}

impl Counts<'_> {
    /// A lake table without the files of which no row counts. `is_rows` leaves out earlier
    /// histories, too: of changes, passes leave them out.
    fn relation(&self, log: &ReadLog, is_rows: bool) -> Result<LakeRelation> {
        let mut files = Vec::new();
        for (path, file) in &log.files {
            let known = file.station.as_ref().map(|name| self.stations.get(name.as_str()));
            let is_whole = match (known, file.batches) {
                // A station without a complete batch.
                (Some(None), _) => continue,
                (Some(Some(station)), Some((least, most))) => {
                    let is_late = least > station.last_batch;
                    if is_late || (is_rows && most < station.first_batch) {
                        continue;
                    }
                    most <= station.last_batch && (!is_rows || least >= station.first_batch)
                }
                _ => false,
            };
            let mut full = self.root.clone().join(log.name.as_str());
            full = path.split('/').fold(full, |full, part| full.join(part));
            files.push(LakeFile {
                path: full,
                bytes: file.size,
                station: file.station.clone(),
                is_whole,
                tables: file.tables.clone(),
            });
        }
        if self.stations.is_empty() {
            files.clear();
        }
        let mut fields = Vec::new();
        for (field, source) in read_fields(&log.fields)?.into_iter().zip(&log.fields) {
            let stored = named_at_the_station(source);
            let is_nanoseconds = stored.as_ref().is_some_and(|(_, is_nanoseconds)| *is_nanoseconds);
            fields.push(LakeField { field, stored: stored.map(|(name, _)| name), is_nanoseconds });
        }
        Ok(LakeRelation { name: log.name.clone(), fields, files })
    }
}
