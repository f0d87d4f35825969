//! CSV files as programs write them, each with the table that it becomes.

use crate::prelude::*;
use std::io::Read;

pub(super) fn session() -> (Store, Session) {
    let options = Store::options().maintenance_thread(false);
    let (store, session) = opened(options, Arc::new(MemoryDisk::default()));
    (store, session)
}

/// A file of a corpus, and what it becomes.
#[derive(serde::Deserialize)]
pub(super) struct File {
    /// The program, or the name of the file in `tests/files`.
    pub(super) name: String,
    /// The content of a file that is not in `tests/files`.
    #[serde(default)]
    text: String,
    #[serde(default)]
    request: Option<String>,
    /// Names and types without the index of row numbers.
    columns: Vec<String>,
    /// The rows; a cell `~` is null.
    rows: Vec<Vec<String>>,
}

#[derive(serde::Deserialize)]
struct Corpus {
    file: Vec<File>,
}

pub(super) fn files(corpus: &str) -> Vec<File> {
    toml::from_str::<Corpus>(corpus).unwrap().file
}

impl File {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn request(&self) -> ImportTableRequest {
        stationdb::from_json(self.request.as_deref().unwrap_or("{}").as_bytes()).unwrap()
    }

    /// Checks columns and rows, and returns the cells and the number of columns for row numbers.
    /// Where `marks` are given, a `?` follows the names of NULLABLE columns.
    pub(super) fn check(
        &self,
        session: &Session,
        answer: &ImportTableResponse,
        marks: bool,
    ) -> (Vec<Vec<Option<String>>>, usize) {
        let name = &self.name;
        let skip = usize::from(self.request().index_column.is_none());
        let shown = |column: &ImportedColumn| {
            let is_marked = marks && column.column_type == ColumnType::Nullable;
            let mark = if is_marked { "?" } else { "" };
            let data_type = serde_json::to_value(column.data_type).unwrap();
            format!("{}{mark}: {}", column.name, data_type.as_str().unwrap())
        };
        let found: Vec<String> = answer.columns[skip..].iter().map(shown).collect();
        assert_eq!(found, self.columns, "{name}: {:#?}", answer.columns);
        let table: Vec<Vec<Option<String>>> = rows(session, answer)
            .into_iter()
            .map(|row| row.into_iter().skip(skip).collect())
            .collect();
        let cells = |row: &Vec<String>| row.iter().map(|text| cell(text)).collect();
        let expected: Vec<Vec<Option<String>>> = self.rows.iter().map(cells).collect();
        assert_eq!(table, expected, "{name}");
        (expected, skip)
    }
}

fn cell(text: &str) -> Option<String> {
    (text != "~").then(|| text.to_owned())
}

pub(super) fn rows(session: &Session, answer: &ImportTableResponse) -> Vec<Vec<Option<String>>> {
    let id = answer.id.clone().unwrap();
    let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
    page.frame.to_data_frame().data
}

#[test]
fn files_of_many_programs_become_their_tables() {
    let (_store, session) = session();
    for file in files(include_str!("../corpus/dialects.toml")) {
        let program = &file.name;
        let answer = session
            .import_csv(file.request(), &mut file.text.as_bytes(), &Control::default())
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let (expected, skip) = file.check(&session, &answer, false);
        assert_eq!(answer.row_count, expected.len() as i64, "{program}");
        // The report counts the nulls, and says why each column is what it is.
        for (at, column) in answer.columns.iter().enumerate() {
            assert!(!column.why.is_empty(), "{program}: {}", column.name);
            let nulls = match at.checked_sub(skip) {
                Some(at) => expected.iter().filter(|row| row[at].is_none()).count(),
                None => 0,
            };
            assert_eq!(column.null_count, nulls as i64, "{program}: {}", column.name);
        }
        if skip == 1 {
            let index = &answer.columns[0];
            assert_eq!((index.column_type, index.data_type), (ColumnType::Index, DataType::Int64));
            assert!(index.why.contains("indexColumn"), "{program}: {}", index.why);
        }
    }
}

