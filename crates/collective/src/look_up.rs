//! Where is it? From an allocation, a part of one, or an address, to what others reach it by.

use crate::acquire::Tables;
use crate::scenario::{Allocation, Device, Kind, LookUp};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a look-up gives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Found {
    /// In registered memory.
    Registered {
        /// The allocation.
        allocation: usize,
        /// What was registered.
        memory: Allocation,
        /// Where in it.
        offset: u64,
    },
    /// Through a multicast object: its users add the two.
    Multicast {
        /// The allocation.
        allocation: usize,
        /// This rank's pointer; nothing if there is no object.
        pointer: Option<u64>,
        /// Where behind it.
        offset: u64,
    },
    /// On each device.
    Peers {
        /// The allocation.
        allocation: usize,
        /// The range on each.
        ranges: BTreeMap<u32, Allocation>,
    },
    /// Nothing was acquired for it.
    Nothing {
        /// The allocation, if there is one.
        allocation: Option<usize>,
    },
    /// It is not within its allocation.
    Outside {
        /// The allocation.
        allocation: usize,
        /// The allocation's size in bytes.
        size: u64,
    },
}

/// The first allocation that contains an address.
pub fn allocation_at(device: &Device, address: u64) -> Option<usize> {
    device.allocations.iter().position(|a| a.contains(address))
}

/// Looks it up in the tables of a device.
pub fn look_up(device: &Device, tables: &Tables, what: &LookUp) -> Found {
    let (allocation, offset) = match (what.address, what.allocation) {
        (Some(address), _) => match allocation_at(device, address) {
            Some(allocation) => (allocation, address - device.allocations[allocation].address),
            None => return Found::Nothing { allocation: None },
        },
        (None, Some(allocation)) => (allocation, what.offset),
        (None, None) => return Found::Nothing { allocation: None },
    };
    let Some(base) = device.allocations.get(allocation) else { return Found::Nothing { allocation: None } };
    if offset.checked_add(what.size).is_none_or(|end| end > base.size) {
        return Found::Outside { allocation, size: base.size };
    }
    let key = (what.clique.clone(), allocation);
    match what.kind {
        Kind::Symmetric => match tables.symmetric.get(&key) {
            Some(r) => Found::Registered { allocation, memory: r.memory, offset: r.offset + offset },
            None => Found::Nothing { allocation: Some(allocation) },
        },
        Kind::Multicast => {
            let pointer = tables.multicast.get(&key).map(|m| m.pointer);
            Found::Multicast { allocation, pointer, offset }
        }
        Kind::Peer => match tables.peer.get(&key) {
            Some(ranges) => {
                // Sizes need not agree here: what is asked for must be there on each.
                let end = offset + what.size;
                if let Some(small) = ranges.values().find(|a| a.size < end) {
                    return Found::Outside { allocation, size: small.size };
                }
                let part = |a: &Allocation| Allocation { address: a.address + offset, size: what.size };
                Found::Peers { allocation, ranges: ranges.iter().map(|(d, a)| (*d, part(a))).collect() }
            }
            None => Found::Nothing { allocation: Some(allocation) },
        },
    }
}
