//! A description of the computer, which is the device under test.

use std::fs;

/// The computer that the example runs on.
#[derive(Debug)]
pub struct Machine {
    /// Name of the host.
    pub host: String,
    /// Model of the computer, or the closest information.
    pub model: String,
    /// Maker of the computer.
    pub vendor: String,
    /// Serial number if the system reports it, else the host name.
    pub serial: String,
    /// Model of the processor.
    pub processor: String,
    /// Operating system and architecture.
    pub system: String,
    /// Number of hardware threads.
    pub thread_count: usize,
}

impl Machine {
    /// Reads the description from the system. Missing information gets a generic name.
    pub fn look() -> Self {
        let host = variable("COMPUTERNAME")
            .or_else(|| line("/etc/hostname"))
            .or_else(|| variable("HOSTNAME"))
            .unwrap_or_else(|| "this-computer".to_owned());
        let processor = field("/proc/cpuinfo", "model name")
            .or_else(|| variable("PROCESSOR_IDENTIFIER"))
            .unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH));
        Self {
            model: line("/sys/class/dmi/id/product_name")
                .or_else(|| line("/proc/device-tree/model"))
                .unwrap_or_else(|| processor.clone()),
            vendor: line("/sys/class/dmi/id/sys_vendor").unwrap_or_else(|| "unknown".to_owned()),
            serial: line("/sys/class/dmi/id/product_serial").unwrap_or_else(|| host.clone()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            thread_count: std::thread::available_parallelism().map_or(1, usize::from),
            host,
            processor,
        }
    }

    /// A part number that every computer of this model has.
    pub fn part_number(&self) -> String {
        let words: Vec<String> = self
            .model
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_uppercase)
            .collect();
        format!("PC-{}", words.join("-"))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().and_then(|text| clean(&text))
}

fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().and_then(|text| clean(&text))
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    clean(line.split_once(':')?.1)
}

/// Manufacturers leave these fields empty or fill them with a placeholder.
fn clean(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let filler = [
        "",
        "none",
        "default string",
        "to be filled by o.e.m.",
        "not specified",
        "system serial number",
        "0",
    ];
    (!filler.contains(&text.to_lowercase().as_str())).then(|| text.to_owned())
}
