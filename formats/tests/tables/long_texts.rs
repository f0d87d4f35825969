//! Texts of many blocks, which are parsed beside each other: the rows keep their order, and of
//! several faults the first one is told.

use std::fmt::Write as _;
use std::io::Read;

use crate::prelude::*;

use super::dialects::session;

/// Rows in more than one block behind the first rows.
const ROWS: u64 = 120_000;

/// Quoted values have separators, quotes and line ends; some lines are blank.
fn text(rows: u64) -> String {
    let mut out = "n,note,v\n".to_owned();
    for row in 0..rows {
        let note = match row % 5 {
            0 => format!("\"a {row}, \"\"quoted\"\"\nand more\""),
            1 => "\"\"".to_owned(),
            2 => String::new(),
            _ => format!("plain text of some length {row}"),
        };
        let _ = writeln!(out, "{row},{note},{}.5", row % 1000);
        if row % 7 == 0 {
            out.push('\n');
        }
    }
    out
}

fn line_of(text: &str, part: &str) -> u64 {
    let at = text.find(part).unwrap();
    1 + text[..at].matches('\n').count() as u64
}

fn import(input: &mut dyn Read) -> Result<(Store, Session, ImportTableResponse)> {
    let (store, session) = session();
    let answer = session.import_csv(ImportTableRequest::new(), input, &Control::default())?;
    Ok((store, session, answer))
}

#[test]
fn rows_of_all_blocks_keep_their_order_and_values() {
    let text = text(ROWS);
    assert!(text.len() > 3 * 1024 * 1024, "{}", text.len());
    for (text, is_cr) in [(text.clone(), false), (text.replace('\n', "\r"), true)] {
        let (_store, session, answer) = import(&mut text.as_bytes()).unwrap();
        assert_eq!(answer.row_count, ROWS as i64);
        let id = answer.id.unwrap();
        let mut row = 0u64;
        for batch in session.scan(&id, ScanRequest::new(), &Control::default()).unwrap() {
            for cells in stationdb::tables::readers::batch_rows(&batch.unwrap()) {
                let note = match row % 5 {
                    0 if is_cr => Some(format!("a {row}, \"quoted\"\rand more")),
                    0 => Some(format!("a {row}, \"quoted\"\nand more")),
                    1 => Some(String::new()),
                    2 => None,
                    _ => Some(format!("plain text of some length {row}")),
                };
                let v = Some(format!("{}.5", row % 1000));
                let number = Some(row.to_string());
                assert_eq!(cells, [number.clone(), number, note, v]);
                row += 1;
            }
        }
        assert_eq!(row, ROWS);
    }
}

#[test]
fn of_several_faults_the_first_is_told_with_its_line() {
    let good = text(ROWS);
    let bad = |row: u64, with: &str| {
        let wrong = format!("\n{row},{with}\n");
        move |text: &str| {
            let at = text.find(&format!("\n{row},")).unwrap();
            let end = at + 1 + text[at + 1..].find('\n').unwrap();
            format!("{}{wrong}{}", &text[..at], &text[end + 1..])
        }
    };
    // Rows whose notes have one line.
    for (row, with, part) in [
        (40_003, "x,none", "\"none\""),
        (40_003, "x", "2 values"),
        (40_003, "x,1,2", "more than 3"),
        (40_003, "x\"y,none", "\"none\""),
        (40_003, "\"x\"y,1", "closing quote"),
        (40_003, "x\0,1", "NUL"),
        (40_003, "\"x,1", "closing quote"),
    ] {
        let text = bad(row, with)(&good);
        // A fault in a later block is not the one that is told.
        let text = text + "9,x,other\n";
        let line = line_of(&text, &format!("\n{row},")) + 1;
        let error = import(&mut text.as_bytes()).map(drop).unwrap_err();
        let Some(Place::Line { line: found, .. }) = error.place().cloned() else {
            panic!("{with:?}: {error}")
        };
        assert!(error.message().contains(part), "{with:?}: {error}");
        // Another quote than the missing one closes the value, in a later line.
        assert!(found == line || with == "\"x,1" && found >= line, "{with:?}: {error}");
    }
}

/// A reader that fails at its end.
struct Failing<'t>(&'t [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Err(std::io::Error::other("the stick was pulled out"));
        }
        self.0.read(out)
    }
}

#[test]
fn a_failure_of_the_file_is_told_behind_the_rows_before_it() {
    let text = text(ROWS);
    let lines = text.matches('\n').count() as u64;
    let error = import(&mut Failing(text.as_bytes())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(error.place(), Some(&Place::Line { line: lines + 1, column: None }), "{error}");
    let row = "\n40003,";
    let text = text.replacen(row, "\nnone,", 1);
    let error = import(&mut Failing(text.as_bytes())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.message().contains("\"none\""), "{error}");
}
