//! What is played: devices, their allocations, what they ask for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Devices of a scenario are no more than this.
pub const MOST_DEVICES: usize = 64;
/// Requests, allocations of a device, and runs are no more than this.
pub const MOST_ENTRIES: usize = 1000;

/// A range of addresses, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// The first address.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
}

impl Allocation {
    /// Whether an address is in it. In an empty one none is.
    pub fn contains(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.size
    }
}

/// How an allocation becomes reachable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Registered with the communicator.
    Symmetric,
    /// One object that reaches the same allocation of all ranks.
    Multicast,
    /// The addresses of the others are made known.
    Peer,
}

/// A device with what is in its memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its global number.
    pub id: u32,
    /// The process that it belongs to.
    #[serde(default)]
    pub process: u32,
    /// Whether its executor can make multicast objects.
    #[serde(default = "yes")]
    pub multicast: bool,
    /// Its allocations, by index.
    pub allocations: Vec<Allocation>,
    /// What the memory behind them was taken in, if the executor can tell: allocations may share one.
    #[serde(default)]
    pub physical: Vec<Allocation>,
    /// By how many turns it comes late.
    #[serde(default)]
    pub late: u32,
    /// It never comes.
    #[serde(default)]
    pub never: bool,
    /// What it asks for, if that is not what all ask for.
    #[serde(default)]
    pub requests: Option<Vec<Request>>,
}

fn yes() -> bool {
    true
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// How.
    pub kind: Kind,
    /// The devices, in the order of their ranks.
    pub clique: Vec<u32>,
    /// Allocations by index.
    #[serde(default)]
    pub allocations: Vec<usize>,
    /// Allocations by an address in them.
    #[serde(default)]
    pub addresses: Vec<u64>,
}

/// One run of the program: what is asked for is acquired once.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its number.
    pub id: u64,
    /// Allocations that are elsewhere from this run on.
    #[serde(default)]
    pub moves: Vec<Move>,
}

/// An allocation that is elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The device.
    pub device: u32,
    /// The index of the allocation.
    pub allocation: usize,
    /// Where it is now.
    pub address: u64,
}

/// Where is it? By allocation and offset, or by address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// The device that asks.
    pub device: u32,
    /// In which table.
    pub kind: Kind,
    /// Of which clique.
    pub clique: Vec<u32>,
    /// The index of the allocation.
    #[serde(default)]
    pub allocation: Option<usize>,
    /// Where in it.
    #[serde(default)]
    pub offset: u64,
    /// How many bytes.
    #[serde(default)]
    pub size: u64,
    /// Instead of the allocation: an address of the device.
    #[serde(default)]
    pub address: Option<u64>,
}

/// A scenario.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The devices.
    pub devices: Vec<Device>,
    /// What every device asks for that is in the clique.
    #[serde(default)]
    pub requests: Vec<Request>,
    /// The runs, one after the other; one if none is named.
    #[serde(default)]
    pub runs: Vec<Run>,
    /// 1: everything is registered anew each time; 2: a cache, and each rank decides for itself; 3: ranks vote.
    #[serde(default = "newest")]
    pub generation: u8,
    /// Who is later than this many turns is waited for no longer.
    #[serde(default = "patience")]
    pub timeout: u32,
    /// Which rank runs when follows from this.
    #[serde(default)]
    pub seed: u64,
    /// What is looked up at the end.
    #[serde(default)]
    pub look_up: Vec<LookUp>,
}

fn newest() -> u8 {
    3
}

fn patience() -> u32 {
    1000
}

/// What is wrong with a scenario's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What was read and what was expected.
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Reads a scenario.
pub fn read(text: &str) -> Result<Scenario, Wrong> {
    let scenario: Scenario = serde_json::from_str(text).map_err(|e| {
        let message = e.to_string();
        // The place stands in front already.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(m, _)| m).to_owned();
        Wrong { line: e.line().max(1), column: e.column().max(1), message }
    })?;
    match scenario.refusal() {
        Some(message) => Err(Wrong { line: 1, column: 1, message }),
        None => Ok(scenario),
    }
}

impl Scenario {
    /// The device of a number.
    pub fn device(&self, id: u32) -> Option<&Device> {
        self.devices.iter().find(|d| d.id == id)
    }

    /// What makes it no scenario.
    pub fn refusal(&self) -> Option<String> {
        if self.devices.is_empty() || self.devices.len() > MOST_DEVICES {
            return Some(format!("{} devices, expected from 1 to {MOST_DEVICES}", self.devices.len()));
        }
        let mut ids: Vec<u32> = self.devices.iter().map(|d| d.id).collect();
        ids.sort_unstable();
        if let Some([twice, _]) = ids.windows(2).find(|p| p[0] == p[1]) {
            return Some(format!("two devices {twice}, expected each once"));
        }
        if !(1..=3).contains(&self.generation) {
            return Some(format!("generation {}, expected 1, 2 or 3", self.generation));
        }
        let lists = self
            .devices
            .iter()
            .flat_map(|d| [d.allocations.len(), d.physical.len(), d.requests.as_ref().map_or(0, Vec::len)]);
        if let Some(count) = lists.chain([self.requests.len(), self.runs.len()]).find(|n| *n > MOST_ENTRIES) {
            return Some(format!("a list of {count}, expected at most {MOST_ENTRIES}"));
        }
        let ranges = self.devices.iter().flat_map(|d| d.allocations.iter().chain(&d.physical));
        if let Some(range) = ranges.into_iter().find(|r| r.address.checked_add(r.size).is_none()) {
            return Some(format!("{} bytes at {}, expected an end below 2^64", range.size, range.address));
        }
        for device in &self.devices {
            for request in device.requests.as_ref().unwrap_or(&self.requests) {
                if let Some(refused) = self.clique_refusal(&request.clique) {
                    return Some(refused);
                }
            }
        }
        for step in self.runs.iter().flat_map(|r| &r.moves) {
            let Some(allocation) = self.device(step.device).and_then(|d| d.allocations.get(step.allocation))
            else {
                return Some(format!(
                    "allocation {} of device {} moves, expected one that is there",
                    step.allocation, step.device
                ));
            };
            if step.address.checked_add(allocation.size).is_none() {
                return Some(format!("a move to {}, expected an end below 2^64", step.address));
            }
        }
        self.look_up.iter().find_map(|l| {
            let nobody = self
                .device(l.device)
                .is_none()
                .then(|| format!("device {} looks up, expected one that is there", l.device));
            nobody.or_else(|| self.clique_refusal(&l.clique))
        })
    }

    fn clique_refusal(&self, clique: &[u32]) -> Option<String> {
        if clique.is_empty() {
            return Some("an empty clique, expected devices".to_owned());
        }
        let mut sorted = clique.to_vec();
        sorted.sort_unstable();
        if let Some([twice, _]) = sorted.windows(2).find(|p| p[0] == p[1]) {
            return Some(format!("a clique with device {twice} twice, expected each once"));
        }
        let nobody = clique.iter().find(|d| self.device(**d).is_none())?;
        Some(format!("a clique with device {nobody}, expected devices that are there"))
    }
}
