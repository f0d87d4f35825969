//! The server over HTTP, by a plain client.

mod broken;
mod client;
mod client_results;
mod members;
#[path = "../../../../tests/common/package.rs"]
mod package;
mod paths;
mod reference;
mod requests;
mod sent;
mod status;
mod streams;
mod wire;
