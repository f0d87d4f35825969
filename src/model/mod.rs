//! Plain data, one file a resource; each declares its fields once.

pub mod resource;

pub use resource::{Field, Index, Resource, TextField};
