//! One store with the same records in two workspaces, and identities that may see one of them, only
//! read, or do nothing.

mod package;
#[allow(dead_code, reason = "not every suite uses both")]
mod policy;

use std::io::Read;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stationdb::lab::{JobRequest, JobRunner, NotebookRequest, QueueFailure};
use stationdb::prelude::*;
use stationdb::{
    Action, Control, Error, Identity, ManualClock, Result, Service, Session, Store, StoreOptions,
    Visibility,
};

use crate::calls::{play, wire};

pub(crate) use package::package;
pub(crate) use policy::Rule;

/// Occurs in every text of the hidden workspace, and nowhere else.
pub const MARK: &str = "Zebra";

const ROLES: Rule = Rule(|who, service, action| match (who.user_id(), action) {
    // Guests who may subscribe to changes.
    ("member" | "colleague", _) if service == Service::CHANGES => Visibility::All,
    ("guest" | "member" | "colleague", _) => Visibility::workspaces(["open"]),
    ("reader", Action::Read) | ("ada", _) => Visibility::All,
    ("maker", Action::Read | Action::Create) | ("cleaner", Action::Read | Action::Delete) => {
        Visibility::All
    }
    _ => Visibility::None,
});

#[derive(Debug)]
struct Accepts;

impl JobRunner for Accepts {
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        Ok(request.jobs.iter().map(|_| "job".to_owned()).collect())
    }

    fn cancel(&self, _job_ids: &[String]) -> Result<()> {
        Ok(())
    }

    fn run_notebook(&self, _request: &NotebookRequest<'_>) -> Result<String> {
        Ok("run".to_owned())
    }
}

/// The ids of the records of one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ids {
    pub workspace: String,
    pub product: String,
    pub result: String,
    pub path: String,
    pub spec: String,
    pub asset: String,
    pub serial: String,
    pub utilization: String,
    pub work_item: String,
    pub work_item_template: String,
    pub test_plan: String,
    pub test_plan_template: String,
    pub table: String,
    /// A file that is linked to the asset.
    pub file: String,
    pub loose_file: String,
    /// An upload session with all chunks, ready to be finished.
    pub upload: String,
    pub open_upload: String,
    pub feed: String,
    pub package: String,
    pub package_file: String,
}

pub struct World {
    pub store: Store,
    pub open: Ids,
    pub secret: Ids,
    pub dir: Arc<tempfile::TempDir>,
}

/// Records of each kind in the open workspace, in addition to those of [`Ids`].
const OPEN_CROWD: usize = 6;
/// The system of the assets of both workspaces.
pub const SYSTEM: &str = "bench";

/// Parses any request from its wire form.
pub fn request<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error} in {value}"))
}

fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {pointer} in {value}"))
        .to_owned()
}

/// Returns the options of the store of a world.
pub fn options() -> StoreOptions {
    let clock = Arc::new(ManualClock::new("2024-03-01T00:00:00Z".parse().unwrap()));
    Store::options()
        .access_policy(ROLES)
        .job_runner(Accepts)
        .shared_clock(clock)
        .default_workspace("open")
}

impl World {
    pub fn new() -> Self {
        Self::build(0, 1)
    }

    /// Returns a store whose hidden workspace has `hidden` records of each kind, or fewer of kinds
    /// that are created one by one. Two such stores differ in nothing else: seed and clock are
    /// fixed, and the open records are created first.
    pub fn holding(hidden: usize) -> Self {
        Self::build(OPEN_CROWD, hidden)
    }

    fn build(open_crowd: usize, hidden: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = options()
            .seed(Some(7))
            .maintenance_thread(false)
            .open(dir.path().join("store"))
            .unwrap();
        Self::filled(store, dir, open_crowd, hidden)
    }

    /// Fills an empty store. `dir` is for files that operations write outside of the store.
    #[allow(dead_code, reason = "for the tests that bring a disk of their own")]
    pub fn fill(store: Store, dir: tempfile::TempDir) -> Self {
        Self::filled(store, dir, 0, 1)
    }

