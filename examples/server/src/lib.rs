//! The store behind HTTP: every operation of every service, and no behaviour of its own.
//!
//! There is no authentication: who calls is what the header `x-user` says, so it listens on the
//! loopback address alone. docs/server.md tells how each part works.

mod bridge;
mod routes;
mod status;

use std::sync::Arc;

pub use bridge::App;
pub use routes::ROUTES;
use tokio::net::TcpListener;

/// Serves a store until the listener fails.
pub async fn serve(listener: TcpListener, app: App) -> std::io::Result<()> {
    axum::serve(listener, routes::router(Arc::new(app))).await
}
