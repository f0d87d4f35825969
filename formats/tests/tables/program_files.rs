//! Files that programs wrote, in `tests/files`. Each has the table that it becomes.
//!
//! | Files | Program |
//! |---|---|
//! | `pandas*.csv`, `pandas.parquet` | pandas 3 |
//! | `pyarrow*` | pyarrow 26 |
//! | `polars*` | Polars 2 |
//! | `duckdb*` | DuckDB 2 |
//! | `r_*.csv` | R 4.2: `write.csv`, `write.csv2`, `write.table` with tabs |
//! | `gnumeric*.csv` | Gnumeric 1.12, a spreadsheet |
//! | `sqlite.csv` | the shell of SQLite 3.40 |
//! | `python_*.csv` | the module `csv` of Python, its dialects excel, excel-tab and unix |
//! | `jq.csv` | jq 1.6, `@csv` |
//!
//! What is missing because no such program was at hand: LabVIEW and an office suite. Texts in their
//! forms, written by hand, are in `dialects`.

use std::path::Path;

use crate::prelude::*;

use super::dialects::{files, session};
use super::parquet_files;

fn bytes(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    std::fs::read(directory.join(name)).unwrap()
}

fn imported(
    session: &Session,
    name: &str,
    request: ImportTableRequest,
    bytes: &[u8],
) -> Result<ImportTableResponse> {
    if name.ends_with(".csv") {
        session.import_csv(request, &mut &*bytes, &Control::default())
    } else {
        parquet_files::import(session, request, bytes)
    }
}

#[test]
fn files_that_programs_wrote_become_their_tables() {
    let (_store, session) = session();
    for file in files(include_str!("../corpus/program_files.toml")) {
        let name = &file.name;
        let answer = imported(&session, name, file.request(), &bytes(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        file.check(&session, &answer, true);
        let index = &answer.columns[0];
        assert!(index.why.contains("no index is declared"), "{name}: {}", index.why);
    }
}

/// What such files have that no column holds is refused with its name and what to do.
#[test]
fn files_that_programs_wrote_are_refused_with_what_to_do() {
    let (_store, session) = session();
    let new = ImportTableRequest::new;
    for (name, request, parts) in [
        ("polars.parquet", new(), ["\"bin\"", "BASE64"]),
        ("duckdb_wide.parquet", new(), ["\"s\"", "flatten"]),
        ("pyarrow_nested.parquet", new(), ["\"m\"", "flatten"]),
        ("pyarrow_gzip.parquet", new().flatten(true), ["GZIP", "ZSTD"]),
    ] {
        let error = imported(&session, name, request, &bytes(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        for part in parts {
            assert!(error.message().contains(part), "{name}: {part}: {error}");
        }
    }
}
