//! The status of the answers that are made in the rooms of the services.

use super::{PagedTableRows, SearchResponse, TablePlan, TableRows};
use crate::model::answer::Answer;
use crate::session::Plan;

impl Answer for PagedTableRows {}
impl Answer for Plan {}
impl Answer for SearchResponse {}
impl Answer for TablePlan {}
impl Answer for TableRows {}
