//! What engineers ask of an assignment.
//!
//! A [`Study`] is one assignment as a table: XLA's own, read from its dumps ([`opening::Loaded`]), or ours. Every
//! question is a function of it, gives plain data, and works with whatever is there: without the program what needs the
//! program is left out.
//!
//! | question | answer |
//! |---|---|
//! | what makes the peak | [`peak`], [`groups`], [`sums`] |
//! | what holds a value alive | [`hold`] |
//! | what does a loop store | [`stack`] |
//! | what do transfers pin | [`spans`] |
//! | what does padding cost | [`padding`] |
//! | what is copied, why, and what would remove it | [`copies()`], [`causes`] |
//! | was my donation used | [`donation()`] |
//! | which collective asked for a memory space of its own | [`asking`], [`wishes_words`] |
//! | would another packing fit, and on which device | [`fits`], [`device_words`] |
//! | how small could a heap be, and how it is packed then | [`SmallestSearch`], [`repacked`] |
//! | what differs between XLA's assignment and ours | [`rerun()`] |
//! | what differs between two of them, at their peaks or at any step | [`compare()`], [`shifts`], [`common_steps`] |
//! | why two values do or do not share, and where XLA has them | [`pair()`] |
//! | the least program that shows a refused sharing | [`reduce()`], [`Reducer`] |
//! | what would help most | [`advise`] |
//! | what does an edit made by hand come to, and is it sound | [`try_edits`], [`room`] |
//! | what grows with the square of a sequence's length | [`growing`] |
//! | which constants are there, who reads them, which are equal or were captured | [`constants()`] |
//! | what stands out, in sentences | [`notes()`] |
//! | the numbers of `memory_analysis` | [`numbers`], [`cautions`] |
//!
//! ```
//! let module = hlo::read(
//!     "HloModule m, is_scheduled=true
//!
//! ENTRY main {
//!   x = f32[256]{0} parameter(0)
//!   a = f32[256]{0} reverse(x), dimensions={0}
//!   b = f32[256]{0} reverse(a), dimensions={0}
//!   ROOT r = f32[] custom-call(a, b), custom_call_target=\"sum\"
//! }
//! ",
//! )
//! .complete()
//! .expect("a module");
//! let target = analysis::Target::new(analysis::Backend::Cpu);
//! let facts = analysis::Facts::new(&module, analysis::Orders::guess(&module, &target), target).expect("facts");
//! let program = questions::Program::new(module, facts);
//! let study = questions::Study::of_program(program, &assigner::Options::default());
//!
//! let peak = questions::peak(&study);
//! assert_eq!(peak.spaces[0].live, 2048); // a and b, both wanted by the last instruction
//! assert_eq!(peak.owner(questions::Role::Argument).map(|o| o.bytes), Some(1024));
//! ```

mod asked;
mod changes;
mod compare;
mod constants;
mod copies;
mod cover;
mod donation;
mod edit;
mod fit;
mod hold;
mod limits;
mod loops;
mod notes;
mod origin;
mod padding;
mod pair;
mod peak;
mod places;
mod reduce;
mod rerun;
mod smallest;
mod square;
mod stacks;
mod story;
mod study;
mod trying;

pub use asked::{Asking, asking, asking_words, collectives_of, wishes, wishes_words};
pub use changes::{
    Advice, Advised, Advisor, Change, Effort, Unsound, advise, all_donations, apply, as_edits,
};
pub use compare::{By, Comparison, Match, PeaksOf, Shift, common_steps, compare, shifts};
pub use constants::{Alike, Captured, Constant, Constants, Content, Reader, constants};
pub use copies::{Cause, Copy, CopyKind, Written, causes, copies, written};
pub use donation::{Argument, Donation, Extra, Output, State, WhyNot, donation};
pub use edit::{Dropped, Edit, ReadOf, Room, alignment, droppable_reads, in_short, room};
pub use fit::{Fit, Verdict, fits, packing_words};
pub use hold::{Hold, Repeated, Until, hold};
pub use limits::{DEVICES, Device, device_words};
pub use loops::trip_count;
pub use notes::{Note, Number, cautions, gap, notes, numbers};
pub use origin::{Frames, Origin, Phase, origin, without_numbers};
pub use padding::{Padded, Padding, padding};
pub use pair::{Pair, common, our_place, pair, place_of};
pub use peak::{
    Group, Owner, Peak, Slot, SpacePeak, Sum, all_slots_at, fullest_step, groups, peak, slots_at, sums,
};
pub use places::{Place, common_lines, common_scope, largest_place, places};
pub use reduce::{ReduceError, Reduced, Reducer, reduce};
pub use rerun::{Moved, Rerun, rerun};
pub use smallest::{Repacked, Smallest, SmallestSearch, repacked};
pub use square::{Growing, RepeatedDimension, growing, repeated};
pub use stacks::{HostTransfer, Span, Stack, host_transfers, spans, stack};
pub use story::{InHeap, Story, Trial, place_in_words, story};
pub use study::{
    Program, Role, Row, Settings, Slab, Source, Study, StudyError, ToldPeak, space_name, unpadded_of_text,
};
pub use trying::{Baseline, Sizes, Soundness, Tried, base_words, baseline, check_study, try_edits};
