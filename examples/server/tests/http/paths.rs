//! The paths of the pages are those of the routes, with and without a slash at the end, and what no
//! route takes is refused in the envelope of errors.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use stationdb::Store;
use stationdb_server_example::ROUTES;

use crate::client::Server;
use crate::streams::NobodyWrites;

/// A path with its variable parts as `{}`.
fn shape(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// What a page says of operations: name, verb where it has one, and the whole path.
fn stated(page: &str) -> Vec<(String, Option<String>, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let mut bases = text.split(" below `").skip(1).filter_map(|rest| rest.split('`').next());
    let base = bases.find(|base| base.starts_with("/ni")).unwrap_or_else(|| panic!("{page}"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, _, form, ..] = cells.as_slice() else { return None };
        let form = form.split([',', ';']).next()?.split(" with ").next()?.trim();
        let (verb, path) = match form.split_once(' ') {
            Some((verb, path)) => (Some(verb.to_owned()), path),
            None => (None, form),
        };
        let is_routed = ROUTES.iter().any(|(_, _, names)| names.contains(name));
        let path = match path {
            // The description of a service stands at its root.
            "/" => base.split("/service-groups").next()?.to_owned(),
            _ => format!("{base}/{path}"),
        };
        // A column of errors is no path.
        let is_verb =
            verb.as_deref().is_none_or(|verb| verb.bytes().all(|b| b.is_ascii_uppercase()));
        (is_routed && is_verb && !form.is_empty()).then(|| ((*name).to_owned(), verb, shape(&path)))
    };
    text.lines().filter_map(row).collect()
}

/// Work items and test plans, utilizations and upload sessions have the paths that clients ask for.
#[test]
fn the_routes_have_the_paths_of_the_pages() {
    let mut stated_paths = 0;
    for page in ["assets.md", "files.md", "tables.md", "test-plans.md", "work-items.md"] {
        for (name, verb, path) in stated(page) {
            stated_paths += 1;
            let routes: Vec<_> =
                ROUTES.iter().filter(|(_, _, names)| names.contains(&name.as_str())).collect();
            let fits = |(of, route, _): &&&(&str, &str, &[&str])| {
                shape(route) == path && verb.as_deref().is_none_or(|verb| verb == *of)
            };
            assert!(routes.iter().any(|route| fits(&route)), "{name}: {verb:?} {path}: {routes:?}");
        }
    }
    assert_eq!(stated_paths, 53, "operations whose path is stated");
}

/// Clients of the services ask for `/nifile/v1/`.
#[test]
fn a_slash_at_the_end_changes_nothing() {
    let server = Server::new();
    for path in [
        "/nitestmonitor/v2",
        "/nispec/v1",
        "/nidataframe/v1",
        "/nifile/v1",
        "/nidataframe/v1/tables",
        "/nifeed/v1/feeds",
        "/niworkitem/v1/workitems/7",
    ] {
        let (plain, slash) = (server.get(path), server.get(&format!("{path}/")));
        assert_eq!(plain.status, if path.ends_with('7') { 404 } else { 200 }, "{path}: {plain:?}");
        assert_eq!((plain.status, plain.json()), (slash.status, slash.json()), "{path}");
    }
    for path in ["/nitestmonitor/v2//", "//nitestmonitor/v2", "/", "/nitestmonitor/v2/Products"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn what_no_route_takes_is_refused_with_the_record_of_errors() {
    let server = Server::new();
    let products = "/nitestmonitor/v2/products";
    for (verb, path, status, name) in [
        ("GET", "/nowhere", 404, "StationDb.NotFound"),
        ("PUT", products, 405, "StationDb.InvalidArgument"),
        ("OPTIONS", products, 405, "StationDb.InvalidArgument"),
        ("GET", "/nitestmonitor/v2/products/%ff", 400, "StationDb.InvalidArgument"),
        ("DELETE", "/nitestmonitor/v2/products/%ff", 400, "StationDb.InvalidArgument"),
        ("GET", "/nitestmonitor/v2/products/%zz", 404, "TestMonitor.InvalidId"),
        ("GET", "/nitestmonitor/v2/products/a%2Fb", 404, "TestMonitor.InvalidId"),
    ] {
        let reply = server.send(verb, path, &[], b"");
        assert_eq!((reply.status, reply.is_whole), (status, true), "{verb} {path}: {reply:?}");
        assert_eq!(reply.headers["content-type"], "application/json", "{verb} {path}");
        assert_eq!(reply.json()["error"]["name"], name, "{verb} {path}");
        let allowed = reply.headers.get("allow").map(String::as_str);
        assert_eq!(allowed, (status == 405).then_some("POST,GET,HEAD"), "{verb} {path}");
    }
    // The head of a read is that of the read, without its body.
    let (read, head) = (server.get(products), server.send("HEAD", products, &[], b""));
    assert_eq!((head.status, head.body.as_slice()), (200, b"".as_slice()));
    assert_eq!(head.headers["content-length"], read.body.len().to_string());
}

/// Of the operations that refuse nothing to a caller who may do everything, four say what never
/// changes, and five are ended by a deadline or by missing rights.
#[test]
fn what_is_never_refused_needs_rights_and_time_where_it_has_work() {
    let policy = Store::options().access_policy(NobodyWrites);
    let server = Server::start(policy, Duration::from_secs(60));
    let made = server
        .post("/nitestmonitor/v2/products", &json!({"products": [{"partNumber": "P"}]}))
        .json();
    let product =
        format!("/nitestmonitor/v2/products/{}", made["products"][0]["id"].as_str().unwrap());
    let refused = server.send("DELETE", &product, &[("x-user", "guest")], b"");
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(server.get(&product).status, 200);
    let late = Server::start(Store::options(), Duration::ZERO);
    for (verb, path, status) in [
        ("DELETE", product.as_str(), 504),
        ("GET", "/niapm/v1/asset-summary", 504),
        ("GET", "/niapm/v1/assets-in-use", 504),
        ("GET", "/nifile/v1/service-groups/Default/upload-sessions", 504),
        ("GET", "/stationdb/v1/unfinished-runs", 504),
        ("GET", "/nitestmonitor/v2", 200),
        ("GET", "/nispec/v1", 200),
        ("GET", "/nidataframe/v1", 200),
        ("GET", "/nifile/v1", 200),
    ] {
        let reply = late.send(verb, path, &[], b"");
        assert_eq!(reply.status, status, "{verb} {path}: {reply:?}");
    }
}
