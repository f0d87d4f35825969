//! `stationdb-server-example DIRECTORY [PORT]` serves a store on the loopback address.

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Duration;

use stationdb::Store;
use stationdb_server_example::{App, serve};
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: stationdb-server-example DIRECTORY [PORT]")?;
    let port = arguments.next().map_or(Ok(8080), |port| port.parse())?;
    let (store, minute) = (Store::open(directory)?, Duration::from_secs(60));
    let app = App { store, deadline: minute * 5, patience: minute, body_bytes: 256 << 20 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        eprintln!("listening on {}, for everybody on this computer", listener.local_addr()?);
        Ok(serve(listener, app).await?)
    })
}
