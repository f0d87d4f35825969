//! The public surface: services as trait objects, requests and iterators, used by public names
//! only.

mod batches;
mod growth;
mod names;
#[path = "../common/sources.rs"]
mod sources;

use std::io::Write;
use std::sync::Arc;

use stationdb::assets::{
    AssetLocationForCreate, AssetPresence, AssetPresenceStatus, CreateAssetRequest,
    QueryAssetsRequest,
};
use stationdb::files::{
    FileLinqQueryRequest, GetFilesRequest, QueryFilesRequest, SearchFilesRequest, UploadFileRequest,
};
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, Product, ProductOrderBy, QueryProductsRequest};
use stationdb::{Control, Error, ErrorKind, Identity, Items, Session, Store};

fn open() -> (tempfile::TempDir, Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    (directory, store, session)
}

/// A server keeps each service as a trait object and calls it from many threads.
#[test]
fn every_service_is_an_object() {
    struct Services {
        products: Arc<dyn ProductService + Send + Sync>,
        results: Arc<dyn ResultService + Send + Sync>,
        specifications: Arc<dyn SpecificationService + Send + Sync>,
        assets: Arc<dyn AssetService + Send + Sync>,
        work_items: Arc<dyn WorkItemService + Send + Sync>,
        test_plans: Arc<dyn TestPlanService + Send + Sync>,
        feeds: Arc<dyn FeedService + Send + Sync>,
        tables: Arc<dyn TableService + Send + Sync>,
        files: Arc<dyn FileService + Send + Sync>,
        search: Arc<dyn SearchService + Send + Sync>,
        records: Arc<dyn RecordService + Send + Sync>,
        workspaces: Arc<dyn WorkspaceService + Send + Sync>,
    }
    let (_directory, _store, session) = open();
    let session = Arc::new(session);
    let services = Services {
        products: session.clone(),
        results: session.clone(),
        specifications: session.clone(),
        assets: session.clone(),
        work_items: session.clone(),
        test_plans: session.clone(),
        feeds: session.clone(),
        tables: session.clone(),
        files: session.clone(),
        search: session.clone(),
        records: session.clone(),
        workspaces: session.clone(),
    };
    let answers = std::thread::spawn(move || {
        services.products.product_api_info()?;
        services.results.result_api_info()?;
        services.specifications.specification_api_info()?;
        services.tables.table_api_info()?;
        services.files.file_api_info()?;
        services.assets.query_assets(Default::default())?;
        services.work_items.query_work_items(Default::default())?;
        services.test_plans.query_test_plans(Default::default())?;
        services.feeds.query_feeds(Default::default())?;
        services.records.record_schema(Default::default())?;
        services.workspaces.query_workspaces(Default::default())?;
        services.search.search(Default::default()).map(drop).or_else(|error| match error.kind() {
            ErrorKind::Unsupported if cfg!(not(feature = "search")) => Ok(()),
            _ => Err(error),
        })
    });
    answers.join().unwrap().unwrap();
    // The same services inside a transaction.
    session
        .transaction(|transaction| {
            let all: [&dyn ProductService; 2] = [transaction, transaction];
            all[0].product_api_info()?;
            (transaction as &dyn WorkItemService).query_work_items(Default::default())?;
            let _: (&dyn SearchService, &dyn FileService, &dyn TableService) =
                (transaction, transaction, transaction);
            let _: (&dyn WorkspaceService, &dyn RecordService) = (transaction, transaction);
            let _: &dyn ResultService = transaction;
            let _: (&dyn AssetService, &dyn FeedService, &dyn TestPlanService) =
                (transaction, transaction, transaction);
            (transaction as &dyn SpecificationService).specification_api_info()
        })
        .unwrap();
}

