//! The imports of files beside the operations by their names: a CSV text is JSON, too.

use serde_json::Value;
use stationdb::tables::ImportTableRequest;
use stationdb::{Control, Result, Session};
use stationdb_formats::ImportFiles;

use crate::calls::{read, wire};

/// The answer of `import_csv`, where an operation is that: its arguments are a request and a text.
pub(crate) fn import(
    session: &Session,
    operation: &str,
    arguments: &[Value],
) -> Option<Result<Value>> {
    let answer = || {
        let mut given = arguments.iter().cloned();
        let request: ImportTableRequest = read(&given.next().unwrap_or_default())?;
        let text: String = read(&given.next().unwrap_or_default())?;
        session.import_csv(request, &mut text.as_bytes(), &Control::default()).map(wire)
    };
    (operation == "import_csv").then(answer)
}
