//! The retention of results in rounds of a few results and commits of fewer, and calls of others
//! between them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::test_store::TestStore;
use crate::files::UploadFileRequest;
use crate::products::CreateProductRequest;
use crate::results::{
    CreateResultRequest, KeepResults, QueryResultsRequest, ResultRetention, StatusType,
    TestResultId, UpdateResultRequest,
};
use crate::store::tests::prelude::*;
use crate::tables::{
    Column, ColumnType, CreateTableRequest, DataType, ModifyTableRequest, QueryTablesRequest,
};
use crate::work_items::CreateWorkItemTemplateRequest;

fn keep_failed() -> ResultRetention {
    ResultRetention::new([KeepResults::new().statuses([StatusType::Failed])])
}

fn file(session: &Session) -> String {
    let request = UploadFileRequest::new().name("f");
    session.upload_file(&mut &b"log"[..], request, &Control::default()).unwrap().to_string()
}

fn passed(session: &Session, files: &[&String]) -> TestResultId {
    let request = CreateResultRequest::new()
        .program_name("P")
        .status(StatusType::Passed)
        .file_ids(files.iter().map(|file| (*file).clone()));
    let made = session.create_results(vec![request]).unwrap().into_result().unwrap();
    made.results[0].id.clone().unwrap()
}

fn has_file(session: &Session, id: &str) -> bool {
    session.open_file(&id.into()).is_ok()
}

#[test]
fn a_name_in_many_rounds_goes_with_the_last_result_that_has_it() {
    let store = TestStore::new();
    let session = store.session();
    let (everywhere, first, kept) = (file(&session), file(&session), file(&session));
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    let mut ids = Vec::new();
    for at in 0..30 {
        let mut files = vec![&everywhere];
        files.extend((at == 0).then_some(&first));
        files.extend((at == 1).then_some(&kept));
        ids.push(passed(&session, &files));
        let mut table = CreateTableRequest::new(columns.clone());
        table.test_result_id = Some(ids[at].to_string());
        session.create_table(table).unwrap();
    }
    let failed =
        UpdateResultRequest::new().id(passed(&session, &[&kept])).status(StatusType::Failed);
    session.update_results(vec![failed], false, false).unwrap().require_all().unwrap();
    let apply = |dry_run| {
        let control = Control::default();
        session.apply_result_retention(keep_failed(), dry_run, &control).unwrap()
    };
    let would = apply(true);
    assert_eq!((would.results, would.tables, would.files, would.kept), (30, 30, 2, 1));
    assert_eq!(would.ids, ids);
    let mut did = apply(false);
    did.dry_run = true;
    assert_eq!(did, would);
    assert!(!has_file(&session, &everywhere) && !has_file(&session, &first));
    assert!(has_file(&session, &kept));
    let tables = session.query_tables(QueryTablesRequest::new().filter("")).unwrap().tables;
    assert_eq!(tables.len(), 0);
    store.assert_sound();
}

#[test]
fn what_others_change_between_two_commits_stays() {
    let store = TestStore::new();
    let session = store.session();
    let (shared, new, freed) = (file(&session), file(&session), file(&session));
    // Of the results that the second commit deletes alone.
    let (linked, adopted, moved) = (file(&session), file(&session), file(&session));
    let ids: Vec<TestResultId> = (0..7)
        .map(|at| match at {
            4 => passed(&session, &[&shared, &new, &freed, &linked, &adopted, &moved]),
            _ => passed(&session, &[&shared, &new, &freed]),
        })
        .collect();
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    let mut table = CreateTableRequest::new(columns);
    table.test_result_id = Some(ids[4].to_string());
    let table = session.create_table(table).unwrap();
    // The commits of the first round delete three results each.
    let (other, last, updated) = (store.session(), ids[6].clone(), ids[5].clone());
    let commits = Mutex::new(0);
    let report = crate::services::retain_results_with(&session, &keep_failed(), &|| {
        let mut commits = commits.lock().unwrap();
        *commits += 1;
        if *commits == 2 {
            // One is updated, one is deleted, and a new one names a file.
            let change = UpdateResultRequest::new().id(updated.clone()).operator("ada");
            other.update_results(vec![change], false, false).unwrap().require_all().unwrap();
            other.delete_result(&last, true).unwrap();
            passed(&other, &[&new]);
            // A product and a template name others, a candidate gets one, and a table another result.
            let product = CreateProductRequest::new("P-1").file_ids([linked.clone()]);
            other.create_products(vec![product]).unwrap().require_all().unwrap();
            let template = CreateWorkItemTemplateRequest::new()
                .name("T")
                .r#type("testplan")
                .template_group("G")
                .file_ids([adopted.clone()]);
            other.create_work_item_templates(vec![template]).unwrap().require_all().unwrap();
            let change = UpdateResultRequest::new().id(updated.clone()).file_ids([moved.clone()]);
            other.update_results(vec![change], false, false).unwrap().require_all().unwrap();
            let change = ModifyTableRequest::new().test_result_id(updated.to_string());
            other.modify_table(&table, change).unwrap();
        }
    });
    let report = report.unwrap();
    assert_eq!((report.results, report.files), (5, 0), "{report:?}");
    let left: BTreeSet<String> = session
        .query_results(QueryResultsRequest::new())
        .unwrap()
        .results
        .iter()
        .filter_map(|result| result.id.as_ref().map(ToString::to_string))
        .collect();
    assert!(left.contains(updated.as_str()) && left.len() == 2, "{left:?}");
    for file in [&shared, &new, &freed, &linked, &adopted, &moved] {
        assert!(has_file(&session, file), "{file}");
    }
    assert!(session.get_table_metadata(&table).is_ok());
    let report = session.apply_result_retention(keep_failed(), false, &Control::default()).unwrap();
    // The last file is that of the changed result alone.
    assert_eq!((report.results, report.files), (2, 4));
    assert!(has_file(&session, &linked) && has_file(&session, &adopted));
    store.assert_sound();
}
