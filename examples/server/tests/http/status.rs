//! The status as a page, as JSON and as metrics.

use serde_json::json;
use stationdb::status::AttentionCode;

use crate::client::Server;

fn text(server: &Server, path: &str, kind: &str) -> String {
    let reply = server.get(path);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.headers["content-type"].starts_with(kind), "{reply:?}");
    String::from_utf8(reply.body).unwrap()
}

/// The value of a metric.
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[test]
fn the_status_is_a_page_a_record_and_metrics() {
    let server = Server::new();
    let products = json!({"products": [{"partNumber": "P-1"}]});
    assert_eq!(server.post("/nitestmonitor/v2/products", &products).status, 201);
    let page = text(&server, "/status", "text/html");
    assert!(page.contains("Nothing needs you.") && page.contains("writes.areTaken"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    let record = server.get("/status.json").json();
    assert_eq!(record["writes"]["areTaken"], json!(true));
    let metrics = text(&server, "/metrics", "text/plain");
    assert_eq!(metric(&metrics, "stationdb_writes_taken"), 1.0);
    assert!(metric(&metrics, "stationdb_commits_total") >= 1.0, "{metrics}");
    for code in AttentionCode::ALL {
        let name = format!("stationdb_attention{{code=\"{code}\"}}");
        assert_eq!(metric(&metrics, &name), 0.0);
    }
    // Each metric is announced once, and each line is a name and a number.
    let helps: Vec<_> = metrics.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let distinct: std::collections::BTreeSet<_> = helps.iter().collect();
    assert_eq!(helps.len(), distinct.len());
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("stationdb_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

/// The directory goes away below the server: all three tell it.
#[test]
fn a_store_that_needs_somebody_says_so() {
    let server = Server::new();
    let away = tempfile::tempdir().unwrap();
    std::fs::rename(server.directory.path(), away.path().join("moved")).unwrap();
    let page = text(&server, "/status", "text/html");
    assert!(page.contains("<h2>LATCHED</h2>"), "{page}");
    let record = server.get("/status.json").json();
    assert_eq!(record["attention"][0]["code"], json!("LATCHED"));
    let metrics = text(&server, "/metrics", "text/plain");
    assert_eq!(metric(&metrics, "stationdb_attention{code=\"LATCHED\"}"), 1.0);
    assert_eq!(metric(&metrics, "stationdb_writes_taken"), 0.0);
    std::fs::rename(away.path().join("moved"), server.directory.path()).unwrap();
}