#[test]
fn the_report_says_separator_header_zone_and_reason() {
    let (_store, session) = session();
    let text =
        "# note\nat;v;part;huge;day\n2024-01-31 12:00;1,5;007;12345678901234567890;1/2/2024\n";
    let request = ImportTableRequest::new();
    let answer = session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap();
    assert_eq!((answer.separator.as_deref(), answer.header_line), (Some(";"), Some(2)));
    let why = |name: &str| {
        let column = answer.columns.iter().find(|column| column.name == name).unwrap();
        (column.why.clone(), column.time_zone.clone())
    };
    for (name, part, zone) in [
        ("row", "no index is declared", None),
        ("at", "times without a zone are taken as UTC", Some("UTC")),
        ("v", "decimal comma", None),
        ("part", "\"007\" in line 3 begins with a zero", None),
        ("huge", "more digits than a number keeps", None),
        ("day", "say it with dateOrder", None),
    ] {
        let (why, found) = why(name);
        assert!(why.contains(part), "{name}: {why}");
        assert_eq!(found.as_deref(), zone, "{name}");
    }
    let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
    // Values are UTC, so that zone needs no property.
    assert!(!table.columns.unwrap()[1].properties.contains_key("timeZone"));
}

/// A reader that imports a second file into the table before it gives the first one.
struct Meanwhile<'s> {
    session: &'s Session,
    id: &'s TableId,
    text: &'s [u8],
    second: Option<Result<(), ErrorKind>>,
}

impl Read for Meanwhile<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.second.is_none() {
            // Not while the header is read, which is before the import begins to number.
            let request = ImportTableRequest::new().id(self.id.clone());
            let answer =
                self.session.import_csv(request, &mut "v\n9\n".as_bytes(), &Control::default());
            self.second = Some(answer.map(drop).map_err(|error| error.kind()));
        }
        self.text.read(into)
    }
}

/// Two imports at once would number their rows from the same number.
#[test]
fn a_table_is_numbered_by_one_import_at_a_time() {
    let (_store, session) = session();
    let import = |request: ImportTableRequest, text: &mut dyn Read| {
        session.import_csv(request, text, &Control::default())
    };
    let first = import(ImportTableRequest::new(), &mut "v\n1\n2\n".as_bytes()).unwrap();
    let id = first.id.unwrap();
    // More than one read of the source, so that one is in the middle of the import.
    let long: String = (0..200_000).map(|at| format!("{at}\n")).collect();
    let text = format!("v\n{long}");
    let (head, rest) = text.as_bytes().split_at(100_000);
    let mut rest = Meanwhile { session: &session, id: &id, text: rest, second: None };
    import(ImportTableRequest::new().id(id.clone()), &mut head.chain(&mut rest)).unwrap();
    assert_eq!(rest.second, Some(Err(ErrorKind::Conflict)));
    // Afterwards the next one goes on, also after one that failed.
    let bad = import(ImportTableRequest::new().id(id.clone()), &mut "w\n9\n".as_bytes());
    assert!(bad.is_err());
    import(ImportTableRequest::new().id(id.clone()), &mut "v\n9\n".as_bytes()).unwrap();
    let stream = session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
    let numbers: Vec<i64> =
        stream.flat_map(|batch| super::int64_values(&batch.unwrap(), 0).to_vec()).collect();
    assert!(numbers == (0..200_003).collect::<Vec<_>>(), "{}", numbers.len());
}

/// The rows of a second file are numbered on, and the numbers of the table stay unique.
#[test]
fn a_second_file_is_numbered_on() {
    let (_store, session) = session();
    let control = Control::default();
    let made =
        session.import_csv(ImportTableRequest::new(), &mut &b"v\n2\n1\n"[..], &control).unwrap();
    let id = made.id.clone().unwrap();
    let more = ImportTableRequest::new().id(id.to_string());
    let again = session.import_csv(more, &mut &b"v\n0\n"[..], &control).unwrap();
    assert_eq!((again.row_count, again.columns.len()), (1, 2));
    let cells = |row: &str, v: &str| vec![cell(row), cell(v)];
    assert_eq!(rows(&session, &made), [cells("0", "2"), cells("1", "1"), cells("2", "0")]);
    // A number is not given again after its row was deleted.
    let first = stationdb::tables::DeleteRowsRequest::new().index_before("1");
    assert_eq!(session.delete_rows(&id, first).unwrap().row_count, 1);
    let more = ImportTableRequest::new().id(id.to_string());
    session.import_csv(more, &mut &b"v\n7\n"[..], &control).unwrap();
    assert_eq!(rows(&session, &made), [cells("1", "1"), cells("2", "0"), cells("3", "7")]);
}