#[test]
fn errors_of_the_operating_system_become_errors_of_the_crate() {
    fn read(path: &std::path::Path) -> stationdb::Result<Vec<u8>> {
        Ok(std::fs::read(path)?)
    }
    let directory = tempfile::tempdir().unwrap();
    let error = read(&directory.path().join("missing")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(std::error::Error::source(&error).is_some_and(|source| source.is::<std::io::Error>()));
    let full = Error::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
    assert_eq!(full.kind(), ErrorKind::NoSpace);
}

/// 25 products in pages of 4: all of them are returned, once and in order. An error is the last
/// item.
#[test]
fn an_iterator_yields_every_page_of_its_query() {
    let (_directory, _store, session) = open();
    let products =
        (0..25).map(|number| CreateProductRequest::new(format!("P-{number:02}")).family("F"));
    let _ = session.create_products(products.collect()).unwrap();
    let query = || QueryProductsRequest::new().filter("family == @0").substitutions(["F"]).take(4);
    let numbers = |items: Items<'_, Product>| -> Vec<String> {
        items.map(|product| product.unwrap().part_number.unwrap()).collect()
    };
    let expected: Vec<String> = (0..25).map(|number| format!("P-{number:02}")).collect();
    assert_eq!(numbers(session.products(query())), expected);
    assert_eq!(
        numbers(session.products(query().order_by(ProductOrderBy::PartNumber).take(25))),
        expected
    );
    let in_transaction = session.transaction(|transaction| {
        let _ = transaction.create_products(vec![CreateProductRequest::new("P-25").family("F")])?;
        Ok(numbers(transaction.products(query())))
    });
    assert_eq!(in_transaction.unwrap().len(), 26);
    assert_eq!(
        session
            .products(query().filter("nonsense"))
            .map(|item| item.map_err(|e| e.kind()).err())
            .collect::<Vec<_>>(),
        [Some(ErrorKind::InvalidArgument)]
    );
    let mut ended = session.products(query().filter("nonsense"));
    assert!(ended.next().is_some_and(|item| item.is_err()) && ended.next().is_none());
}

/// Queries whose wire form has no tokens are also read to their end.
#[test]
fn files_and_assets_are_iterated_past_the_first_page() {
    let (_directory, _store, session) = open();
    for number in 0..7 {
        let request = UploadFileRequest::new().name(format!("{number}.txt"));
        session.upload_file(&mut &b"x"[..], request, &Control::default()).unwrap();
    }
    let count = |items: usize| assert_eq!(items, 7);
    let names =
        |names: Vec<String>| names.into_iter().collect::<std::collections::BTreeSet<_>>().len();
    let files = session.files(FileLinqQueryRequest::new().take(2));
    count(names(files.map(|file| file.unwrap().id.to_string()).collect()));
    let files = session.listed_files(GetFilesRequest::new().take(3));
    count(names(files.map(|file| file.unwrap().id.to_string()).collect()));
    count(session.matching_files(QueryFilesRequest::new().take(2)).map(Result::unwrap).count());
    count(
        session
            .found_files(SearchFilesRequest::new().filter("name:(\"*.txt\")").take(2))
            .map(Result::unwrap)
            .count(),
    );
    // `skip` applies once, not on each page.
    assert_eq!(
        session.files(FileLinqQueryRequest::new().take(2).skip(3)).map(Result::unwrap).count(),
        4
    );

    let asset = |number: u64| {
        CreateAssetRequest::new()
            .model_name("M")
            .vendor_name("V")
            .serial_number(number.to_string())
            .location(
                AssetLocationForCreate::new()
                    .state(AssetPresence::new().asset_presence(AssetPresenceStatus::Present)),
            )
    };
    let made = session.create_assets((0..7).map(asset).collect()).unwrap();
    assert_eq!(made.failed, None, "{:?}", made.error);
    count(session.assets(QueryAssetsRequest::new().take(3)).map(Result::unwrap).count());
}

