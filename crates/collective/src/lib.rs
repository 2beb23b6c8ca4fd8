//! Collective memory on GPUs: before a run, allocations that others must reach are registered (symmetric), joined into one
//! object that reaches all (multicast), or made known (peer). Each of these is a collective call: every rank of a clique
//! must make it, for the same allocations, in the same order.
//!
//! [`run`] plays a [`Scenario`]: ranks with their own address maps, a board on which they meet, caches that outlive a run
//! (docs/RULES.md, 17). Where the real thing would hang, the ranks that wait get an error that says for whom. What comes of
//! a scenario does not depend on which rank runs when; only the order of events does.

mod acquire;
#[doc(hidden)]
pub mod fuzzing;
pub mod look_up;
pub mod module;
pub mod scenario;
pub mod words;

pub use acquire::{Acquired, Error, Event, Kept, Multicast, Outcome, Place, Registered, Tables, What, run};
pub use look_up::{Found, look_up};
pub use scenario::{Allocation, Device, Kind, LookUp, Move, Request, Run, Scenario, read};
