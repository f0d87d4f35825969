//! What a caller can rely on in the public surface, by the public names alone.

use std::sync::Arc;

use stationdb::prelude::*;
use stationdb::{Error, ErrorKind, Identity, Session, Store};

fn open() -> (tempfile::TempDir, Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    (directory, store, session)
}

/// A server holds each service behind a pointer and calls it from many threads.
#[test]
fn every_service_is_an_object() {
    struct Services {
        products: Arc<dyn ProductService + Send + Sync>,
        specifications: Arc<dyn SpecificationService + Send + Sync>,
        assets: Arc<dyn AssetService + Send + Sync>,
        work_items: Arc<dyn WorkItemService + Send + Sync>,
        test_plans: Arc<dyn TestPlanService + Send + Sync>,
        feeds: Arc<dyn FeedService + Send + Sync>,
        tables: Arc<dyn TableService + Send + Sync>,
        files: Arc<dyn FileService + Send + Sync>,
        search: Arc<dyn SearchService + Send + Sync>,
    }
    let (_directory, _store, session) = open();
    let session = Arc::new(session);
    let services = Services {
        products: session.clone(),
        specifications: session.clone(),
        assets: session.clone(),
        work_items: session.clone(),
        test_plans: session.clone(),
        feeds: session.clone(),
        tables: session.clone(),
        files: session.clone(),
        search: session.clone(),
    };
    let answers = std::thread::spawn(move || {
        services.products.product_api_info()?;
        services.specifications.specification_api_info()?;
        services.tables.table_api_info()?;
        services.files.file_api_info()?;
        services.assets.query_assets(Default::default())?;
        services.work_items.query_work_items(Default::default())?;
        services.test_plans.query_test_plans(Default::default())?;
        services.feeds.query_feeds(Default::default())?;
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
            (transaction as &dyn SearchService, transaction as &dyn FileService, transaction as &dyn TableService);
            (transaction as &dyn AssetService, transaction as &dyn FeedService, transaction as &dyn TestPlanService);
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
