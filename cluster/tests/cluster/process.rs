//! One process of a cluster, ended with the test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct Process {
    child: Child,
    /// What it has printed that it listens at.
    pub address: String,
}

impl Process {
    pub fn command(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stationdb-cluster"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn start(args: &[&str]) -> Self {
        Self::spawn(Self::command(args))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at ").expect(&line).to_owned();
        // It must not wait for somebody to read.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        Self { child, address }
    }

    pub fn scheduler(lake: &Path) -> Self {
        let lake = lake.to_str().unwrap();
        Self::start(&["scheduler", "--bind", "127.0.0.1:0", "--lake", lake])
    }

    pub fn executor(lake: &Path, scheduler: &str) -> Self {
        let (lake, tasks) = (lake.to_str().unwrap(), ["--tasks", "2", "--memory", "512"]);
        Self::start(&[&["executor", "--scheduler", scheduler, "--lake", lake], &tasks[..]].concat())
    }

    /// A process of a lake in S3, with this key in its environment.
    #[cfg(feature = "s3")]
    pub fn with_key(key: &str, args: &[&str]) -> Self {
        let mut command = Self::command(args);
        command.env("AWS_ACCESS_KEY_ID", key);
        Self::spawn(command)
    }

    /// SIGKILL, or what the system has for it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[cfg(unix)]
    pub fn terminate(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.wait(Duration::from_secs(20))
    }

    pub fn wait(&mut self, time: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < time, "the process does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler and three executors.
pub struct Cluster {
    pub scheduler: Process,
    pub executors: Vec<Process>,
}

impl Cluster {
    pub fn start(lake: &Path) -> Self {
        let scheduler = Process::scheduler(lake);
        let executors = (0..3).map(|_| Process::executor(lake, &scheduler.address)).collect();
        Self { scheduler, executors }
    }
}
