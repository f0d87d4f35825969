//! Queries over all record types of the two services.

use serde_json::Value;

use super::LabRecord;
use crate::error::Result;
use crate::services::lists;
use crate::session::{Access, OrderTerm, Page, Plan, Query};
use crate::value::limits;

/// The common members of the four query requests.
pub(crate) struct Ask<'q> {
    pub(crate) filter: Option<&'q str>,
    pub(crate) substitutions: Option<&'q Vec<Value>>,
    pub(crate) take: Option<i64>,
    pub(crate) continuation_token: Option<&'q str>,
    /// Path of the field to order by; by id when absent.
    pub(crate) order_by: Option<&'static str>,
    pub(crate) descending: bool,
    pub(crate) return_count: bool,
    /// Number of entries of the projection.
    pub(crate) projection_len: usize,
}

impl<'q> Ask<'q> {
    fn query(&self) -> Result<Query<'q>> {
        lists::check("projection", self.projection_len)?;
        let take = match self.take {
            None => limits::LAB_TAKE,
            Some(take) => usize::try_from(take)
                .map_err(|_| {
                    super::checks::invalid("take", &format!("is {take}; it cannot be negative"))
                })?
                .min(limits::LAB_TAKE),
        };
        Ok(Query {
            filter: self.filter,
            substitutions: self.substitutions.map_or(&[], Vec::as_slice),
            // A direction without a key is ignored.
            order: self
                .order_by
                .map(|path| OrderTerm { path, descending: self.descending })
                .into_iter()
                .collect(),
            take,
            continuation_token: self.continuation_token.filter(|token| !token.is_empty()),
            return_count: self.return_count,
            ..Query::default()
        })
    }
}

/// Returns the page. Each record gets its computed members and is then reduced to the projection,
/// if there is one.
pub(crate) fn page<R: LabRecord, F: Copy + PartialEq>(
    access: &impl Access,
    ask: &Ask<'_>,
    projection: Option<&Vec<F>>,
    project: fn(R, &[F]) -> R,
) -> Result<Page<R>> {
    let query = ask.query()?;
    let mut page = access.read(|view| view.query::<R>(&query))?;
    page.items.iter_mut().for_each(LabRecord::finish);
    if let Some(fields) = projection.filter(|fields| !fields.is_empty()) {
        let fields = lists::distinct("projection", fields)?;
        page.items.iter_mut().for_each(|record| *record = project(std::mem::take(record), &fields));
    }
    Ok(page)
}

/// Executes the query and explains how, with its cost.
pub(crate) fn explain<R: LabRecord>(access: &impl Access, ask: &Ask<'_>) -> Result<Plan> {
    let query = ask.query()?;
    access.read(|view| view.query_with_plan::<R>(&query)).map(|(_, plan)| plan)
}
