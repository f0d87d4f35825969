//! The fixture service.

use super::fixture::*;
use crate::services::service_record::{ServiceRecord, found, get};
use crate::services::{batch, declare::service, queries, queries::QueryRequest};
use crate::session::{Access, Draft, Query, Settings, What};
use crate::{error::Error, error::Result, model::answer::Outcome};

service! {
/// Creates, queries, updates and deletes fixtures. Each item of a batch succeeds or fails alone.
pub trait FixtureService {
    /// Creates fixtures.
    #[writes]
    fn create_fixtures(&self, fixtures: Vec<CreateFixtureRequest>) -> Result<CreatedFixtures> {
        self.write(|draft| {
            batch::create::<Fixture, _, _>(draft, fixtures, |item| item.name.as_ref(), create)
        })
        .map(Into::into)
    }
    /// Returns the fixture with this id.
    fn get_fixture(&self, id: &FixtureId) -> Result<Fixture> {
        get(self, id)
    }
    /// Returns one page of the fixtures that match.
    fn query_fixtures(&self, query: QueryFixturesRequest) -> Result<PagedFixtures> {
        queries::page(self, &query).map(Into::into)
    }
    /// Updates a fixture.
    #[writes]
    fn update_fixture(&self, fixture: UpdateFixtureRequest) -> Result<Fixture> {
        self.write(|draft| update(draft, fixture))
    }
    /// Deletes fixtures; returns `None` if all were deleted.
    #[writes]
    fn delete_fixtures(&self, ids: Vec<String>) -> Result<Option<DeletedFixtures>> {
        self.write(|draft| batch::delete::<Fixture>(draft, ids)).map(Outcome::unless_all_succeeded)
    }
}
}

impl ServiceRecord for Fixture {
    const ABSENT: (&'static str, Option<i64>) = ("Fixtures.FixtureNotFound", None);
}

impl QueryRequest for QueryFixturesRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        Ok(Query { take: queries::take_or(1000, self.take), ..queries::common(self)? })
    }
}

fn create(draft: &mut Draft<'_>, request: CreateFixtureRequest) -> Result<Fixture> {
    let mut fixture = request.into_record();
    if fixture.name.as_deref().is_none_or(|name| name.trim().is_empty()) {
        return Err(Error::invalid("a fixture needs a name").at_member("name"));
    }
    fixture.workspace.get_or_insert_with(|| draft.context().default_workspace().to_owned());
    fixture.updated_at = Some(draft.now());
    // Before an id is drawn, so that a refused batch drafts nothing.
    draft.require(None, &fixture, What::Created)?;
    fixture.id = Some(draft.new_key::<Fixture>()?.into());
    draft.put_new(&fixture, What::Created)?;
    Ok(fixture)
}

fn update(draft: &mut Draft<'_>, mut request: UpdateFixtureRequest) -> Result<Fixture> {
    let mut fixture = found(&request.id, draft.get::<Fixture>(&request.id)?)?;
    request.apply_to(&mut fixture);
    fixture.updated_at = fixture.updated_at.max(Some(draft.now()));
    draft.put(&fixture, What::Updated)?;
    Ok(fixture)
}
