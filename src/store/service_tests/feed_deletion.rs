//! Deleting a feed of more packages than one commit takes.

use crate::store::tests::prelude::*;

use crate::feeds::{Package, PackageId};
use crate::model::{Resource as _, StoredContent};
use crate::session::Access as _;
use crate::{Control, ErrorKind};

#[test]
fn a_feed_of_many_packages_is_deleted_in_steps() {
    const PACKAGES: usize = 2_100;
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    let (store, session) = opened(options, Arc::new(MemoryDisk::new()));
    let [doomed, other] = [(); 2].map(|()| {
        session
            .create_feed(CreateFeedRequest::new("tools").platform(Platform::ni_linux_rt()))
            .unwrap()
    });
    let feeds = [(doomed.id.clone(), PACKAGES), (other.id.clone(), 3)];
    let put = session.write(move |draft| {
        for (feed_id, count) in feeds {
            for number in 0..count {
                let file_name = format!("{number}.deb");
                let id = PackageId::from(draft.new_key::<PackageRecord>()?);
                let mut package =
                    Package { id, file_name, feed_id: feed_id.clone(), ..Package::default() };
                package.workspace = "default".to_owned();
                package.metadata.package_name = Some(format!("p{number}"));
                let record = PackageRecord {
                    package,
                    content: StoredContent { parts: Vec::new(), small: true },
                    ..Default::default()
                };
                draft.put_new(&record, What::Created)?;
            }
        }
        Ok(())
    });
    put.unwrap();
    assert_eq!(session.query_packages(&doomed.id).unwrap().packages.len(), PACKAGES);
    let before = session.position().0;
    session.delete_feed(&doomed.id).unwrap();
    assert_eq!(session.position().0 - before, 3, "commits of at most 1,000 packages");
    assert_eq!(session.get_feed(&doomed.id).unwrap_err().kind(), ErrorKind::NotFound);
    let left =
        session.read(|view| view.index_keys::<PackageRecord>(PackageRecord::BY_FEED, &[])).unwrap();
    assert_eq!((left.len(), PackageRecord::KIND.code), (3, 12));
    assert_eq!(session.query_packages(&other.id).unwrap().packages.len(), 3);
    // A transaction deletes it whole.
    session.transaction(|tx| tx.delete_feed(&other.id)).unwrap();
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}
