//! Shows long output of a terminal in a pager.

use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};

use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{Output, failed};

/// The exit codes with which `sh` and `cmd` tell that a command is not there or cannot be run.
const NOT_RUN: [i32; 3] = [126, 127, 9009];

/// Calls `write` with the pager's input, or with the standard output.
pub fn paged(
    output: Output,
    interrupt: &Interrupt,
    write: impl FnOnce(&mut dyn Write) -> Outcome,
) -> Outcome {
    if let Some(mut pager) = output.has_pager.then(start).flatten() {
        // Ctrl-C is also for the pager: it must not be left behind without this process.
        interrupt.watch();
        let written = match pager.stdin.take() {
            Some(input) => buffered(input, write),
            None => Ok(()),
        };
        let ended = pager.wait().map_err(|error| Failure::io("waiting for the pager", &error))?;
        // The shell was started, and did not find or could not run the pager: nothing was shown.
        if ended.code().is_some_and(|code| NOT_RUN.contains(&code)) {
            return Err(Failure::new(
                Code::Failed,
                "the pager that STATIONDB_PAGER or PAGER names cannot be run; name another one, or \
                 pass --no-pager",
            ));
        }
        return match written {
            // Who leaves the pager has seen enough.
            Err(failure) if failure.code == Code::BrokenPipe => Ok(()),
            written => written,
        };
    }
    buffered(io::stdout().lock(), write)
}

fn buffered(out: impl Write, write: impl FnOnce(&mut dyn Write) -> Outcome) -> Outcome {
    let mut out = BufWriter::new(out);
    write(&mut out)?;
    out.flush().map_err(failed)
}

fn start() -> Option<Child> {
    let chosen = ["STATIONDB_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let mut command = match chosen.as_deref().map(str::trim) {
        Some("" | "cat") => return None,
        Some(chosen) => {
            let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
            let mut command = Command::new(shell);
            command.args([flag, chosen]);
            command
        }
        None => Command::new("less"),
    };
    if std::env::var_os("LESS").is_none() {
        // Leaves at once if everything fits on the screen; shows colours.
        command.env("LESS", "FRX");
    }
    command.stdin(Stdio::piped()).spawn().ok()
}
