//! Products and the requests about them.

pub mod product;
pub mod requests;

pub use product::{Product, ProductId};
pub use requests::{
    CreateProductRequest, CreateProductsPartialSuccess, DeleteProductsPartialSuccess, Operation, PagedProducts,
    ProductField, ProductOperations, ProductOrderBy, ProductProjection, QueryProductValuesRequest,
    QueryProductsRequest, UpdateProductRequest, UpdateProductsPartialSuccess,
};
