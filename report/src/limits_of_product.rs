//! The limits that the specifications of a product give to columns of tables.

use stationdb::prelude::*;
use stationdb::products::QueryProductsRequest;
use stationdb::specifications::QuerySpecificationsRequest;
use stationdb::{Result, Session};

use crate::plot_options::Limits;

/// The property of a specification that names the column whose values it is about.
const COLUMN: &str = "column";

/// The limits of the specifications of a product that name a column.
pub(crate) fn limits_of_product(session: &Session, part_number: &str) -> Result<Vec<Limits>> {
    let query =
        QueryProductsRequest::new().filter("partNumber == @0").substitutions([part_number]).take(1);
    let products = session.query_products(query)?.products;
    let Some(id) = products.into_iter().find_map(|product| product.id) else {
        return Ok(Vec::new());
    };
    let mut limits = Vec::new();
    let mut token = None;
    loop {
        let mut request = QuerySpecificationsRequest::new();
        request.product_ids = vec![id.as_str().to_owned()];
        request.continuation_token = token;
        let answer = session.query_specs(request)?;
        for specification in answer.specs.iter().flatten() {
            let column = specification.properties.as_ref().and_then(|map| map.get(COLUMN));
            if let (Some(column), Some(_)) = (column, &specification.limit) {
                limits.push(Limits::of_specification(specification).of_column(column));
            }
        }
        token = answer.continuation_token;
        if token.is_none() {
            return Ok(limits);
        }
    }
}
