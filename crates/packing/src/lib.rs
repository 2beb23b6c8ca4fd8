//! XLA's heap simulator without XLA: buffer live ranges in, heap offsets out.
//!
//! A trace of [`Event`]s says when each buffer begins, when it is shared with another and when it ends. [`pack`] gives
//! every buffer an offset in a heap by one of XLA's rules ([`Algorithm`]), bit for bit as XLA does. All sizes and
//! offsets are bytes; all times are ticks of the logical clock, one per event (BUFFER_ASSIGNMENT 10.2).
//!
//! The crate knows no HLO, does no I/O and reads no clock: the same input gives the same output, on any machine.
//!
//! ```
//! use packing::{BufferKey, Event, Options, pack};
//!
//! let (a, b, c) = (BufferKey(0), BufferKey(1), BufferKey(2));
//! let events = [
//!     Event::Alloc { buffer: a, size: 40 },
//!     Event::Alloc { buffer: b, size: 80 },
//!     Event::Free { buffer: a },
//!     Event::Alloc { buffer: c, size: 30 }, // `a` is dead by now, so its place can be taken
//!     Event::Free { buffer: b },
//!     Event::Free { buffer: c },
//! ];
//! let packing = pack(&events, &Options::default())?;
//! assert_eq!(packing.total(), 168);
//! let heap = &packing.heaps[0];
//! assert_eq!(heap.chunk(b).map(|chunk| chunk.offset), Some(0)); // the largest goes first
//! assert_eq!(heap.chunk(a).map(|chunk| chunk.offset), Some(128)); // at the next multiple of 64
//! assert_eq!(heap.chunk(c).map(|chunk| chunk.offset), Some(128));
//! # Ok::<(), packing::PackError>(())
//! ```
//!
//! Read from the top: `timeline` turns events into intervals and groups, `order` sorts them, `best_fit` and
//! `fast` place them, [`Repacker`] again after an edit. [`inspect_placement`] recomputes one step for a reader who wants to see what was weighed;
//! [`trace`] reads and writes the JSON form of a trace. [`optimum`] stands apart: it searches for the smallest heap.

mod best_fit;
mod bound;
mod error;
mod fast;
mod free_chunks;
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod holes;
mod inspect;
mod occupancy;
pub mod optimum;
mod order;
mod plain;
mod repack;
mod spans;
mod timeline;
pub mod trace;
mod types;

pub use bound::{aligned_peak_live_size, peak_live_size, unfragmented_size};
pub use error::PackError;
pub use free_chunks::FreeChunks;
pub use inspect::{
    FreeChunk, OccupiedChunk, PlacementStep, QueueEntry, free_chunks_at, groups, inspect_placement,
};
pub use repack::Repacker;
pub use types::{
    Algorithm, BufferKey, Chunk, DEFAULT_SPLIT_THRESHOLD, Event, Heap, Options, Packing, Placement,
    UnknownAlgorithm,
};

use timeline::Timeline;

/// Gives every buffer of `events` an offset (BUFFER_ASSIGNMENT 10, FAST_PACKERS 1 to 5).
///
/// There is always at least one heap, and exactly one if there is no limit. A buffer that is never freed lives to the
/// end of the trace. Buffers of size 0 stand at offset 0 of the first heap and block nothing (FAST_PACKERS 1.8).
///
/// # Errors
/// If the events contradict each other (a buffer freed before it begins, begun twice, shared with an unknown one), if
/// the alignment is 0, or if a place would lie beyond the end of the address space (2^63 - 1). See [`PackError`].
pub fn pack(events: &[Event], options: &Options) -> Result<Packing, PackError> {
    let timeline = Timeline::new(events)?;
    pack_with(&timeline, options, occupancy::Occupancy::new)
}

/// [`pack`] with a chosen way of finding gaps; the fast one and the plain one must agree.
fn pack_with<'t, G: best_fit::GapFinder>(
    timeline: &'t Timeline,
    options: &Options,
    finder: impl Fn(&'t Timeline, u64) -> G,
) -> Result<Packing, PackError> {
    if options.alignment == 0 {
        return Err(PackError::ZeroAlignment);
    }
    let best_fit = |algorithm: Algorithm, order: Vec<u32>| -> Result<Packing, PackError> {
        let heaps = best_fit::pack(timeline, order, options, &mut finder(timeline, options.alignment))?;
        Packing::new(algorithm, heaps, timeline)
    };
    let spatial = || best_fit(Algorithm::Spatial, order::spatial(timeline));
    let temporal = || best_fit(Algorithm::Temporal, order::temporal(timeline));
    match options.algorithm {
        Algorithm::BestOfSpatialTemporal => {
            let (spatial, temporal) = (spatial()?, temporal()?);
            let totals = (Some(spatial.total()), Some(temporal.total()));
            // BUFFER_ASSIGNMENT 10.5: on a tie the first, spatial, wins.
            let mut best = if spatial.total() <= temporal.total() { spatial } else { temporal };
            (best.spatial_total, best.temporal_total) = totals;
            Ok(best)
        }
        Algorithm::Spatial => {
            let mut packing = spatial()?;
            packing.spatial_total = Some(packing.total());
            Ok(packing)
        }
        Algorithm::Temporal => {
            let mut packing = temporal()?;
            packing.temporal_total = Some(packing.total());
            Ok(packing)
        }
        Algorithm::FastMerge => {
            let heaps = fast::merge(timeline, options)?;
            Packing::new(Algorithm::FastMerge, heaps, timeline)
        }
        Algorithm::FastSplit => {
            let heaps = fast::split(timeline, options, &mut finder(timeline, options.alignment))?;
            Packing::new(Algorithm::FastSplit, heaps, timeline)
        }
    }
}
