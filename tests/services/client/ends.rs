//! Extreme values of clients: positions and timeouts without limit, fields that a search text names
//! itself, events of a table that is appended to.

use crate::prelude::*;

fn open() -> (Store, Session) {
    let (store, session) =
        opened(StoreOptions::default().maintenance_thread(false), Arc::new(MemoryDisk::new()));
    (store, session)
}

fn request<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    stationdb::from_json(value.to_string().as_bytes()).unwrap()
}

#[test]
fn a_reader_of_changes_may_wait_for_ever() {
    let (_store, session) = open();
    let mut changes = session.changes(Position::START);
    let writer = session.clone();
    let thread = std::thread::spawn(move || {
        let feed = serde_json::json!({"name": "tools", "platform": "WINDOWS"});
        writer.create_feed(request(feed)).unwrap()
    });
    let event = changes.next(Duration::MAX).unwrap().unwrap();
    assert_eq!(event.id, thread.join().unwrap().id.as_str());
    assert_eq!(changes.next(Duration::ZERO).unwrap(), None);
    let mut last = session.changes(Position(u64::MAX));
    assert_eq!(last.poll().unwrap(), None);
    assert_eq!(last.position(), Position(u64::MAX));
}

#[test]
fn a_subscriber_is_neither_ahead_of_the_last_commit_nor_moved_back() {
    let (store, session) = open();
    let from = store.register("replica").unwrap();
    let _ = session.create_products(request(serde_json::json!([{"partNumber": "a"}]))).unwrap();
    let last = session.position();
    assert!(from < last);
    let refused = |name: &str, to: Position| store.advance(name, to).unwrap_err().kind();
    assert_eq!(refused("replica", Position(last.0 + 1)), ErrorKind::InvalidArgument);
    store.advance("replica", last).unwrap();
    assert_eq!(refused("replica", from), ErrorKind::InvalidArgument);
    assert_eq!(refused("other", last), ErrorKind::NotFound);
    assert_eq!(session.register_subscriber("replica").unwrap(), last);
}

#[test]
fn the_event_of_an_append_says_whose_table_it_is() {
    let (_store, session) = open();
    let columns = serde_json::json!([{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]);
    let table = serde_json::json!({"columns": columns, "name": "noise", "workspace": "lab", "properties": {"a": "b"}});
    let id = session.create_table(request(table)).unwrap();
    let append = |value| session.append_table_data(&id, request(value)).unwrap();
    append(serde_json::json!({"frame": {"data": [["1"], ["2"]]}}));
    append(serde_json::json!({"endOfData": true}));
    let mut changes = session.changes(Position::START);
    let events: Vec<ChangeEvent> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let told = events.iter().map(|event| {
        let rows = event.detail.as_ref().and_then(|detail| detail["rowCount"].as_u64());
        (
            event.what.as_str(),
            event.name.as_str(),
            event.workspace.as_str(),
            event.id.as_str(),
            rows,
        )
    });
    let about = |what, rows| (what, "noise", "lab", id.as_str(), rows);
    let expected = [about("CREATED", None), about("ROWS_APPENDED", Some(2)), about("CLOSED", None)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let found = session.get_table_metadata(&id).unwrap();
    assert_eq!(
        (found.row_count, found.supports_append, found.metadata_revision),
        (Some(2), Some(false), Some(1))
    );
    assert_eq!((found.columns.unwrap().len(), found.properties.unwrap().len()), (1, 1));
}

#[cfg(feature = "search")]
#[test]
fn snippets_show_what_was_found_in_a_field_that_the_text_names() {
    let (_store, session) = open();
    let put = |name: &str, remark: &str| {
        let upload = serde_json::json!({"metadata": {"Name": name, "remark": remark}});
        session.upload_file(&mut &b"x"[..], request(upload), &Control::default()).unwrap()
    };
    put("bearing <b>noise</b> & more", "amplifier of the bearing");
    let search = serde_json::json!({"text": "name:noise amplifier", "fields": ["properties"], "highlight": true});
    let found = session.search(request(search)).unwrap();
    let shown: Vec<(&str, &str)> = found.hits[0]
        .snippets
        .iter()
        .map(|snippet| (snippet.field.as_str(), snippet.text.as_str()))
        .collect();
    // The snippet is plain text. A client that adds markup must escape it, using the character
    // positions of the highlights.
    assert_eq!(
        shown,
        [
            ("name", "bearing <b>noise</b> & more"),
            ("properties", "remark amplifier of the bearing")
        ]
    );
    let marked = &found.hits[0].snippets[0].highlights;
    assert_eq!(marked.iter().map(|mark| (mark.start, mark.end)).collect::<Vec<_>>(), [(11, 16)]);
    let search =
        serde_json::json!({"text": "bearing", "fields": ["properties"], "highlight": true});
    let found = session.search(request(search)).unwrap();
    assert_eq!(
        found.hits[0].snippets.iter().map(|snippet| &snippet.field).collect::<Vec<_>>(),
        ["properties"]
    );
}
