//! The smallest heap there can be: an exact search, which can be asked at any time what it has found so far.
//!
//! [`Problem`] says what is to be packed, [`solve`] looks for the packing of the least height, or for any that fits into a
//! capacity. What it has at the end is right in any case: a packing, and a height below which there is none. If they meet,
//! the packing is [proved](Outcome::proved) to be the best.
//!
//! ```
//! use packing::optimum::{Item, Limits, Problem, solve};
//! use std::ops::ControlFlow;
//!
//! let items = vec![Item::new(40, 0..2), Item::new(80, 1..4), Item::new(30, 2..4)];
//! let problem = Problem { items, alignment: 1 };
//! let outcome = solve(&problem, &Limits::default(), &mut |_| ControlFlow::Continue(()))?;
//! assert_eq!((outcome.height, outcome.proved()), (120, true));
//! # Ok::<(), packing::optimum::ProblemError>(())
//! ```

mod contract;
mod greedy;
mod parts;
mod search;

use crate::{BufferKey, Event, PackError, timeline::Timeline};
use contract::Contracted;
use parts::{Piece, pieces};
use search::{Answer, Search, Unit};
use std::fmt;
use std::ops::{ControlFlow, Range};

/// Something that needs one place for as long as it lives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Size in bytes. An item of size 0 stands at 0 and is in nobody's way.
    pub size: u64,
    /// When it lives: half-open, in any order. Several for what shares one place with pauses.
    pub runs: Vec<Range<u64>>,
}

impl Item {
    /// An item of so many bytes that lives once.
    pub fn new(size: u64, run: Range<u64>) -> Self {
        Self { size, runs: [run].into() }
    }

    /// Is there a moment at which both live?
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.runs.iter().any(|a| other.runs.iter().any(|b| a.start < b.end && b.start < a.end))
    }
}

/// What is to be packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The items; their positions are their numbers.
    pub items: Vec<Item>,
    /// Every offset is to be a multiple of it, in bytes; at least 1.
    pub alignment: u64,
}

impl Default for Problem {
    fn default() -> Self {
        Self { items: Vec::new(), alignment: 1 }
    }
}

/// Why a problem cannot be worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProblemError {
    /// The alignment must be at least 1.
    ZeroAlignment,
    /// A run of the item ends before it begins, or at once.
    EmptyRun {
        /// The item's number.
        item: usize,
    },
    /// The sizes, rounded up to the alignment, add up to more than 2^61 bytes.
    TooLarge {
        /// The item at which they do.
        item: usize,
    },
    /// More than 2^30 items or runs.
    TooMany,
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAlignment => f.write_str("the alignment is 0, expected at least 1"),
            Self::EmptyRun { item } => {
                write!(f, "item {item} ends before it begins, or at once, expected at least one moment")
            }
            Self::TooLarge { item } => {
                write!(f, "with item {item} the sizes add up to more than 2^61 bytes, expected less")
            }
            Self::TooMany => f.write_str("more than 2^30 items or runs, expected fewer"),
        }
    }
}

impl std::error::Error for ProblemError {}

impl Problem {
    /// The problem that a trace of heap events poses, and the buffers that each item stands for: a group that shares a
    /// place is one item (BUFFER_ASSIGNMENT 10.2). Buffers of size 0 are left out.
    ///
    /// # Errors
    /// As [`pack`](crate::pack).
    pub fn from_events(events: &[Event], alignment: u64) -> Result<(Self, Vec<Vec<BufferKey>>), PackError> {
        if alignment == 0 {
            return Err(PackError::ZeroAlignment);
        }
        let timeline = Timeline::new(events)?;
        let item = |group| {
            let runs = timeline.runs(group).iter();
            runs.map(|r| u64::from(r.start)..u64::from(r.end) + 1).collect::<Vec<_>>()
        };
        let items = timeline.groups.iter().map(|g| Item { size: g.size, runs: item(g) }).collect();
        let keys = timeline.groups.iter().map(|g| timeline.members(g).to_vec()).collect();
        Ok((Self { items, alignment }, keys))
    }

