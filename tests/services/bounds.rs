//! Limits of requests: one below, at the limit, and one above.

use std::io::Read as _;

use crate::prelude::*;
use stationdb::ErrorKind::{InvalidArgument, LimitExceeded, Unsupported};
use stationdb::faults::limits;
use stationdb::prelude::SearchService;

use crate::assets as asset_tests;
use crate::holds_at::holds_at;
use crate::test_store::TestStore;

fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn pages_hold_at_the_limit_and_not_above() {
    let store = TestStore::new();
    let session = store.session();
    holds_at(limits::TABLES_TAKE, InvalidArgument, |take| {
        session.query_tables(of(json!({ "take": take, "filter": "" })))
    });
    holds_at(limits::ASSETS_TAKE, InvalidArgument, |take| {
        session.query_assets(of(json!({ "take": take })))
    });
    holds_at(limits::RESULTS_TAKE, LimitExceeded, |take| {
        session.query_results(of(json!({ "take": take })))
    });
    holds_at(limits::FILES_TAKE, InvalidArgument, |take| {
        session.get_files(of(json!({ "take": take })))
    });
    holds_at(limits::FILES_TAKE_DEFAULT, InvalidArgument, |take| {
        session.query_files(of(json!({ "take": take })))
    });
    holds_at(limits::SEARCH_TAKE, InvalidArgument, |take| {
        session.search(of(json!({ "take": take })))
    });
    let table = table(&session);
    holds_at(limits::ROWS_TAKE, InvalidArgument, |take| {
        session.get_table_data(&table.as_str().into(), of(json!({ "take": take })))
    });
    holds_at(limits::ROWS_TAKE, InvalidArgument, |take| {
        session.query_table_data(&table.as_str().into(), of(json!({ "take": take })))
    });
}

fn table(session: &Session) -> String {
    let columns = json!([{ "name": "i", "dataType": "INT64", "columnType": "INDEX" }]);
    session.create_table(of(json!({ "columns": columns }))).unwrap().to_string()
}

#[test]
fn batches_hold_at_the_limit_and_not_above() {
    let store = TestStore::new();
    let session = store.session();
    let ids = |count: usize| (0..count).map(|at| format!("nobody-{at}")).collect::<Vec<_>>();
    holds_at(limits::BATCH_ITEMS, LimitExceeded, |count| {
        session.delete_assets(ids(count).into_iter().map(Into::into).collect())
    });
    let asset = asset_tests::create(&session, vec![asset_tests::request("1")])
        .assets
        .unwrap()
        .pop()
        .unwrap();
    let asset_id = asset.id.unwrap().to_string();
    holds_at(limits::BATCH_ITEMS, LimitExceeded, |count| {
        session.link_files(&asset_id.as_str().into(), vec!["one".to_owned().into(); count])
    });
    holds_at(limits::UTILIZATION_ASSETS, LimitExceeded, |count| {
        let named = json!({ "modelName": "PXI-4071", "vendorName": "NI", "serialNumber": "none", "busType": "PCI_PXI" });
        session.start_utilization(of(
            json!({ "assetIdentifications": vec![named; count], "minionId": "station-1" }),
        ))
    });
    holds_at(limits::ASSET_COLLECTION, LimitExceeded, |count| {
        let mut request = asset_tests::request(&format!("with {count}"));
        request["keywords"] = json!(ids(count));
        let answer = asset_tests::create(&session, vec![request]);
        match answer.error {
            None => Ok(()),
            Some(error) => Err(stationdb::Error::limit(format!("{error:?}"))),
        }
    });
}

#[test]
fn numbers_of_a_specification_hold_at_the_limit_and_not_above() {
    let store = TestStore::new();
    let session = store.session();
    let largest = limits::SPECIFICATION_MAGNITUDE;
    for (limit, fits) in
        [(largest.next_down(), true), (largest, true), (largest.next_up(), false), (-largest, true)]
    {
        let request = json!({ "specs": [{
            "productId": "p", "specId": format!("{limit:e}"), "type": "PARAMETRIC", "limit": { "max": limit },
        }] });
        let made = session.create_specs(of(request)).unwrap();
        assert_eq!(made.error.is_none(), fits, "{limit:e}: {made:?}");
    }
}

#[test]
fn uploads_hold_at_the_limit_and_not_above() {
    let store = TestStore::new();
    let session = store.session();
    let control = Control::default();
    // Each has a session of its own: no chunk may follow one that was sent with close.
    holds_at(limits::UPLOAD_CHUNKS, InvalidArgument, |index| {
        let upload = session.start_upload_session(None).unwrap().id;
        session.append_to_upload_session(
            &upload.as_str().into(),
            index as u32,
            &mut std::io::empty(),
            true,
            &control,
        )
    });
    let upload = session.start_upload_session(None).unwrap().id;
    holds_at(limits::UPLOAD_CHUNK_BYTES, InvalidArgument, |bytes| {
        session.append_to_upload_session(
            &upload.as_str().into(),
            1,
            &mut std::io::repeat(7).take(bytes as u64),
            true,
            &control,
        )
    });
    holds_at(limits::TRANSACTION_CONTENT_BYTES, Unsupported, |bytes| {
        session.transaction(|tx| {
            let mut content = std::io::repeat(7).take(bytes as u64);
            tx.upload_file(&mut content, UploadFileRequest::default(), &control).map(|_| ())
        })
    });
}
