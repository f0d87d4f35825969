//! Products and their requests.

pub(crate) mod product;
#[cfg(test)]
mod product_tests;
pub(crate) mod requests;

pub use product::{
    CreateProductRequest, Product, ProductField, ProductId, ProductOrderBy, ProductProjection,
    UpdateProductRequest,
};
pub use requests::{
    CreateProductsPartialSuccess, DeleteProductsPartialSuccess, PagedProducts, ProductOperations,
    QueryProductValuesRequest, QueryProductsRequest, UpdateProductsPartialSuccess,
};