    fn check(&self) -> Result<(), ProblemError> {
        if self.alignment == 0 {
            return Err(ProblemError::ZeroAlignment);
        }
        let (mut sum, mut runs) = (0_u64, self.items.len());
        for (i, item) in self.items.iter().enumerate() {
            if item.runs.iter().any(|r| r.start >= r.end) {
                return Err(ProblemError::EmptyRun { item: i });
            }
            runs += item.runs.len();
            let rounded = item.size.checked_next_multiple_of(self.alignment);
            sum = rounded
                .and_then(|r| sum.checked_add(r))
                .filter(|s| *s <= 1 << 61)
                .ok_or(ProblemError::TooLarge { item: i })?;
        }
        if runs > 1 << 30 { Err(ProblemError::TooMany) } else { Ok(()) }
    }

    /// The same with the runs of each item in order, apart from each other.
    fn normal(&self) -> Self {
        let mut out = self.clone();
        for item in &mut out.items {
            item.runs.sort_unstable_by_key(|r| (r.start, r.end));
            let mut joined: Vec<Range<u64>> = Vec::with_capacity(item.runs.len());
            for run in item.runs.drain(..) {
                match joined.last_mut() {
                    Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                    _ => joined.push(run),
                }
            }
            item.runs = joined;
        }
        out
    }

    /// The height in bytes of a packing, if it is one: an aligned offset for every item, and no two items that live at one
    /// time and have a byte in common.
    pub fn height(&self, offsets: &[u64]) -> Option<u64> {
        if offsets.len() != self.items.len() || offsets.iter().any(|o| o % self.alignment.max(1) != 0) {
            return None;
        }
        let mut changes: Vec<(u64, bool, usize)> = Vec::new();
        let mut height = 0;
        for (i, item) in self.normal().items.iter().enumerate() {
            height = height.max(offsets[i].checked_add(item.size)?);
            for run in item.runs.iter().filter(|_| item.size > 0) {
                changes.push((run.start, true, i));
                changes.push((run.end, false, i));
            }
        }
        changes.sort_unstable();
        // What lives, by offset: whoever comes must be clear of its neighbours only.
        let mut living = std::collections::BTreeMap::new();
        for (_, begins, i) in changes {
            let (start, end) = (offsets[i], offsets[i] + self.items[i].size);
            if !begins {
                living.remove(&start);
                continue;
            }
            let below = living.range(..=start).next_back();
            let above = living.range(start..).next();
            if below.is_some_and(|(_, e)| *e > start) || above.is_some_and(|(s, _)| *s < end) {
                return None;
            }
            living.insert(start, end);
        }
        Some(height)
    }

    /// Why [`height`](Self::height) finds no packing in aligned offsets: the pairs of items, each once and the smaller number
    /// first, that live at one time and have a byte in common. It looks at every pair, so it is meant for a few hundred items.
    #[must_use]
    pub fn clashes(&self, offsets: &[u64]) -> Vec<(usize, usize)> {
        let span = |i: usize| (offsets[i], offsets[i].saturating_add(self.items[i].size));
        let count = self.items.len().min(offsets.len());
        let of = |i: usize| {
            let (start, end) = span(i);
            let clash = move |j: &usize| {
                let (other_start, other_end) = span(*j);
                let is_common = start.max(other_start) < end.min(other_end);
                is_common && self.items[i].meets(&self.items[*j])
            };
            (i + 1..count).filter(clash).map(move |j| (i, j))
        };
        (0..count).flat_map(of).collect()
    }
}

/// What to look for, and for how long.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Any packing of at most this height in bytes will do. `None`: the least height is wanted.
    pub capacity: Option<u64>,
    /// Give up after so many branches; with the same number the answer is the same everywhere.
    pub nodes: Option<u64>,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Height in bytes of the best packing so far.
    pub height: u64,
    /// No packing is smaller than this, in bytes.
    pub lower_bound: u64,
    /// Branches so far.
    pub nodes: u64,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Height in bytes of the packing.
    pub height: u64,
    /// No packing is smaller than this, in bytes.
    pub lower_bound: u64,
    /// The offset in bytes of each item.
    pub offsets: Vec<u64>,
    /// Branches that it took.
    pub nodes: u64,
}

impl Outcome {
    /// Is the packing the best there can be?
    pub fn proved(&self) -> bool {
        self.height <= self.lower_bound
    }

