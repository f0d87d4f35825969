//! Fixtures that hold devices under test, and the requests about them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::value::{IdForm, id::id_type, wire::record};
use crate::{error::ApiError, model::resource::Resource};

id_type!(
    /// Id of a fixture: a decimal number as text.
    FixtureId, IdForm::Decimal
);

/// A fixture; members that a projection drops are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 203, name = "fixture", service = "fixtures", id(Decimal), title(name))]
#[fields(id(equality), name, slot_count, updated_at, properties, workspace)]
#[index(1, name)]
#[index(2, updated_at)]
#[text(name = 2.0, properties = 1.0)]
#[order(FixtureOrderBy(id, name, updated_at))]
#[projection(FixtureField(id, name, slot_count, updated_at, properties, workspace))]
#[request(CreateFixtureRequest = "A fixture to create.")]
#[request(CreateFixtureRequest(name = "Name; required.", slot_count, properties, workspace))]
#[request(UpdateFixtureRequest = "A change; members that are absent stay as they are.")]
#[request(UpdateFixtureRequest(id(String, "Required."), name, slot_count, properties, workspace))]
#[non_exhaustive]
pub struct Fixture {
    /// Id in the store.
    pub id: Option<FixtureId>,
    /// Name.
    pub name: Option<String>,
    /// Number of devices that it holds.
    pub slot_count: Option<i32>,
    /// Time of creation or of the last update.
    pub updated_at: Option<DateTime<Utc>>,
    /// Properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// Id of the workspace.
    pub workspace: Option<String>,
}

record! {
    /// A query for fixtures.
    wire pub struct QueryFixturesRequest queries(Fixture) {
        /// Filter; all fixtures when absent.
        pub filter: Option<String>,
        /// Order; by id when absent.
        pub order_by: Option<FixtureOrderBy>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<FixtureField>>,
        /// Page size; 1000 when absent.
        pub take: Option<i64>,
        /// The token that the previous page returned.
        pub continuation_token: Option<String>,
    }

    /// A page of fixtures.
    page pub struct PagedFixtures {
        /// The fixtures.
        pub fixtures: Vec<Fixture>,
        /// Token of the next page; absent on the last page.
        pub continuation_token: Option<String>,
    }

    /// The answer of a creation.
    created batch pub struct CreatedFixtures {
        /// The new fixtures, in the order of the request.
        pub fixtures: Vec<Fixture>,
        /// The requests that failed.
        pub failed: Option<Vec<CreateFixtureRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer of a deletion of which a part failed.
    batch pub struct DeletedFixtures {
        /// The ids of the deleted fixtures.
        pub ids: Vec<String>,
        /// The ids that failed.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }
}
