//! Every reader of bytes and texts from outside is given nesting at its bound, one level above it,
//! and a million levels, on a thread with little stack. What was read is dropped there, too.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stationdb::feeds::*;
use stationdb::files::*;
use stationdb::prelude::*;
use stationdb::products::*;
use stationdb::search::*;
use stationdb::tables::*;
use stationdb::*;
use stationdb_formats::ImportFiles;

use crate::package::package_with;

/// Half of the least stack that threads commonly have by default on any system.
const STACK_BYTES: usize = 512 * 1024;
const ENDLESS: usize = 1_000_000;

fn parentheses(inner: &str, depth: usize) -> String {
    format!("{}{inner}{}", "(".repeat(depth), ")".repeat(depth))
}

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

/// The message of an Arrow schema with a field inside of `depth` others.
fn arrow_schema(depth: usize) -> Vec<u8> {
    fn pad(out: &mut Vec<u8>) {
        out.resize(out.len().next_multiple_of(4), 0);
    }
    fn put(out: &mut Vec<u8>, words: &[u32]) {
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    let mut out = Vec::new();
    // The root is behind the tables of fields: message (vtable at 4), schema, field.
    put(&mut out, &[16]);
    // Message: version 4 (V5) of 16 bits, type of its header 1 (schema), header.
    out.extend([10, 0, 12, 0, 4, 0, 6, 0, 8, 0]);
    pad(&mut out);
    assert_eq!(out.len(), 16);
    put(&mut out, &[12]);
    out.extend([4, 0, 1, 0]);
    // The schema follows behind its vtable.
    put(&mut out, &[4 + 8]);
    out.extend([8, 0, 8, 0, 0, 0, 4, 0]);
    let schema = out.len();
    put(&mut out, &[8, 4]);
    assert_eq!(schema, 36);
    // One field; its vtable is behind the vector.
    put(&mut out, &[1, 4 + 16]);
    // name, nullable, type_type, type, dictionary, children.
    out.extend([16, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    let vtable = out.len() - 16;
    for _ in 0..depth {
        let table = out.len();
        put(&mut out, &[(table - vtable) as u32, 4, 1, 4]);
    }
    let table = out.len();
    put(&mut out, &[(table - vtable) as u32, 4, 0]);
    out
}

fn arrow_stream(depth: usize) -> Vec<u8> {
    let schema = arrow_schema(depth);
    let mut out = u32::MAX.to_le_bytes().to_vec();
    out.extend((schema.len() as u32).to_le_bytes());
    out.extend(schema);
    out.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    out
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

struct World {
    session: Session,
    table: TableId,
    feed: FeedId,
    _store: Store,
    _directory: tempfile::TempDir,
}

fn world() -> World {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = vec![Column::new("i", DataType::Int64).column_type(ColumnType::Index)];
    let table = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let platform = Some(Platform::ni_linux_rt());
    let request = CreateFeedRequest::new("tools").maybe_platform(platform);
    let feed = session.create_feed(request).unwrap().id;
    World { session, table, feed, _store: store, _directory: directory }
}

type Read = fn(&World, usize) -> Result<()>;

fn import(world: &World, file: Box<Cursor<Vec<u8>>>, flatten: bool) -> Result<()> {
    let request = ImportTableRequest::new().flatten(flatten);
    world.session.import_parquet(request, file, &Control::default()).map(drop)
}

/// The readers, and the deepest nesting that each takes.
const READERS: &[(&str, usize, Read)] = &[
    ("a filter of records", 100, |world, depth| {
        let filter = Some(parentheses("partNumber = \"x\"", depth));
        let query = QueryProductsRequest::new().maybe_filter(filter);
        world.session.query_products(query).map(drop)
    }),
    ("a filter of rows", 100, |world, depth| {
        let filter = Some(parentheses("i = 1", depth));
        let query = QueryTableDataRequest::new().maybe_filter(filter);
        world.session.query_table_data(&world.table, query).map(drop)
    }),
    ("a search of files", 32, |world, depth| {
        let filter = Some(parentheses("name:x", depth));
        let request = SearchFilesRequest::new().maybe_filter(filter);
        world.session.search_files(request).map(drop)
    }),
    ("a text query", 16, |world, depth| {
        let request = SearchRequest::new().text(parentheses("a", depth));
        world.session.search(request).map(drop)
    }),
    ("lists of JSON", 127, |_, depth| {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        from_json::<serde_json::Value>(text.as_bytes()).map(drop)
    }),
    ("objects of JSON in a request", 126, |_, depth| {
        let text = format!("{{\"unknown\":{}1{}}}", "{\"a\":".repeat(depth), "}".repeat(depth));
        from_json::<serde_json::Value>(text.as_bytes()).map(drop)
    }),
    // The first level is the root.
    ("the schema of Parquet", 16, |world, depth| import(world, nested_parquet(depth + 1), true)),
];

/// Readers of which no nesting is taken, but whose errors differ with it.
const REFUSED: &[(&str, Read)] = &[
    ("a schema of Parquet behind a field of another type", |world, depth| {
        import(world, hidden_parquet(depth), true)
    }),
    ("a schema of Parquet with nested columns", |world, depth| {
        import(world, nested_parquet(depth + 1), false)
    }),
    ("an Arrow stream", |world, depth| {
        world.session.append_arrow(&world.table, &mut &arrow_stream(depth)[..], None).map(drop)
    }),
];

fn upload(world: &World, bytes: &[u8]) -> Result<()> {
    let control = Control::default();
    world.session.upload_package_content(&world.feed, &mut &*bytes, None, true, &control).map(drop)
}

/// Runs `f` on a thread with little stack.
fn on_little_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, f).unwrap().join().unwrap()
    })
}

/// A Parquet file of 20 KB ended the process.
#[test]
fn no_nesting_ends_the_process() {
    let world = world();
    for (name, deepest, read) in READERS {
        let [good, above, endless] =
            [*deepest, deepest + 1, ENDLESS].map(|depth| on_little_stack(|| read(&world, depth)));
        good.unwrap_or_else(|error| panic!("{name} at {deepest}: {error}"));
        above.unwrap_err();
        endless.unwrap_err();
    }
    for (name, read) in REFUSED {
        for depth in [1, 32, 33, 64, 65, 20_000, ENDLESS] {
            let outcome = on_little_stack(|| read(&world, depth));
            assert!(outcome.is_err(), "{name} at {depth}");
        }
    }
}

#[test]
fn nesting_in_what_is_not_read_is_no_fault() {
    let world = world();
    for depth in [1, 64, 65, 500_000] {
        on_little_stack(|| import(&world, parquet_with_arrow(depth), false))
            .unwrap_or_else(|error| panic!("{depth}: {error}"));
    }
    // A field of a package that nests is a text like any other.
    for depth in [1, 1_000, 30_000] {
        let depends = format!("Depends: {}\n", parentheses("x", depth));
        on_little_stack(|| upload(&world, &package_with("tool", &depends)))
            .unwrap_or_else(|error| panic!("{depth}: {error}"));
    }
}

/// The bound of a schema is its own, and is named.
#[test]
fn the_schema_of_a_parquet_file_holds_at_its_bound_and_not_above() {
    let world = world();
    let kind = |groups: usize| {
        on_little_stack(|| import(&world, nested_parquet(groups), false)).unwrap_err()
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
        let error = import(&world, parquet(&footer), true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{byte}: {error}");
        assert!(error.message().contains("its schema"), "{byte}: {error}");
    }
}
