//! The workload with the publisher of a lake.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use stationdb::prelude::*;
use stationdb::products::QueryProductsRequest;
use stationdb::scans::RecordKind;
use stationdb::{Control, Identity, Store};
use stationdb_lake::{Importer, OneRoot, Publisher};

use crate::acks::{Acks, Tell};
use crate::lane::{Lane, ada};
use crate::objects::Objects;
use crate::works::{Work, check_station, options, station, text, work_on_one};

/// The one of the writer.
const LANE: Lane = Lane('a');
const ROOT: &str = "plant";
const STATION: &str = "bench-7";
/// Told after a publication: the steps until then.
const PUBLISHED: &str = "published";

fn objects(directory: &Path) -> Arc<Objects> {
    Arc::new(Objects::new(directory.join("lake")).unwrap())
}

fn publish(store: &Store, directory: &Path) -> stationdb::Result<u64> {
    let who = Identity::user("publisher");
    let layout = OneRoot::new(ROOT);
    let publisher = Publisher::new(store, who, objects(directory), layout, STATION)?;
    publisher.publish(&Control::default()).map(|report| report.commits)
}

/// A writer that publishes to a lake after every few steps.
///
/// The lake is on the same medium, and durable when it answers. So what a publication has sent
/// before it is durable in the store would be ahead of the store after a cut.
pub fn publisher() -> Work {
    Work {
        name: "publisher",
        changes_min: 800,
        run: |child| {
            work_on_one(child, |store, step| {
                if step % 3 == 2 {
                    publish(store, &child.mount).unwrap();
                    child.acks.tell(PUBLISHED, step + 1);
                }
            });
        },
        check: |path, acks, tell: &dyn Tell| {
            check_station(path, acks, tell)?;
            check_lake(path, acks)
        },
        ..station()
    }
}

/// The lake has what was published, takes the next publication, and then has the products of the
/// store.
fn check_lake(path: &Path, acks: &Acks) -> Result<(), String> {
    let store = options(acks.get("a").unwrap_or(0)).open(path.join("store")).map_err(text)?;
    let of_store = products(&store)?;
    let published = acks.get(PUBLISHED).unwrap_or(0);
    let is_published = |part: &&String| LANE.step_of(part).is_some_and(|step| step < published);
    let in_lake = products_of_lake(path)?;
    if let Some(lost) = of_store.iter().filter(is_published).find(|part| !in_lake.contains(*part)) {
        return Err(format!("{lost} was published, the lake has {in_lake:?}"));
    }
    publish(&store, path).map_err(|error| format!("publishing: {}", text(error)))?;
    let again = publish(&store, path).map_err(|error| format!("again: {}", text(error)))?;
    if again > 0 {
        return Err(format!("a second publication had {again} commits"));
    }
    let in_lake = products_of_lake(path)?;
    if in_lake != of_store {
        return Err(format!("the lake has the products {in_lake:?}, the store {of_store:?}"));
    }
    store.close().map_err(text)
}

/// The products that another store gets from the lake.
fn products_of_lake(path: &Path) -> Result<BTreeSet<String>, String> {
    let copy = path.join("imported");
    // A cut during an earlier check may have left it.
    let _ = std::fs::remove_dir_all(&copy);
    let store = Store::open(&copy).map_err(text)?;
    let (who, kinds) = (Identity::user("importer"), [RecordKind::Product]);
    Importer::new(&store, who, objects(path), ROOT, STATION, kinds)
        .and_then(|importer| importer.import(&Control::default()))
        .map_err(|error| format!("importing: {}", text(error)))?;
    let products = products(&store)?;
    store.close().map_err(text)?;
    Ok(products)
}

fn products(store: &Store) -> Result<BTreeSet<String>, String> {
    let request = QueryProductsRequest::new().take(1_000);
    let products = ada(store).query_products(request).map_err(text)?.products;
    Ok(products.into_iter().filter_map(|product| product.part_number).collect())
}