/// Content that is written before it is named: in pieces, without a trace when it is dropped, and
/// only in its own store.
#[test]
fn content_is_written_first_and_named_afterwards() {
    let (directory, store, session) = open();
    let on_disk = || {
        let folders = std::fs::read_dir(directory.path().join("files")).unwrap().flatten();
        folders
            .filter(|folder| folder.path().is_dir())
            .map(|folder| folder.path().read_dir().unwrap().count())
            .sum::<usize>()
    };
    let written = |pieces: usize| {
        let mut content = session.write_file(&Control::default()).unwrap();
        for _ in 0..pieces {
            content.write_all(&[7; 10_000]).unwrap();
        }
        assert_eq!(content.len(), 10_000 * pieces as u64);
        content
    };
    for pieces in [0, 1, 20] {
        let request = UploadFileRequest::new().name("pieces").metadata([("k", "v")]);
        let file = session.commit_file(written(pieces), request).unwrap();
        let mut bytes = Vec::new();
        session.download_file(&file, &mut bytes, &Control::default()).unwrap();
        assert_eq!(bytes, vec![7; 10_000 * pieces]);
    }
    let count = || session.get_files(GetFilesRequest::new()).unwrap().total_count;
    assert_eq!((on_disk(), count()), (1, 3), "one of them is too long for the record file");
    let content = written(20);
    assert_eq!(on_disk(), 2);
    drop(content);
    assert_eq!(on_disk(), 1);
    // Refused with the metadata, after the bytes.
    let error = session.commit_file(written(20), UploadFileRequest::new().id("short")).unwrap_err();
    assert_eq!((error.kind(), on_disk()), (ErrorKind::InvalidArgument, 1));
    // Cancelled in the middle: the writer takes nothing more and cannot be committed.
    let control = Control::default();
    let mut content = session.write_file(&control).unwrap();
    content.write_all(&[7; 100_000]).unwrap();
    control.cancel();
    assert!(content.write_all(b"more").is_err());
    assert_eq!(on_disk(), 1);
    let error = session.commit_file(content, UploadFileRequest::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // Longer than the store allows.
    let small = tempfile::tempdir().unwrap();
    let other = Store::options()
        .file_bytes_max(Some(50_000))
        .open(small.path())
        .unwrap()
        .session(Identity::user("ada"));
    let mut content = other.write_file(&Control::default()).unwrap();
    content.write_all(&[7; 50_000]).unwrap();
    assert!(content.write_all(b"x").is_err());
    let error = other.commit_file(content, UploadFileRequest::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // In a transaction it is named with what else happens there, or not at all.
    let error =
        session.transaction(|tx| tx.write_file(&Control::default()).map(|_| ())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let content = written(20);
    let taken_back: stationdb::Result<()> = session.transaction(|tx| {
        tx.commit_file(content, UploadFileRequest::new())?;
        Err(Error::conflict("taken back"))
    });
    assert_eq!(taken_back.unwrap_err().kind(), ErrorKind::Conflict);
    store.maintain(&Control::default()).unwrap();
    assert_eq!((on_disk(), count()), (1, 3));
    let content = written(20);
    session
        .transaction(|tx| tx.commit_file(content, UploadFileRequest::new()).map(|_| ()))
        .unwrap();
    assert_eq!((on_disk(), count()), (2, 4));
    let error = other.commit_file(written(20), UploadFileRequest::new()).unwrap_err();
    assert_eq!((error.kind(), on_disk()), (ErrorKind::InvalidArgument, 2), "{error}");
}

/// A store keeps its id, and its copies have it; another store has another.
#[test]
fn a_store_has_an_id_that_its_copies_share() {
    let (directory, store, session) = open();
    let id = store.id();
    assert!(id.len() == 16 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{id}");
    let places = tempfile::tempdir().unwrap();
    let [backup, restored, new] =
        ["backup", "restored", "new"].map(|name| places.path().join(name));
    let _ = session.create_products(vec![CreateProductRequest::new("P-1")]).unwrap();
    store.backup(&backup, &Control::default()).unwrap();
    drop(session);
    store.close().unwrap();
    assert_eq!(Store::open(directory.path()).unwrap().id(), id, "opened again");
    assert_eq!(Store::look(directory.path()).unwrap().id(), id, "looked at");
    Store::restore(&backup, &restored, &Control::default()).unwrap();
    assert_eq!(Store::open(&restored).unwrap().id(), id, "restored");
    let format = std::fs::read_to_string(restored.join("FORMAT")).unwrap();
    assert!(format.contains(&format!("store {id}")), "{format}");
    assert_ne!(Store::open(&new).unwrap().id(), id, "another store");
}

/// The second setter of an optional member takes what a caller may not have.
#[test]
fn optional_values_go_into_builders() {
    for name in [None, Some("N".to_owned())] {
        let request = CreateProductRequest::new("P-1").name("old").maybe_name(name.clone());
        assert_eq!(request.name, name);
    }
    // Entries of several calls go together, whichever setter has them.
    let more = [("b".to_owned(), None)].into();
    let request = CreateProductRequest::new("P-1")
        .properties([("a", "1")])
        .maybe_properties(Some(more))
        .maybe_properties(None);
    let properties = request.properties.unwrap();
    assert_eq!(
        properties.into_iter().collect::<Vec<_>>(),
        [("a".to_owned(), Some("1".to_owned())), ("b".to_owned(), None),]
    );
    // A member whose name is a keyword has a setter without its mark.
    let request = stationdb::work_items::CreateWorkItemRequest::new().maybe_type(None);
    assert_eq!(request.r#type, None);
}
