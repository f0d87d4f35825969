//! The fixture service.

use super::fixture::*;
use crate::services::{batch, batch::Umbrella, declare::service, lists};
use crate::session::{Access, Draft, OrderTerm, Query, What};
use crate::{error::Error, error::Result, model::Resource as _};

service! {
/// Creates, queries, updates and deletes fixtures. Each item of a batch succeeds or fails alone.
pub trait FixtureService {
    /// Creates fixtures.
    fn create_fixtures(&self, fixtures: Vec<CreateFixtureRequest>) -> Result<Fixtures> {
        each(self, fixtures, |draft, request: CreateFixtureRequest| {
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
        })
    }
    /// Returns one page of the fixtures that match.
    fn query_fixtures(&self, query: QueryFixturesRequest) -> Result<Fixtures> {
        let projection = lists::distinct("projection", &query.projection.unwrap_or_default())?;
        let path = query.order_by.unwrap_or_default().path();
        let plan = Query {
            filter: query.filter.as_deref(),
            order: vec![OrderTerm { path, descending: false }],
            take: query.take.unwrap_or(1000),
            continuation_token: query.continuation_token.as_deref(),
            ..Query::default()
        };
        let page = self.read(|view| view.query::<Fixture>(&plan))?;
        let fixtures = page.items.into_iter().map(|fixture| fixture.project(&projection)).collect();
        let continuation_token = page.continuation_token;
        Ok(Fixtures { fixtures, continuation_token, ..Fixtures::default() })
    }
    /// Updates fixtures.
    fn update_fixtures(&self, fixtures: Vec<UpdateFixtureRequest>) -> Result<Fixtures> {
        each(self, fixtures, |draft, mut request: UpdateFixtureRequest| {
            let missing = || Error::not_found(Fixture::KIND.name, &request.id);
            let mut fixture = draft.get::<Fixture>(&request.id)?.ok_or_else(missing)?;
            request.apply_to(&mut fixture);
            fixture.updated_at = fixture.updated_at.max(Some(draft.now()));
            draft.put(&fixture, What::Updated)?;
            Ok(fixture)
        })
    }
    /// Deletes fixtures.
    fn delete_fixtures(&self, ids: Vec<String>) -> Result<Fixtures> {
        each(self, batch::distinct(ids), |draft, id| {
            draft.delete::<Fixture>(&id)?.ok_or_else(|| Error::not_found(Fixture::KIND.name, &id))
        })
    }
}
}

fn each<I: Clone + Send + 'static>(
    access: &impl Access,
    items: Vec<I>,
    f: fn(&mut Draft<'_>, I) -> Result<Fixture>,
) -> Result<Fixtures> {
    access.write(move |draft| {
        let made = batch::run(Umbrella::SKYLINE.of(draft), items, |_, item| f(draft, item))?;
        Ok(Fixtures { fixtures: made.succeeded, error: made.error, ..Fixtures::default() })
    })
}