    fn filled(store: Store, dir: tempfile::TempDir, open_crowd: usize, hidden: usize) -> Self {
        let dir = Arc::new(dir);
        let ada = store.session(Identity::user("ada"));
        let open = fill(&ada, "open", "Plain");
        crowd(&ada, &open, &open, "Plain", open_crowd);
        let mut secret = Ids { workspace: "secret".to_owned(), ..Ids::default() };
        if hidden > 0 {
            secret = fill(&ada, "secret", MARK);
            crowd(&ada, &secret, &open, MARK, hidden - 1);
        }
        Self { store, open, secret, dir }
    }

    /// Returns the same store; probes of the hidden workspace use the open one instead.
    pub fn aimed_at_open(&self) -> Self {
        let Self { store, open, dir, .. } = self;
        Self { store: store.clone(), open: open.clone(), secret: open.clone(), dir: dir.clone() }
    }

    pub fn session(&self, who: &str) -> Session {
        self.store.session(Identity::user(who))
    }

    /// Returns the content of the hidden workspace, as its owner sees it.
    pub fn picture(&self) -> Value {
        let ada = self.session("ada");
        let ids = &self.secret;
        let rows = |id: &str| {
            ada.get_table_data(&id.into(), request(json!({}))).map(wire).map_err(|e| e.kind()).ok()
        };
        let table = rows(&ids.table);
        let mut content = Vec::new();
        let _ = ada.open_file(&ids.file.as_str().into()).and_then(|mut reader| {
            reader.read_to_end(&mut content).map_err(|error| Error::io("reading the file", error))
        });
        // Not by the workspace: a query for one that is not registered is refused.
        let mut feeds = ada.query_feeds(request(json!({}))).map(wire).unwrap();
        feeds["feeds"].as_array_mut().unwrap().retain(|feed| feed["workspace"] == "secret");
        let filter = json!({"filter": "workspace = \"secret\"", "take": 100});
        json!({
            "products": ada.query_products(request(filter.clone())).map(wire).unwrap(),
            "results": ada.query_results(request(filter.clone())).map(wire).unwrap(),
            "steps": ada.query_steps(request(filter.clone())).map(wire).unwrap(),
            "specs": ada.query_specs(request(json!({"productIds": [ids.product], "take": 100}))).map(wire).unwrap(),
            "assets": ada.query_assets(request(json!({"filter": "workspace = \"secret\"", "take": 100}))).map(wire).unwrap(),
            "utilizations": ada.query_asset_utilization_history(request(json!({"assetFilter": "workspace = \"secret\""}))).map(wire).unwrap(),
            "workItems": ada.query_work_items(request(filter.clone())).map(wire).unwrap(),
            "workItemTemplates": ada.query_work_item_templates(request(filter.clone())).map(wire).unwrap(),
            "testPlans": ada.query_test_plans(request(filter.clone())).map(wire).unwrap(),
            "testPlanTemplates": ada.query_test_plan_templates(request(filter.clone())).map(wire).unwrap(),
            "tables": ada.query_tables(request(filter.clone())).map(wire).unwrap(),
            "rows": table,
            "files": ada.query_files(request(json!({"workspace": "secret"}))).map(wire).unwrap(),
            "content": content,
            "uploads": ada.query_upload_sessions().map(wire).unwrap(),
            "feeds": feeds,
            "workspaces": ada.query_workspaces(request(json!({"filter": "id.StartsWith(\"secret\")"}))).map(wire).unwrap(),
            "quotas": ada.list_quotas(request(json!({}))).map(wire).unwrap(),
            "packages": ada.query_packages(&ids.feed.as_str().into()).map_or(Value::Null, wire),
        })
    }
}

fn fill(ada: &Session, workspace: &str, mark: &str) -> Ids {
    let utilization = if workspace == "open" { "00000001" } else { "00000002" };
    let given = json!({
        "workspace": workspace, "mark": mark, "serial": format!("SN-{workspace}"),
        "utilization": format!("{utilization}-0000-4000-8000-000000000000"),
    });
    let mut ids = play(ada, include_str!("../corpus/world.txt"), given);
    let feed = text(&ids, "/feed");
    let bytes = package(&mark.to_lowercase());
    let package = wire(
        ada.upload_package_content(
            &feed.into(),
            &mut bytes.as_slice(),
            None,
            false,
            &Control::default(),
        )
        .unwrap(),
    );
    (ids["package"], ids["package_file"]) = (package["id"].clone(), package["fileName"].clone());
    request(ids)
}

