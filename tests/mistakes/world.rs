//! The station in which the mistakes are made: a store in a directory, with one record of each kind
//! that they concern.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Control, Identity, Result, Session, Store, from_json};

pub(crate) struct World {
    /// Kept, so that the directory stays until the end.
    _directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) store: Store,
    pub(crate) session: Session,
    /// Columns `time`, `volts` and `note`, with three rows.
    pub(crate) table: TableId,
    /// A table after its last row.
    pub(crate) closed: TableId,
}

/// A request, as a client sends it.
pub(crate) fn request<T: DeserializeOwned>(json: &str) -> Result<T> {
    from_json(json.as_bytes())
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        std::fs::write(root.join("file.txt"), "not a store").unwrap();
        std::fs::create_dir(root.join("foreign")).unwrap();
        std::fs::write(root.join("foreign/photo.jpg"), "jpg").unwrap();
        let store = Store::options().seed(Some(1)).open(root.join("station")).unwrap();
        let session = store.session(Identity::user("ada"));
        let columns = r#"{"name": "Loop", "columns": [
            {"name": "time", "dataType": "INT64", "columnType": "INDEX"},
            {"name": "volts", "dataType": "FLOAT64", "columnType": "NULLABLE"},
            {"name": "note", "dataType": "STRING", "columnType": "NULLABLE"}]}"#;
        let table = session.create_table(request(columns).unwrap()).unwrap();
        let closed = session.create_table(request(columns).unwrap()).unwrap();
        let frame = r#"{"frame": {"data": [["1","0.5","a"],["2","1.5","b"],["3",null,null]]}}"#;
        session.append_table_data(&table, request(frame).unwrap()).unwrap();
        let end = r#"{"endOfData": true}"#;
        session.append_table_data(&closed, request(end).unwrap()).unwrap();
        let product = request(r#"{"partNumber": "AMP", "name": "Amplifier"}"#).unwrap();
        let made = session.create_products(vec![product]).unwrap();
        assert_eq!(made.error, None);
        let file = request(r#"{"name": "report.md"}"#).unwrap();
        session.upload_file(&mut &b"passed"[..], file, &Control::default()).unwrap();
        Self { _directory: directory, root, store, session, table, closed }
    }

    /// Queries products.
    pub(crate) fn products(&self, json: &str) -> Result<()> {
        self.session.query_products(request(json)?).map(drop)
    }
}
