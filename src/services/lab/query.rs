//! Queries over all record types of the two services.

use super::{LabRecord, checks};
use crate::error::Result;
use crate::model::RecordQuery;
use crate::services::queries::{self, QueryRequest};
use crate::session::{Query, Settings};
use crate::value::limits;

impl<Q: RecordQuery<Record: LabRecord>> QueryRequest for Q {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let query = queries::common(self)?;
        let take = match self.common().take {
            None => limits::LAB_TAKE,
            Some(take) => usize::try_from(take)
                .map_err(|_| checks::invalid("take", &format!("is {take}; it cannot be negative")))?
                .min(limits::LAB_TAKE),
        };
        let continuation_token = query.continuation_token.filter(|token| !token.is_empty());
        Ok(Query { take, continuation_token, ..query })
    }
}