/// Creates `count` more records of each kind in one commit. Specifications belong to a product of
/// the open workspace.
fn crowd(ada: &Session, ids: &Ids, open: &Ids, mark: &str, count: usize) {
    /// Number of records of kinds that are created one by one.
    const FEW: usize = 12;
    if count == 0 {
        return;
    }
    let workspace = ids.workspace.as_str();
    let control = Control::default();
    let name = |number: usize| format!("{mark} thing {number}");
    let made = ada.transaction(|tx| {
        let all = 0..count;
        let product = |n: usize| {
            request(json!({
                "partNumber": format!("{mark}-c{n}"), "name": name(n), "family": format!("{mark} family {}", n % 3),
                "keywords": [mark], "properties": {"k": mark}, "workspace": workspace,
            }))
        };
        assert_eq!(tx.create_products(all.clone().map(product).collect())?.error, None);
        let result = |n: usize| {
            request(json!({
                "programName": name(n), "status": {"statusType": "PASSED"}, "partNumber": format!("{mark}-c{n}"),
                "serialNumber": mark, "operator": mark, "keywords": [mark], "properties": {"k": mark},
                "workspace": workspace,
            }))
        };
        assert_eq!(tx.create_results(all.clone().map(result).collect())?.error, None);
        let spec = |n: usize| {
            json!({"productId": open.product, "specId": format!("{mark}-S{n}"), "type": "FUNCTIONAL", "name": name(n),
                "workspace": workspace})
        };
        let specs: Vec<Value> = all.clone().map(spec).collect();
        assert_eq!(tx.create_specs(request(json!({ "specs": specs })))?.error, None);
        let serial = |n: usize| format!("SN-{workspace}-{n}");
        let asset = |n: usize| {
            request(json!({
                "name": name(n), "modelName": "M", "vendorName": "V", "serialNumber": serial(n), "busType": "ACCESSORY",
                "assetType": "GENERIC", "workspace": workspace,
                "location": {"minionId": SYSTEM, "physicalLocation": mark, "state": {"assetPresence": "UNKNOWN"}},
            }))
        };
        assert_eq!(tx.create_assets(all.clone().map(asset).collect())?.error, None);
        let used = |n: usize| {
            json!({"modelName": "M", "vendorName": "V", "serialNumber": serial(n), "busType": "ACCESSORY"})
        };
        let used: Vec<Value> = all.clone().take(100).map(used).collect();
        let started = tx.start_utilization(request(json!({
            "utilizationIdentifier": format!("{mark}-use"), "minionId": SYSTEM, "assetIdentifications": used,
            "utilizationCategory": "test", "taskName": format!("{mark} task"), "userName": mark,
        })))?;
        assert_eq!(started.error, None);
        let template = |n| json!({"name": name(n), "type": "testplan", "templateGroup": mark, "workspace": workspace});
        let templates = all.clone().map(|n| request(template(n))).collect();
        assert_eq!(tx.create_work_item_templates(templates)?.error, None);
        let item = |n| {
            request(json!({"name": name(n), "type": "testplan", "state": "NEW", "partNumber": mark, "workspace": workspace}))
        };
        assert_eq!(tx.create_work_items(all.clone().map(item).collect())?.error, None);
        let template = |n| request(json!({"name": name(n), "templateGroup": mark, "workspace": workspace}));
        assert_eq!(tx.create_test_plan_templates(all.clone().map(template).collect())?.error, None);
        let plan = |n| request(json!({"name": name(n), "state": "NEW", "partNumber": mark, "workspace": workspace}));
        assert_eq!(tx.create_test_plans(all.clone().map(plan).collect())?.error, None);
        for n in all.take(FEW) {
            tx.create_table(request(json!({
                "name": name(n), "workspace": workspace, "properties": {"k": mark},
                "columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}],
            })))?;
            let file = json!({"name": format!("{mark} {n}.txt"), "metadata": {"about": mark}, "workspace": workspace});
            tx.upload_file(&mut mark.as_bytes(), request(file), &control)?;
            let feed = json!({"name": format!("{mark} feed {n}"), "platform": "NI_LINUX_RT", "workspace": workspace});
            tx.create_feed(request(feed))?;
            let package = package(&format!("{}{n}", mark.to_lowercase()));
            tx.upload_package_content(&ids.feed.as_str().into(), &mut package.as_slice(), None, false, &control)?;
        }
        Ok(())
    });
    made.unwrap();
}
