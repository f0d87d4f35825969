//! The bytes that an append writes for its table's record.

use crate::store::tests::prelude::*;

use crate::value::wire::from_json;

fn create(session: &Session, columns: &[Value]) -> String {
    let request = json!({ "columns": columns }).to_string();
    session.create_table(from_json(request.as_bytes()).unwrap()).unwrap().to_string()
}

/// An append does not rewrite the record of its table, which contains all its columns.
#[test]
fn an_append_writes_little_of_a_wide_table() {
    let (store, session) =
        opened(Store::options().maintenance_thread(false), Arc::new(MemoryDisk::new()));
    let index = json!({"name": "t", "dataType": "INT32", "columnType": "INDEX"});
    let mut wide: Vec<Value> = (0..500)
        .map(|at| json!({"name": format!("c{at}"), "dataType": "BOOL", "columnType": "NULLABLE"}))
        .collect();
    wide.push(index.clone());
    let id = create(&session, &wide);
    let entries = |space: Space| {
        let snapshot = store.engine().snapshot();
        let mut cursor = ReadSource::Snapshot(&snapshot).cursor(space, &[], None).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = cursor.next().unwrap() {
            found.push(entry);
        }
        found
    };
    let (records, states) = (entries(Space::Records), entries(Space::RecordState));
    let append = from_json(br#"{"frame": {"columns": ["t"], "data": [["1"]]}}"#).unwrap();
    session.append_table_data(&id.as_str().into(), append).unwrap();
    assert_eq!(entries(Space::Records), records);
    let after = entries(Space::RecordState);
    assert_ne!(after, states);
    assert!(after.iter().all(|(_, value)| value.len() < 64));
    session.delete_table(&id.as_str().into()).unwrap();
    assert_eq!(entries(Space::RecordState), []);
    // Damage of the small row is detected like that of any record.
    let id = create(&session, &[index]);
    let key = entries(Space::RecordState)[0].0.clone();
    session
        .write(move |draft| {
            draft.put_raw(Space::RecordState, key, b"nonsense".to_vec());
            Ok(())
        })
        .unwrap();
    let damaged = session.get_table_metadata(&id.as_str().into());
    assert_eq!(damaged.unwrap_err().kind(), ErrorKind::Corrupt);
}
