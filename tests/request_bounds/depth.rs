//! Every reader of bytes and texts from outside is given nesting at its bound, one level above it,
//! and a million levels, on a thread with little stack. What was read is dropped there, too. The
//! readers of files are given it in `formats`.

use stationdb::feeds::*;
use stationdb::files::*;
use stationdb::prelude::*;
use stationdb::products::*;
use stationdb::search::*;
use stationdb::tables::*;
use stationdb::*;

use crate::nesting::{ENDLESS, arrow_schema, on_little_stack};
use crate::package::package_with;

fn parentheses(inner: &str, depth: usize) -> String {
    format!("{}{inner}{}", "(".repeat(depth), ")".repeat(depth))
}

fn arrow_stream(depth: usize) -> Vec<u8> {
    let schema = arrow_schema(depth);
    let mut out = u32::MAX.to_le_bytes().to_vec();
    out.extend((schema.len() as u32).to_le_bytes());
    out.extend(schema);
    out.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    out
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
    ("lists of JSON below 100 levels of children", 47, |_, depth| {
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!("{}{lists}{}", "{\"children\":[".repeat(100), "]}".repeat(100));
        from_json::<serde_json::Value>(text.as_bytes()).map(drop)
    }),
    ("children of JSON", 100, |_, depth| {
        let text = format!("{}{{}}{}", "{\"children\":[".repeat(depth), "]}".repeat(depth));
        from_json::<serde_json::Value>(text.as_bytes()).map(drop)
    }),
];

/// Readers of which no nesting is taken, but whose errors differ with it.
const REFUSED: &[(&str, Read)] = &[("an Arrow stream", |world, depth| {
    world.session.append_arrow(&world.table, &mut &arrow_stream(depth)[..], None).map(drop)
})];

fn upload(world: &World, bytes: &[u8]) -> Result<()> {
    let control = Control::default();
    world.session.upload_package_content(&world.feed, &mut &*bytes, None, true, &control).map(drop)
}

#[test]
fn no_nesting_ends_the_process() {
    let world = world();
    for (name, deepest, read) in READERS {
        let [good, above, endless] =
            [*deepest, deepest + 1, ENDLESS].map(|depth| on_little_stack(|| read(&world, depth)));
        good.unwrap_or_else(|error| panic!("{name} at {deepest}: {error}"));
        assert!(above.is_err(), "{name} above {deepest}");
        assert!(endless.is_err(), "{name}, endless");
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
    // A field of a package that nests is a text like any other.
    for depth in [1, 1_000, 30_000] {
        let depends = format!("Depends: {}\n", parentheses("x", depth));
        on_little_stack(|| upload(&world, &package_with("tool", &depends)))
            .unwrap_or_else(|error| panic!("{depth}: {error}"));
    }
}
