//! Products and their requests.

pub mod product;
#[cfg(test)]
mod product_tests;
pub mod requests;

pub use product::{
    CreateProductRequest, Product, ProductField, ProductId, ProductOrderBy, ProductProjection, UpdateProductRequest,
};
pub use requests::{
    CreateProductsPartialSuccess, DeleteProductsPartialSuccess, PagedProducts, ProductOperations,
    QueryProductValuesRequest, QueryProductsRequest, UpdateProductsPartialSuccess,
};
