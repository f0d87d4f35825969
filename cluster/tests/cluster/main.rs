//! Clusters of processes on loopback.

mod lost;
mod process;
mod processes;
mod statements;
mod tables;
