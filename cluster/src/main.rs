//! `stationdb-cluster`: the processes that answer statements over a lake.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stationdb_cluster::{
    Error, ExecutorOptions, LakeLocation, Result, Scheduler, end_is_asked_for, run_executor,
};

/// The stack of a thread that plans statements.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Answers SQL over a lake on several machines: one scheduler, and executors that work for it.
#[derive(Parser)]
#[command(name = "stationdb-cluster", version)]
struct Args {
    #[command(subcommand)]
    process: Process,
}

#[derive(Subcommand)]
enum Process {
    /// Divides statements into tasks. Nobody is asked for a password: listen in a trusted network.
    Scheduler {
        /// Where contexts and executors find it; port 0 takes a free one, which is printed.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50050")]
        bind: SocketAddr,
        #[command(flatten)]
        common: Common,
    },
    /// Runs tasks for a scheduler. Nobody is asked for a password: listen in a trusted network.
    Executor {
        /// The scheduler.
        #[arg(long, value_name = "http://HOST:PORT", default_value = "http://127.0.0.1:50050")]
        scheduler: String,
        /// Where others fetch results; port 0 takes a free one, which is printed.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
        bind: SocketAddr,
        /// The name that others find this machine by; if absent, the address that it is seen at.
        #[arg(long)]
        host: Option<String>,
        /// Number of tasks at a time; that of the processors if absent.
        #[arg(long)]
        tasks: Option<usize>,
        /// Megabytes for sorts, joins and groups; 70 % of the machine's memory if absent.
        #[arg(long, value_name = "MB")]
        memory: Option<u64>,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(clap::Args)]
struct Common {
    /// The lake: a directory, or with the feature `s3` an s3:// URL. All processes name the same.
    #[arg(long, value_name = "DIR|URL")]
    lake: String,
    /// Directory for intermediate data; a temporary one if absent.
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
}

impl Common {
    /// The lake, the directory for intermediate data, and what removes it if it is temporary.
    fn open(self) -> Result<(LakeLocation, PathBuf, Option<tempfile::TempDir>)> {
        let place = LakeLocation::open(&self.lake)?;
        if let Some(directory) = self.work_dir {
            return Ok((place, directory, None));
        }
        let temporary = tempfile::tempdir().map_err(|source| Error::WorkDirectory {
            directory: std::env::temp_dir().display().to_string(),
            source,
        })?;
        Ok((place, temporary.path().into(), Some(temporary)))
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    // Plans of statements over a lake are deep.
    let runtime = match threads.enable_all().thread_stack_size(STACK_BYTES).build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("starting threads: {error}")),
    };
    let ended = runtime.block_on(run(args.process));
    // Tasks of statements that nobody waits for may run on.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    // Nobody may read it.
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::FAILURE
}

async fn run(process: Process) -> Result<()> {
    match process {
        Process::Scheduler { bind, common } => {
            let (place, directory, _temporary) = common.open()?;
            let scheduler = Scheduler::bind(bind, &place, directory).await?;
            say(&format!("listening at http://{}", scheduler.address()));
            scheduler.run(end_is_asked_for(), say).await
        }
        Process::Executor { scheduler, bind, host, tasks, memory, common } => {
            let (place, work_directory, _temporary) = common.open()?;
            let memory_bytes = memory.map(|megabytes| megabytes.saturating_mul(1024 * 1024));
            let options = ExecutorOptions::new(scheduler, bind, work_directory)
                .host(host)
                .tasks(tasks)
                .memory_bytes(memory_bytes);
            run_executor(&place, options, |address| say(&format!("listening at {address}"))).await
        }
    }
}

/// Prints a line at once, also into a pipe.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Nobody may read it.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
