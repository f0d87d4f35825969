//! The processes of the cluster: this program again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use stationdb_cluster::{ExecutorOptions, LakeLocation, Scheduler, end_is_asked_for, run_executor};

use crate::Outcome;

const EXECUTORS: usize = 3;
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Runs a scheduler at a free port, which it prints.
pub async fn scheduler(lake: &str) -> Outcome {
    let directory = tempfile::tempdir()?;
    let place = LakeLocation::open(lake)?;
    let scheduler = Scheduler::bind(LOOPBACK, &place, directory.path().into()).await?;
    say(&format!("http://{}", scheduler.address()));
    Ok(scheduler.run(end_is_asked_for(), |_| ()).await?)
}

/// Runs an executor for the scheduler.
pub async fn executor(lake: &str, scheduler: &str) -> Outcome {
    let directory = tempfile::tempdir()?;
    let options = ExecutorOptions::new(scheduler, LOOPBACK, directory.path())
        .tasks(2)
        .memory_bytes(512 * 1024 * 1024);
    let say_address = |address: SocketAddr| say(&address.to_string());
    Ok(run_executor(&LakeLocation::open(lake)?, options, say_address).await?)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may have ended.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// One scheduler and its executors, which end with this value.
pub struct Cluster {
    /// Its URL.
    pub scheduler: String,
    children: Vec<Child>,
}

impl Cluster {
    pub fn start(lake: &Path) -> Outcome<Self> {
        let lake = lake.display().to_string();
        let mut cluster = Self { scheduler: String::new(), children: Vec::new() };
        cluster.scheduler = cluster.add(&["scheduler", &lake])?;
        for _ in 0..EXECUTORS {
            let scheduler = cluster.scheduler.clone();
            cluster.add(&["executor", &lake, &scheduler])?;
        }
        Ok(cluster)
    }

    pub fn executors(&self) -> usize {
        self.children.len() - 1
    }

    /// Starts a process and returns the address that it prints.
    fn add(&mut self, args: &[&str]) -> Outcome<String> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take();
        self.children.push(child);
        let mut line = String::new();
        BufReader::new(out.ok_or("a process has no output")?).read_line(&mut line)?;
        match line.trim() {
            "" => Err(format!("the process {} did not start", args[0]).into()),
            address => Ok(address.into()),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
