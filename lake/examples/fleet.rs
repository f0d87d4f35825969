//! Ten stations publish a day's work to one lake, and a cluster of one scheduler and three executors
//! answers over it.
//!
//! ```sh
//! cargo run -p stationdb-cluster --example fleet -- DIRECTORY [ROWS_AN_HOUR]
//! ```
//!
//! Some stations are offline for most of the day, and one is restored from an old backup and
//! refused. DIRECTORY must not exist; afterwards the lake is in DIRECTORY/lake, for any reader of
//! Delta, and the picture in DIRECTORY/gain.png. The processes of the cluster are this program
//! again, on loopback.

#[path = "fleet/day.rs"]
mod day;
#[path = "fleet/plot.rs"]
mod plot;
#[path = "fleet/processes.rs"]
mod processes;
#[path = "fleet/report.rs"]
mod report;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use stationdb_cluster::LakeLocation;

use processes::Cluster;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ROWS_AN_HOUR: usize = 2_000;
/// The stack of a thread that plans statements.
const STACK_BYTES: usize = 16 * 1024 * 1024;

async fn fleet(directory: &Path, rows: usize) -> Outcome {
    if directory.exists() {
        return Err(format!("{} exists; name a new directory", directory.display()).into());
    }
    let lake = directory.join("lake");
    std::fs::create_dir_all(&lake)?;
    // Publishers block.
    let of_the_day = directory.to_owned();
    tokio::task::spawn_blocking(move || day::work(&of_the_day, rows)).await??;

    let lake = lake.canonicalize()?;
    let cluster = Cluster::start(&lake)?;
    println!("\na scheduler at {} with {} executors", cluster.scheduler, cluster.executors());
    let place = LakeLocation::open(&lake.display().to_string())?;
    let context = stationdb_cluster::lake(&cluster.scheduler, &place, &day::ROOT.into()).await?;
    report::yields(&context).await?;
    let curve = report::curve(&context).await?;
    let picture = directory.join("gain.png");
    plot::draw(&picture, &curve)?;
    println!("\nthe lake is in {}, the picture in {}", lake.display(), picture.display());
    Ok(())
}

fn run() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Plans of statements over a lake are deep.
    let runtime = runtime.enable_all().thread_stack_size(STACK_BYTES).build()?;
    let ended = runtime.block_on(async {
        match args.as_slice() {
            ["scheduler", lake] => processes::scheduler(lake).await,
            ["executor", lake, scheduler] => processes::executor(lake, scheduler).await,
            [directory] => fleet(Path::new(directory), ROWS_AN_HOUR).await,
            [directory, rows] => fleet(Path::new(directory), rows.parse()?).await,
            _ => Err("name a new directory: fleet DIRECTORY [ROWS_AN_HOUR]".into()),
        }
    });
    runtime.shutdown_background();
    ended
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
