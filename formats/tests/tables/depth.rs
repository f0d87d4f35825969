//! Parquet files whose metadata nests, on a thread with little stack. What was read is dropped there,
//! too.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::nesting::{ENDLESS, arrow_schema, on_little_stack};
use crate::prelude::*;

use super::dialects::session;

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The flat list of a schema with one column inside of `depth` groups, the root among them.
fn schema(depth: usize) -> Vec<u8> {
    let mut out = vec![0x19, 0xfc];
    varint(depth + 1, &mut out);
    for level in 0..depth {
        if level > 0 {
            // It is required.
            out.extend([0x35, 0]);
        }
        let name = if level > 0 { 0x18 } else { 0x48 };
        out.extend([name, 1, b'g', 0x15, 2, 0]);
    }
    // A required INT32.
    out.extend([0x15, 2, 0x25, 0, 0x18, 1, b'i', 0]);
    out
}

fn parquet(footer: &[u8]) -> Box<Cursor<Vec<u8>>> {
    let len = (footer.len() as u32).to_le_bytes();
    Box::new(Cursor::new([b"PAR1", footer, &len, b"PAR1"].concat()))
}

fn nested_parquet(depth: usize) -> Box<Cursor<Vec<u8>>> {
    let mut footer = vec![0x15, 2];
    footer.extend(schema(depth));
    // No rows, no row groups.
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    parquet(&footer)
}

/// A footer whose version says that it is a text, which has a nested schema in it: a reader that
/// takes the version for the number that it should be finds the schema behind it.
fn hidden_parquet(depth: usize) -> Box<Cursor<Vec<u8>>> {
    let mut hidden = schema(depth);
    hidden.extend([0x16, 0, 0x19, 0x0c, 0]);
    let mut footer = vec![0x18];
    varint(hidden.len(), &mut footer);
    footer.extend(&hidden);
    // The schema that a reader of the types finds.
    footer.extend(schema(1));
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    parquet(&footer)
}

/// A footer of one column, with the schema of Arrow that writers add.
fn parquet_with_arrow(depth: usize) -> Box<Cursor<Vec<u8>>> {
    let text = STANDARD.encode(arrow_schema(depth));
    let mut footer = vec![0x15, 2];
    footer.extend(schema(1));
    footer.extend([0x16, 0, 0x19, 0x0c]);
    footer.extend([0x19, 0x1c, 0x18, 12]);
    footer.extend(b"ARROW:schema");
    footer.push(0x18);
    varint(text.len(), &mut footer);
    footer.extend(text.as_bytes());
    footer.extend([0, 0]);
    parquet(&footer)
}

fn import(session: &Session, file: Box<Cursor<Vec<u8>>>, flatten: bool) -> Result<()> {
    let request = ImportTableRequest::new().flatten(flatten);
    session.import_parquet(request, file, &Control::default()).map(drop)
}

type Read = fn(&Session, usize) -> Result<()>;

/// Files of which no nesting is taken, but whose errors differ with it.
const REFUSED: &[(&str, Read)] = &[
    ("a schema of Parquet behind a field of another type", |session, depth| {
        import(session, hidden_parquet(depth), true)
    }),
    ("a schema of Parquet with nested columns", |session, depth| {
        import(session, nested_parquet(depth + 1), false)
    }),
];

/// A Parquet file of 20 KB ended the process.
#[test]
fn no_nesting_ends_the_process() {
    /// The deepest nesting that is taken.
    const DEEPEST: usize = 16;
    let (_store, session) = session();
    // The first level is the root.
    let read = |depth| import(&session, nested_parquet(depth + 1), true);
    let [good, above, endless] =
        [DEEPEST, DEEPEST + 1, ENDLESS].map(|depth| on_little_stack(|| read(depth)));
    good.unwrap();
    above.unwrap_err();
    endless.unwrap_err();
    for (name, read) in REFUSED {
        for depth in [1, 32, 33, 64, 65, 20_000, ENDLESS] {
            let outcome = on_little_stack(|| read(&session, depth));
            assert!(outcome.is_err(), "{name} at {depth}");
        }
    }
}

#[test]
fn nesting_in_what_is_not_read_is_no_fault() {
    let (_store, session) = session();
    for depth in [1, 64, 65, 500_000] {
        on_little_stack(|| import(&session, parquet_with_arrow(depth), false))
            .unwrap_or_else(|error| panic!("{depth}: {error}"));
    }
}

/// The bound of a schema is its own, and is named.
#[test]
fn the_schema_of_a_parquet_file_holds_at_its_bound_and_not_above() {
    let (_store, session) = session();
    let kind = |groups: usize| {
        on_little_stack(|| import(&session, nested_parquet(groups), false)).unwrap_err()
    };
    assert_eq!(kind(31).kind(), ErrorKind::Unsupported);
    assert_eq!(kind(32).kind(), ErrorKind::Unsupported);
    let above = kind(33);
    assert_eq!(above.kind(), ErrorKind::LimitExceeded, "{above}");
    assert!(above.message().contains("PARQUET_DEPTH"), "{above}");
    // Counts of members that the list does not have.
    for (at, byte) in [(7, 4), (7, 0x7f), (7, 1)] {
        let mut footer = vec![0x15, 2];
        footer.extend(schema(3));
        footer.extend([0x16, 0, 0x19, 0x0c, 0]);
        assert_eq!(footer[at..at + 2], [b'g', 0x15]);
        footer[at + 2] = byte;
        let error = import(&session, parquet(&footer), true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{byte}: {error}");
        assert!(error.message().contains("its schema"), "{byte}: {error}");
    }
}
