//! What happened, and what did not, in words.

use crate::acquire::{Error, Event, Kept, Place, What};
use crate::look_up::Found;
use crate::scenario::Kind;
use assigner::words::grouped;

/// A set of devices: `{0,1}`.
pub fn devices(clique: &[u32]) -> String {
    let list: Vec<String> = clique.iter().map(u32::to_string).collect();
    format!("{{{}}}", list.join(","))
}

/// A way of reaching.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Symmetric => "symmetric",
        Kind::Multicast => "multicast",
        Kind::Peer => "peer",
    }
}

/// What is done at a place and for whom, without the run.
pub fn meeting(place: &Place) -> String {
    let what = match place.what {
        What::Vote => "the vote",
        What::Register => "registration",
        What::Map => "multicast",
        What::Exchange => "the exchange",
    };
    format!("{what} {} of {}", place.number, devices(&place.clique))
}

/// A place on the board.
pub fn place(place: &Place) -> String {
    let run = if place.run > 0 { format!(" in run {}", place.run) } else { String::new() };
    meeting(place) + &run
}

/// Why a rank has nothing.
pub fn error(error: &Error) -> String {
    match error {
        Error::NotInClique { clique } => {
            format!("it is not in the clique {} that it asks for", devices(clique))
        }
        Error::NoAllocationAt { address } => format!("no allocation contains the address {address:#x}"),
        Error::NoAllocation { allocation } => format!("there is no allocation {allocation}"),
        Error::OtherProcess { kind: asked, clique } => {
            format!("unimplemented: {} memory for {}, which spans processes", kind(*asked), devices(clique))
        }
        Error::NoMulticast { device } => format!("unimplemented: device {device} makes no multicast objects"),
        Error::Disagree { place: at, asked } => {
            let asked: Vec<String> = asked.iter().map(|(d, a)| format!("device {d} for {a:?}")).collect();
            format!("at {} they ask for different allocations: {}", place(at), asked.join(", "))
        }
        Error::Sizes { allocation, sizes } => {
            let sizes: Vec<String> =
                sizes.iter().map(|(d, s)| format!("{} bytes on device {d}", grouped(*s))).collect();
            format!("allocation {allocation} has different sizes: {}", sizes.join(", "))
        }
        Error::Waits { place: at, absent } => {
            let absent: Vec<String> =
                absent.iter().map(|(d, k)| format!("device {d}, which {}", kept(k))).collect();
            format!("it waits in vain at {} for {}", place(at), absent.join(", "))
        }
        Error::TooLate => "it comes too late: nobody waits any more".to_owned(),
        Error::Absent => "it never comes".to_owned(),
    }
}

fn kept(kept: &Kept) -> String {
    match kept {
        Kept::Absent => "never comes".to_owned(),
        Kept::Late { turns } => format!("comes {turns} turns late"),
        Kept::Done => "is done".to_owned(),
        Kept::Failed => "has failed".to_owned(),
        Kept::WaitsAt { place: other } => format!("waits at {}", place(other)),
    }
}

/// What happened.
pub fn event(event: &Event) -> String {
    match event {
        Event::Begins { run } => format!("run {run}"),
        Event::Arrives { device, place: at, allocations } => {
            format!("device {device} comes to {} with {allocations:?}", place(at))
        }
        Event::Agreed { place: at, allocations } => format!("all are at {}: {allocations:?}", place(at)),
        Event::Failed { place: at } => format!("all are at {}, and cannot agree", place(at)),
        Event::Cached { device, allocation } => {
            format!("device {device} has allocation {allocation} registered already")
        }
        Event::Ready { device } => format!("device {device} is ready"),
        Event::Ends { device, error: why } => format!("device {device}: {}", error(why)),
    }
}

/// What a look-up found.
pub fn found(found: &Found) -> String {
    match found {
        Found::Registered { allocation, memory, offset } => {
            let offset = grouped(*offset);
            format!("allocation {allocation}, offset {offset} of the registration at {:#x}", memory.address)
        }
        Found::Multicast { allocation, pointer: Some(pointer), offset } => {
            format!("allocation {allocation}, {pointer:#x} + {}", grouped(*offset))
        }
        Found::Multicast { allocation, pointer: None, offset } => {
            format!("allocation {allocation}, no object, offset {}", grouped(*offset))
        }
        Found::Peers { allocation, ranges } => {
            let ranges: Vec<String> =
                ranges.iter().map(|(d, r)| format!("{:#x} on device {d}", r.address)).collect();
            format!("allocation {allocation}, at {}", ranges.join(", at "))
        }
        Found::Nothing { allocation: Some(allocation) } => {
            format!("allocation {allocation}, which nobody asked for")
        }
        Found::Nothing { allocation: None } => "no allocation".to_owned(),
        Found::Outside { allocation, size } => {
            format!("not within allocation {allocation}, which has {} bytes", grouped(*size))
        }
    }
}
