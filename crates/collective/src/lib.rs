//! Collective memory on GPUs: before a run, allocations that others must reach are registered (symmetric), joined into one
//! object that reaches all (multicast), or made known (peer). Each of these is a collective call: every rank of a clique
//! must make it, for the same allocations, in the same order.
//!
//! [`run`] plays a [`Scenario`]: ranks with their own address maps, a board on which they meet, caches that outlive a run
//! (docs/RULES.md, 17). Where the real thing would hang, the ranks that wait get an error that says for whom. What comes of
//! a scenario does not depend on which rank runs when; only the order of events does.
//!
//! ```
//! let scenario = collective::read(
//!     r#"{
//!   "devices": [
//!     {"id": 0, "allocations": [{"address": 4096, "size": 512}]},
//!     {"id": 1, "allocations": [{"address": 65536, "size": 512}]}
//!   ],
//!   "requests": [{"kind": "symmetric", "clique": [0, 1], "allocations": [0]}]
//! }"#,
//! )
//! .expect("a scenario");
//! let outcome = collective::run(&scenario);
//! assert!(outcome.runs[0].ranks.values().all(Result::is_ok));
//!
//! // One rank whose allocation is smaller: nobody gets anything, and each is told why.
//! let mut scenario = scenario;
//! scenario.devices[1].allocations[0].size = 256;
//! let outcome = collective::run(&scenario);
//! assert!(outcome.runs[0].ranks.values().all(Result::is_err));
//! ```

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