    /// Does it fit into so many bytes? `None` if neither a packing was found that does, nor that there is none.
    pub fn fits(&self, capacity: u64) -> Option<bool> {
        if self.height <= capacity { Some(true) } else { (self.lower_bound > capacity).then_some(false) }
    }
}

/// Branches of the first try; how many later ones have, see [`luby`].
const FIRST_RUN: u64 = 100;

/// Up to so many blocks need no more putting together.
const FEW: usize = 24;

/// In pieces of more items those that are nearly alike are not looked for: there are too many pairs.
const MOST_NEAR: usize = 1000;

/// Pieces of more items are not searched: pairs are kept in a table.
const MOST_ITEMS: usize = 5000;

/// Items are put together no longer than this; after the first dozen rounds little happens.
const MOST_ROUNDS: usize = 100;

/// Which items are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What can be without waste.
    Together,
    /// What is nearly alike as well.
    Near,
    /// Those only that live alike.
    Stacked,
    /// None.
    Plain,
}

/// One way to look at a piece.
struct View {
    kind: Kind,
    /// Made when it is its turn for the first time.
    made: Option<(Contracted, Search)>,
    runs: u64,
    /// It has no packing of this height in bytes, nor of less.
    never: Option<u64>,
}

impl Kind {
    /// Puts the items together; `target` is the height in units that is looked for.
    fn contract(self, piece: &Piece, target: Unit) -> Contracted {
        let mut out = Contracted::new(piece.sizes.iter().copied(), &piece.sections);
        match self {
            Kind::Plain => {}
            Kind::Stacked => _ = out.stack(),
            Kind::Together | Kind::Near => {
                for _ in 0..MOST_ROUNDS {
                    let is_stacked = out.stack();
                    let is_chained = out.chain();
                    let is_enough = self == Kind::Together || out.open.len() <= FEW;
                    if !is_stacked && !is_chained && (is_enough || !out.join_near(target)) {
                        break;
                    }
                }
            }
        }
        out
    }
}

/// A piece and what is known about it.
struct Known {
    piece: Piece,
    /// From the most put together to the items as they are.
    views: Vec<View>,
    height: u64,
    runs: u64,
    /// The view whose run was stopped, and what it looked for.
    under_way: Option<(usize, u64)>,
}

impl Known {
    fn new(piece: Piece, height: u64) -> Self {
        let view = |kind| View { kind, made: None, runs: 0, never: None };
        let mut views = vec![view(Kind::Together), view(Kind::Stacked), view(Kind::Plain)];
        if piece.items.len() <= MOST_NEAR {
            views.insert(1, view(Kind::Near));
        }
        Self { piece, views, height, runs: 0, under_way: None }
    }

