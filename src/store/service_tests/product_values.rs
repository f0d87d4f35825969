//! The cost of listing the values of a field.

use super::test_store::TestStore;
use crate::products::{ProductField, ProductService as _, QueryProductValuesRequest};
use crate::services::products::all_values_counted;
use crate::store::tests::prelude::*;

#[test]
fn listing_values_costs_the_distinct_values_and_not_the_products() {
    let store = TestStore::new();
    let session = store.session();
    let requests = (0..3000)
        .map(|n| CreateProductRequest::new(n.to_string()).family(format!("F{}", n % 3)))
        .collect();
    let _ = session.create_products(requests).unwrap();
    let query =
        QueryProductValuesRequest { field: Some(ProductField::Family), ..Default::default() };
    assert_eq!(session.query_product_values(query).unwrap(), ["F0", "F1", "F2"]);
    session
        .read(|view| {
            let mut seeks = 0;
            all_values_counted(view, ProductField::Family, "", &mut seeks)?;
            assert_eq!((seeks, view.records_touched()), (3, 0));
            Ok(())
        })
        .unwrap();
}