    /// Looks for a packing of at most `target` bytes in one of the views; they take turns. A run that was stopped goes on.
    fn search(
        &mut self,
        target: u64,
        unit: u64,
        nodes: &mut u64,
        limit: Option<u64>,
        tick: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Answer {
        let last = self.views.len() - 1;
        let (at, answer) = match self.under_way.take() {
            Some((at, _)) => (at, self.views[at].go_on(nodes, tick)),
            None => self.begin(target, unit, nodes, limit, tick),
        };
        let View { made: Some((contracted, _)), never, .. } = &mut self.views[at] else { return answer };
        match answer {
            Answer::Fits(found) => Answer::Fits(contracted.expand(self.piece.items.len(), &found)),
            Answer::Never if at < last => {
                // They may fit apart.
                *never = Some(target);
                Answer::OutOfNodes
            }
            Answer::Stopped => {
                self.under_way = Some((at, target));
                Answer::Stopped
            }
            answer => answer,
        }
    }

    /// Begins a run in the view whose turn it is.
    fn begin(
        &mut self,
        target: u64,
        unit: u64,
        nodes: &mut u64,
        limit: Option<u64>,
        tick: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> (usize, Answer) {
        let last = self.views.len() - 1;
        let mut at = (self.runs % self.views.len() as u64) as usize;
        self.runs += 1;
        let (view, contracted, search) = loop {
            let view = &mut self.views[at];
            if at < last && view.never.is_some_and(|never| never >= target) {
                at += 1;
                continue;
            }
            if view.made.is_none() {
                let contracted = view.kind.contract(&self.piece, (target / unit) as Unit);
                if at < last && contracted.open.len() == self.piece.items.len() {
                    // Nothing was put together.
                    view.never = Some(u64::MAX);
                    at += 1;
                    continue;
                }
                let part = contracted.part();
                view.made = Some((contracted, Search::new(part)));
            }
            let View { made: Some((contracted, search)), .. } = view else { continue };
            break (&mut view.runs, contracted, search);
        };
        *view += 1;
        let mut budget = FIRST_RUN * luby(*view);
        if let Some(limit) = limit {
            budget = budget.min(limit - *nodes);
        }
        // The block without its padding must end below the target.
        let highest = |b: &contract::Block| ((target + b.padding) / unit) as Unit - b.size;
        let highest: Vec<Unit> = contracted.blocks().map(highest).collect();
        (at, search.run(&highest, budget, nodes, tick))
    }
}

impl View {
    fn go_on(&mut self, nodes: &mut u64, tick: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Answer {
        match &mut self.made {
            Some((_, search)) => search.go_on(nodes, tick),
            None => Answer::OutOfNodes,
        }
    }
}

/// Looks for the packing of the least height, or for any that fits (see [`Limits`]).
///
/// `progress` is called when something was found, every few hundred branches, and while large packings to begin with are
/// made: [`ControlFlow::Break`] ends the search with what is known by then. Without a limit and with patience it ends with a proof.
///
/// # Errors
/// If the problem contradicts itself or is too large; see [`ProblemError`].
pub fn solve(
    problem: &Problem,
    limits: &Limits,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Outcome, ProblemError> {
    let mut solver = Solver::begin(problem, limits.clone(), progress)?;
    solver.go_on(progress);
    Ok(solver.outcome())
}

/// The search of [`solve`], to be done in slices: what is stopped goes on where it was.
pub struct Solver {
    problem: Problem,
    limits: Limits,
    offsets: Vec<u64>,
    unit: u64,
    known: Vec<Known>,
    /// The piece whose turn it is; past the last one a round is over.
    at: usize,
    round: u64,
    /// Was the caller told of this round, and broke it off? It then begins without asking again.
    is_told: bool,
    /// No packing is smaller than this, in bytes.
    floor: u64,
    /// Height in bytes of the packing, where nothing can be searched.
    unsearched: Option<u64>,
    nodes: u64,
}

impl Solver {
    /// Begins with the best of some simple packings and a bound.
    ///
    /// # Errors
    /// As [`solve`].
    pub fn new(problem: &Problem, limits: Limits) -> Result<Self, ProblemError> {
        Self::begin(problem, limits, &mut |_| ControlFlow::Continue(()))
    }

    /// [`new`](Self::new), in which large packings to begin with are left out when `progress` breaks.
    fn begin(
        problem: &Problem,
        limits: Limits,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Self, ProblemError> {
        problem.check()?;
        let problem = problem.normal();
        let sizes = problem.items.iter().map(|i| i.size);
        let now = Progress {
            height: sizes.clone().map(|s| s.next_multiple_of(problem.alignment)).sum(),
            lower_bound: sizes.max().unwrap_or(0),
            nodes: 0,
        };
        let packings = greedy::packings(&problem, &mut || progress(&now));
        let best = |offsets: &Vec<u64>| problem.height(offsets).unwrap_or(u64::MAX);
        let offsets = packings.iter().min_by_key(|o| best(o)).cloned().unwrap_or_default();
        let height = best(&offsets);
        // A place beside the living ones is 0; and no item is higher than all.
        let floor = problem.items.iter().map(|i| i.size).max().unwrap_or(0);
        let cut = pieces(&problem);
        let mut out = Self {
            problem,
            limits,
            offsets,
            unit: 1,
            known: Vec::new(),
            at: 0,
            round: 0,
            is_told: false,
            floor,
            unsearched: None,
            nodes: 0,
        };
        let Some(cut) = cut else {
            out.unsearched = Some(height);
            return Ok(out);
        };
        out.unit = cut.unit;
        let items = &out.problem.items;
        for piece in cut.pieces {
            let height_in = |offsets: &[u64]| -> u64 {
                let ends = piece.items.iter().map(|i| offsets[*i as usize] + items[*i as usize].size);
                ends.max().unwrap_or(0)
            };
            // Each piece takes the best of all packings.
            if let Some(from) = packings.iter().min_by_key(|o| height_in(o)) {
                for i in &piece.items {
                    out.offsets[*i as usize] = from[*i as usize];
                }
            }
            let height = height_in(&out.offsets);
            out.floor = out.floor.max(piece.lower_bound);
            out.known.push(Known::new(piece, height));
        }
        out.at = out.known.len();
        for (item, offset) in out.problem.items.iter().zip(&mut out.offsets) {
            if item.size == 0 || item.runs.is_empty() {
                *offset = 0;
            }
        }
        Ok(out)
    }

    /// How far it has come.
    #[must_use]
    pub fn now(&self) -> Progress {
        let highest = || self.known.iter().map(|k| k.height).max().unwrap_or(0).max(self.floor);
        Progress {
            height: self.unsearched.unwrap_or_else(highest),
            lower_bound: self.floor,
            nodes: self.nodes,
        }
    }

    /// What was found so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let Progress { height, lower_bound, nodes } = self.now();
        Outcome { height, lower_bound, offsets: self.offsets.clone(), nodes }
    }

    fn is_out_of_nodes(&self) -> bool {
        self.limits.nodes.is_some_and(|n| self.nodes >= n)
    }

    /// Searches until `progress`, called as by [`solve`], breaks it off, or to the end. Is there more to be done?
    pub fn go_on(&mut self, progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> bool {
        if self.unsearched.is_some() {
            return false;
        }
        loop {
            let now = self.now();
            let enough = self.limits.capacity.map_or(self.floor, |c| c.max(self.floor));
            let is_open = |k: &Known| k.height > enough && k.piece.items.len() <= MOST_ITEMS;
            if self.at == self.known.len() {
                let is_over = now.height <= enough
                    || self.limits.capacity.is_some_and(|c| self.floor > c)
                    || self.is_out_of_nodes();
                let is_stopped = !std::mem::take(&mut self.is_told) && progress(&now).is_break();
                if is_over || !self.known.iter().any(is_open) {
                    return false;
                }
                if is_stopped {
                    self.is_told = true;
                    return true;
                }
                self.round += 1;
                self.at = 0;
            }
            let k = &mut self.known[self.at];
            let is_searched = is_open(k);
            // The bound is reached more often than not; every other time half of the way is asked for.
            let target = match (k.under_way, self.limits.capacity) {
                (Some((_, target)), _) | (None, Some(target)) => target,
                (None, None) if self.round % 2 == 1 => self.floor,
                (None, None) => self.floor + k.height.saturating_sub(self.floor) / 2,
            };
            if !is_searched || k.height <= target {
                self.at += 1;
                continue;
            }
            let mut tick = |nodes| progress(&Progress { nodes, ..now });
            match k.search(target, self.unit, &mut self.nodes, self.limits.nodes, &mut tick) {
                Answer::Fits(found) => {
                    k.height = 0;
                    for (i, place) in k.piece.items.iter().zip(&found) {
                        let i = *i as usize;
                        self.offsets[i] = *place as u64 * self.unit;
                        k.height = k.height.max(self.offsets[i] + self.problem.items[i].size);
                    }
                }
                Answer::Never => {
                    // The next height that a packing can have: an item's size on a multiple of the unit.
                    let sizes = k.piece.items.iter().map(|i| self.problem.items[*i as usize].size);
                    let next = |s: u64| s + (target + 1 - s).next_multiple_of(self.unit);
                    self.floor = self.floor.max(sizes.map(next).min().unwrap_or(target + 1));
                }
                Answer::OutOfNodes => {}
                Answer::Stopped => return true,
            }
            self.at = if self.is_out_of_nodes() { self.known.len() } else { self.at + 1 };
        }
    }
}

/// 1, 1, 2, 1, 1, 2, 4, ...: how long to try before beginning anew, if nothing is known about how long it takes.
fn luby(mut number: u64) -> u64 {
    loop {
        let power = (number + 1).next_power_of_two();
        if power == number + 1 {
            return power / 2;
        }
        number -= power / 2 - 1;
    }
}
