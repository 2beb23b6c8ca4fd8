//! Two memories: programs as libtpu had them before memory space assignment, what its log says of them, and the engine run
//! again for other capacities, copy engines and wishes.

use crate::state::State;
use assigner::words::{bytes, grouped};
use memory_space::cost::{Costs, Machine};
use memory_space::problem::{IntervalRule, Problem, Space, UseKind, UseOverride};
use memory_space::program::estimate_seconds;
use memory_space::replay::{self, Fixture, Row};
use memory_space::usage::{Usage, slow_spans, usage};
use memory_space::{
    Allocation, Assignment, CrossProgramResult, Decision, KeptBecause, NotConsidered, Outcome, Prefetch,
    PrefetchResult, PrefetchWindow, Segment, Step, Time, TryOutcome, UseRef, assign, words,
};
use packing::{Algorithm, BufferKey, Event};
use sorts::Arrange as _;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What there is to see.
    pub about: &'static str,
    /// The value and reader to begin with.
    first: (&'static str, &'static str),
    text: &'static str,
    log: &'static str,
}

/// Those of the figure.
pub const PROGRAMS: [Program; 3] = [
    Program {
        id: "gradients",
        title: "Four layers and their gradients (TPU v5e, 3.98 MiB of fast memory)",
        about: "Weights of 1 MiB and activations of 512 KiB, compiled with so little fast memory that not everything finds a place.",
        first: ("y.1", "multiply_add_fusion.3"),
        text: include_str!("../../assets/memory/gradients.txt"),
        log: include_str!("../../assets/memory/gradients.json"),
    },
    Program {
        id: "skips",
        title: "Layers with skip connections and sorts (TPU v5e, 3.98 MiB of fast memory)",
        about: "Four sorts keep the memory busy; the sums wait for them in slow memory and come back, and the first weight gives its place up.",
        first: ("multiply_add_fusion.2", "multiply_add_fusion.1"),
        text: include_str!("../../assets/memory/skips.txt"),
        log: include_str!("../../assets/memory/skips.json"),
    },
    Program {
        id: "loop",
        title: "A loop that carries a matrix (TPU v5e, 112 MiB of fast memory)",
        about: "A while loop: its state must be back at the same address at the end of the body.",
        first: ("convert", "while"),
        text: include_str!("../../assets/memory/loop.txt"),
        log: include_str!("../../assets/memory/loop.json"),
    },
];

/// One reader of one value: what is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Where it stands in the problem.
    pub read: UseRef,
    /// The buffer.
    pub buffer: u32,
    /// The value's name.
    pub value: String,
    /// The reader's name, without its operand.
    pub reader: String,
    /// When the value must be there.
    pub time: Time,
    /// When the copy must be done at the latest.
    pub done: Time,
    /// When the value is defined.
    pub defined: Time,
}

/// A program, read.
#[derive(Debug)]
pub struct Loaded {
    /// What the compiler was given.
    pub problem: Problem,
    /// What it put into fast memory.
    pub theirs: Vec<Row>,
    /// Every reader of every value that is tried.
    pub requests: Vec<Request>,
    /// Seconds for computing and for moving bytes of each instruction, by our own cost model.
    pub sides: Vec<(f32, f32)>,
    /// Bytes of fast memory that the slider calls 100.
    pub base: u64,
}

/// A program by its place in [`PROGRAMS`]; read once.
pub fn loaded(n: usize) -> Option<&'static Loaded> {
    static ALL: [OnceLock<Option<Loaded>>; PROGRAMS.len()] = [const { OnceLock::new() }; PROGRAMS.len()];
    let program = PROGRAMS.get(n)?;
    ALL[n].get_or_init(|| load(program)).as_ref()
}

fn load(program: &Program) -> Option<Loaded> {
    let fixture = Fixture::from_json(program.log).ok()?;
    let problem = fixture.problem();
    let module = hlo::read(program.text).complete().ok()?;
    let target = analysis::Target::detect(&module);
    let orders = analysis::Orders::guess(&module, &target);
    let facts = analysis::Facts::new(&module, orders, target).ok()?;
    let costs = Costs::new(&module, &facts, Machine::default());
    let sides = facts.clock.sequence.iter().map(|id| costs.sides(*id)).collect();
    let mut requests = Vec::new();
    for (index, buffer) in problem.buffers.iter().enumerate() {
        for (position, value) in buffer.allocation_values.iter().enumerate() {
            for (at, usage) in value.uses.iter().enumerate() {
                if usage.kind == UseKind::Trivial {
                    continue;
                }
                requests.push(Request {
                    read: UseRef::Buffer {
                        buffer: memory_space::problem::BufferIndex(index as u32),
                        position: position as u32,
                        usage: at as u32,
                    },
                    buffer: index as u32,
                    value: value.name.clone(),
                    reader: usage.name.split(',').next().unwrap_or_default().to_owned(),
                    time: usage.corrected_time,
                    done: usage.latest_prefetch_time.min(usage.corrected_time),
                    defined: value.definition_time,
                });
            }
        }
    }
    requests.arrange_by_key(|r| (r.time, r.buffer, r.read));
    let most = problem.options.max_size_in_bytes;
    let used = assign(&problem).ok()?.heap_size;
    let base = if used.saturating_mul(2) < most { used } else { most };
    Some(Loaded { problem, theirs: fixture.expected, requests, sides, base })
}

/// The least and the most that each slider gives: capacity and bandwidth in hundredths of what XLA had, overlap in hundredths of
/// the copy's time.
pub const CAPACITY: (i64, i64) = (10, 200);
/// See [`CAPACITY`].
pub const BANDWIDTH: (i64, i64) = (10, 400);
/// See [`CAPACITY`].
pub const OVERLAP: (i64, i64) = (20, 600);

/// What the reader set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The program, a place in [`PROGRAMS`].
    pub program: usize,
    /// Fast memory; `None`: what XLA had.
    pub capacity: Option<i64>,
    /// The copy engine's bandwidth.
    pub bandwidth: i64,
    /// How much time a copy must have.
    pub overlap: i64,
    /// A reader whose copy may start after this step only.
    pub pull: Option<(usize, Time)>,
}

impl Setting {
    /// What a figure's state says; anything else is as at first.
    pub fn of(state: &State) -> Self {
        let program = PROGRAMS.iter().position(|p| state.word("program") == Some(p.id)).unwrap_or(0);
        let number = |key, (low, high): (i64, i64)| state.number(key).map(|n| n.clamp(low, high));
        let readers = loaded(program).map_or(0, |l| l.requests.len());
        let pull = state.number("pull").and_then(|n| usize::try_from(n).ok()).filter(|n| *n < readers);
        let pull = pull.zip(state.number("start")).map(|(n, start)| {
            let done = loaded(program).map_or(0, |l| l.requests[n].done);
            (n, start.clamp(-1, (done - 1).max(-1)))
        });
        Self {
            program,
            capacity: number("capacity", CAPACITY),
            bandwidth: number("bandwidth", BANDWIDTH).unwrap_or(100),
            overlap: number("overlap", OVERLAP).unwrap_or(100),
            pull,
        }
    }

    /// As the figure begins.
    pub fn first(program: usize) -> Self {
        Self { program, capacity: None, bandwidth: 100, overlap: 100, pull: None }
    }

    /// Has XLA been given the same?
    pub fn is_theirs(&self) -> bool {
        *self == Self::first(self.program)
    }

    /// What the engine is given.
    pub fn problem(&self) -> Option<Problem> {
        let loaded = loaded(self.program)?;
        let mut problem = loaded.problem.clone();
        let options = &mut problem.options;
        if let Some(percent) = self.capacity {
            let size = loaded.base / 100 * percent.unsigned_abs();
            options.max_size_in_bytes = size - size % options.alignment_in_bytes.max(1);
        }
        options.copy_bandwidth_bytes_per_second *= self.bandwidth as f64 / 100.0;
        if let IntervalRule::Cost { min_overlap_ratio, preferred_overlap_ratio, .. } =
            &mut options.interval_rule
        {
            *min_overlap_ratio *= self.overlap as f32 / 100.0;
            *preferred_overlap_ratio *= self.overlap as f32 / 100.0;
        }
        if let Some((n, start)) = self.pull
            && let UseRef::Buffer { buffer, position, usage } = loaded.requests[n].read
        {
            let value = &mut problem.buffers[buffer.0 as usize].allocation_values[position as usize];
            value.uses[usage as usize].asked = Some(UseOverride::OnlyStart { start });
        }
        Some(problem)
    }
}

/// A place in slow memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowPlace {
    /// The buffer.
    pub buffer: u32,
    /// From when.
    pub start: Time,
    /// Until when, inclusive.
    pub end: Time,
    /// Where the packing of chapter 9 would put it.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The engine's answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// For what.
    pub setting: Setting,
    /// What was asked.
    pub problem: Problem,
    /// What came out.
    pub assignment: Assignment,
    /// Seconds with everything in slow memory, and with this.
    pub seconds: (f64, f64),
    /// Bytes in use.
    pub usage: Usage,
    /// Places in slow memory.
    pub slow: Vec<SlowPlace>,
}

/// Runs the engine.
pub fn run(setting: &Setting) -> Option<Run> {
    let problem = setting.problem()?;
    let assignment = assign(&problem).ok()?;
    let seconds = estimate_seconds(&problem, &assignment);
    let usage = usage(&problem, &assignment);
    let slow = slow_places(&problem, &assignment);
    Some(Run { setting: setting.clone(), problem, assignment, seconds, usage, slow })
}

/// Slow memory as buffer assignment will pack it next.
fn slow_places(problem: &Problem, assignment: &Assignment) -> Vec<SlowPlace> {
    let mut places = Vec::new();
    for (at, spans) in slow_spans(problem, assignment).into_iter().enumerate() {
        for (start, end) in spans {
            let size = problem.buffers[at].size;
            places.push(SlowPlace { buffer: at as u32, start, end, offset: 0, size });
        }
    }
    places.retain(|p| p.size > 0);
    let mut events = Vec::new();
    for time in -1..=problem.end_time() + 1 {
        for (at, p) in places.iter().enumerate().filter(|(_, p)| p.start == time) {
            events.push(Event::Alloc { buffer: BufferKey(at as u32), size: p.size });
        }
        for (at, _) in places.iter().enumerate().filter(|(_, p)| p.end == time) {
            events.push(Event::Free { buffer: BufferKey(at as u32) });
        }
    }
    let options = packing::Options {
        algorithm: Algorithm::BestOfSpatialTemporal,
        alignment: problem.options.alignment_in_bytes,
        ..packing::Options::default()
    };
    if let Ok(packed) = packing::pack(&events, &options) {
        for (at, place) in places.iter_mut().enumerate() {
            place.offset = packed.find(BufferKey(at as u32)).map_or(0, |(_, chunk)| chunk.offset);
        }
    }
    places
}

/// What becomes of a copy that may start at one step only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It is made.
    Fits,
    /// No copy is needed: the value stays, or was fetched before.
    NoCopy,
    /// Too little time to the reader, or another loop.
    TooNear,
    /// It would lie in fast memory for too long.
    TooEarly,
    /// The value is not there yet, or fast memory is full right before the reader.
    Full,
    /// There is no place from there on.
    NoPlace,
    /// Too many copies are under way.
    TooMany,
    /// The copy engine has no bandwidth left.
    NoBandwidth,
    /// It must be in slow memory, or everything tried for it was taken back.
    Forbidden,
}

impl Verdict {
    /// All, in the order of a legend.
    pub const ALL: [Self; 9] = [
        Self::Fits,
        Self::NoCopy,
        Self::TooNear,
        Self::TooEarly,
        Self::Full,
        Self::NoPlace,
        Self::TooMany,
        Self::NoBandwidth,
        Self::Forbidden,
    ];

    /// In two words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::NoCopy => "no copy",
            Self::TooNear => "too near",
            Self::TooEarly => "too early",
            Self::Full => "full",
            Self::NoPlace => "no place",
            Self::TooMany => "too many",
            Self::NoBandwidth => "no bandwidth",
            Self::Forbidden => "must not",
        }
    }

    /// A letter for narrow cells.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Fits => "✓",
            Self::NoCopy => "–",
            Self::TooNear => "N",
            Self::TooEarly => "E",
            Self::Full => "F",
            Self::NoPlace => "P",
            Self::TooMany => "M",
            Self::NoBandwidth => "B",
            Self::Forbidden => "S",
        }
    }

    /// XLA's name of the failure.
    pub fn failure(self) -> Option<&'static str> {
        match self {
            Self::Fits | Self::NoCopy => None,
            Self::TooNear | Self::TooEarly => Some("FailLiveRangeTooShort"),
            Self::Full | Self::NoPlace => Some("FailOutOfMemory"),
            Self::TooMany => Some("FailOutOfAsyncCopies"),
            Self::NoBandwidth => Some("FailViolatesAsyncCopyResource"),
            Self::Forbidden => Some("FailRequiresUncommit"),
        }
    }
}

impl Run {
    /// The request of that number.
    pub fn request(&self, n: usize) -> Option<&'static Request> {
        loaded(self.setting.program)?.requests.get(n)
    }

    /// Bytes of fast memory.
    pub fn capacity(&self) -> u64 {
        self.problem.options.max_size_in_bytes
    }

    /// The allocation that a reader reads.
    pub fn allocation(&self, request: &Request) -> Option<(usize, &Allocation)> {
        self.assignment.allocations.iter().enumerate().find(|(_, a)| a.uses.contains(&request.read))
    }

    /// Is the value in fast memory when it is read?
    pub fn is_fast(&self, request: &Request) -> bool {
        self.allocation(request).is_some_and(|(_, a)| a.space == Space::Alternate)
            || self.fetched(request).is_some()
    }

    /// What was decided about fetching its value before the program begins, if that was done.
    fn fetched(&self, request: &Request) -> Option<&CrossProgramResult> {
        let value = self.problem.buffers.get(request.buffer as usize)?.value;
        self.assignment.decisions.iter().find_map(|d| match d {
            Decision::CrossProgram(c)
                if c.value == value && !matches!(c.result, CrossProgramResult::NoPlace { .. }) =>
            {
                Some(&c.result)
            }
            _ => None,
        })
    }

    /// The last thing that was decided about a request.
    fn segment(&self, request: &Request) -> Option<&Segment> {
        let UseRef::Buffer { buffer, position, usage } = request.read else { return None };
        let value = &self.problem.buffers[buffer.0 as usize].allocation_values[position as usize];
        let wanted = &value.uses[usage as usize].name;
        self.assignment.decisions.iter().rev().find_map(|d| match d {
            Decision::Segment(s)
                if s.value == value.value && s.position == value.name && s.usage == *wanted =>
            {
                Some(s)
            }
            _ => None,
        })
    }

    /// How often everything was packed anew before the reader's buffer was final.
    fn repacked(&self, request: &Request) -> bool {
        self.assignment
            .decisions
            .iter()
            .any(|d| matches!(d, Decision::Repacked { buffer, .. } if buffer.0 == request.buffer))
    }

    /// Where a reader finds its value and why, in a few sentences.
    pub fn why(&self, n: usize) -> String {
        let Some(request) = self.request(n) else { return String::new() };
        let Request { value, reader, time, .. } = request;
        let place = if self.is_fast(request) { "fast" } else { "slow" };
        let head = format!("{reader}, at step {time}, reads {value} from {place} memory");
        if let Some(result) = self.fetched(request) {
            let rest = match result {
                CrossProgramResult::Freed { last_use, second_start, .. } => format!(
                    "it was fetched before the program began. Its place is free after step {last_use}, and it is fetched again for the next run, after step {second_start}"
                ),
                CrossProgramResult::Kept { because: KeptBecause::OccupiedTooLong { ratio }, .. } => format!(
                    "it was fetched before the program began, and keeps its place: it would be there for {:.0} % of the time anyway",
                    ratio * 100.0
                ),
                _ => "it was fetched before the program began, and keeps its place".to_owned(),
            };
            return format!("{head}: {rest}.");
        }
        let Some(segment) = self.segment(request) else {
            return format!("{head}: {}.", self.not_tried(request));
        };
        let steps: Vec<String> =
            segment.steps.iter().filter(|s| **s != Step::FromDefault).map(words::step).collect();
        let because = if steps.is_empty() { "nothing else was tried".to_owned() } else { steps.join("; ") };
        let mut text = format!("{head}: {because}.");
        if !segment.outcome.is_success() {
            _ = write!(text, " XLA's name for it: {}.", segment.outcome);
        }
        if self.repacked(request) {
            text += " Everything was packed anew to make room, and it was tried again.";
        }
        text
    }

    fn not_tried(&self, request: &Request) -> String {
        let reason = self.assignment.decisions.iter().find_map(|d| match d {
            Decision::NotConsidered { buffer, reason } if buffer.0 == request.buffer => Some(reason),
            _ => None,
        });
        match reason {
            Some(NotConsidered::TooLarge { size, available }) => {
                format!("it needs {}, and there are {}", bytes(*size), bytes(*available))
            }
            Some(NotConsidered::NotAllowed) => "it may not be in fast memory".to_owned(),
            _ => "it was not tried".to_owned(),
        }
    }

    /// What became of the request, in the terms of one start.
    pub fn verdict(&self, n: usize) -> Option<Verdict> {
        let request = self.request(n)?;
        let start = self.setting.pull.filter(|(of, _)| *of == n).map(|(_, start)| start);
        if let Some((_, a)) = self.allocation(request).filter(|(_, a)| a.space == Space::Alternate) {
            let is_it = a.copy.is_some_and(|c| c.done <= request.time && start.is_none_or(|s| s == c.start));
            let is_first = a.uses.first() == Some(&request.read);
            return Some(if is_it && is_first { Verdict::Fits } else { Verdict::NoCopy });
        }
        if self.fetched(request).is_some() {
            return Some(Verdict::NoCopy);
        }
        let Some(segment) = self.segment(request) else { return Some(Verdict::Forbidden) };
        let prefetch = segment.steps.iter().find_map(|s| match s {
            Step::Prefetch(p) => Some(p),
            _ => None,
        });
        Some(prefetch.map_or(Verdict::Forbidden, prefetch_verdict))
    }

    /// How many rows of XLA's own table are ours as well, of how many.
    pub fn same_rows(&self) -> (usize, usize) {
        let Some(loaded) = loaded(self.setting.program) else { return (0, 0) };
        let ours = replay::table(&self.assignment);
        let same = loaded.theirs.iter().filter(|row| ours.contains(row)).count();
        (same, loaded.theirs.len())
    }

    /// Time with and without fast memory, and how full it is.
    pub fn sentence(&self) -> String {
        let (before, after) = self.seconds;
        let (_, fast) = self.usage.peaks();
        format!(
            "An estimated {} instead of {}, {:.0} % less. Fast memory holds at most {} of {}.",
            micros(after),
            micros(before),
            (1.0 - after / before.max(f64::MIN_POSITIVE)) * 100.0,
            bytes(fast),
            bytes(self.capacity())
        )
    }

    /// The same rows as XLA, or how many of them.
    pub fn comparison(&self) -> String {
        let (same, all) = self.same_rows();
        let ours = self.assignment.in_alternate().count();
        if same == all && ours == all {
            format!("All {all} places are XLA's own, as its log has them.")
        } else {
            format!("XLA's log has {all} places in fast memory; {same} of our {ours} are the same.")
        }
    }
}

fn prefetch_verdict(prefetch: &Prefetch) -> Verdict {
    if matches!(prefetch.result, PrefetchResult::Copied { .. }) {
        return Verdict::Forbidden;
    }
    match prefetch.window {
        PrefetchWindow::Empty { .. } | PrefetchWindow::Full { .. } => Verdict::Full,
        PrefetchWindow::OnlyOutside { only, earliest, latest, .. }
            if earliest <= latest && only < earliest =>
        {
            Verdict::TooEarly
        }
        PrefetchWindow::OnlyOutside { .. } | PrefetchWindow::PreferredOutside { .. } => Verdict::TooNear,
        PrefetchWindow::TooNear { .. }
            if prefetch.result == (PrefetchResult::Failed { outcome: Outcome::OUT_OF_MEMORY }) =>
        {
            Verdict::NoPlace
        }
        PrefetchWindow::TooNear { .. } => Verdict::TooNear,
        PrefetchWindow::Forced => Verdict::NoPlace,
        PrefetchWindow::Open { .. } => match prefetch.tried.last().map(|t| t.outcome) {
            Some(TryOutcome::NoBandwidth { .. } | TryOutcome::OutOfOrder) => Verdict::NoBandwidth,
            Some(TryOutcome::TooMany { .. }) => Verdict::TooMany,
            _ => Verdict::NoPlace,
        },
    }
}

/// What would become of the copy for a reader, for each start there could be: from the value's definition (or before the
/// program) to right before the copy must be done.
pub fn starts(setting: &Setting, n: usize) -> Vec<(Time, Verdict)> {
    let Some(request) = loaded(setting.program).and_then(|l| l.requests.get(n)) else { return Vec::new() };
    (request.defined..request.done)
        .filter_map(|start| {
            let run = run(&Setting { pull: Some((n, start)), ..setting.clone() })?;
            Some((start, run.verdict(n)?))
        })
        .collect()
}

/// The value and reader that the puzzle wants room for.
pub const WANTED: (&str, &str) = ("convolution_tanh_fusion.1", "multiply_add_fusion.3");

/// Has that value a place in fast memory by one moved copy, all else being as XLA had it? And what that costs.
pub fn made_room(run: &Run, original: &Run) -> (bool, String) {
    let wanted = loaded(run.setting.program).and_then(|l| {
        let n = l.requests.iter().position(|r| (r.value.as_str(), r.reader.as_str()) == WANTED)?;
        l.requests.get(n)
    });
    let Some(wanted) = wanted.filter(|_| run.setting.program == 0) else {
        return (false, "This is another program.".to_owned());
    };
    let (now, before) = (run.seconds.1, original.seconds.1);
    let (now, before) = (micros(now), micros(before));
    let cost = if now == before {
        format!("The program takes as long as before, {now}.")
    } else {
        format!("The program takes {now} instead of {before}.")
    };
    let is_plain = Setting { pull: None, ..run.setting.clone() }.is_theirs();
    match (run.is_fast(wanted), is_plain) {
        (true, true) => (true, format!("It is in fast memory now. {cost} The engine had chosen well.")),
        (true, false) => (false, "It is in fast memory, but the sliders were moved, too.".to_owned()),
        (false, _) => (false, format!("It is read from slow memory. {cost}")),
    }
}

/// The reader that a program begins with.
pub fn first_request(program: usize) -> usize {
    let Some(loaded) = loaded(program) else { return 0 };
    let (value, reader) = PROGRAMS[program].first;
    loaded.requests.iter().position(|r| r.value == value && r.reader == reader).unwrap_or(0)
}

/// Microseconds in words.
pub fn micros(seconds: f64) -> String {
    format!("{:.2} µs", seconds * 1e6)
}

/// A place and a time in words: "1,048,576 to 2,097,151, steps 3 to 15".
pub fn place_words(allocation: &Allocation) -> String {
    let offset = allocation.offset.unwrap_or(0);
    format!(
        "{} to {}, steps {} to {}",
        grouped(offset),
        grouped(offset + allocation.size.saturating_sub(1)),
        allocation.start,
        allocation.end
    )
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn as_xla_had_it_every_place_is_xlas_own() {
        for (n, program) in PROGRAMS.iter().enumerate() {
            let run = run(&Setting::first(n)).expect("it runs");
            assert!(run.comparison().starts_with("All "), "{}: {}", program.id, run.comparison());
            let loaded = loaded(n).expect("it can be read");
            assert_eq!(loaded.sides.len(), loaded.problem.instructions.len());
            assert_ne!(run.why(first_request(n)), "");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_setting_survives_the_address(
            program in 0..PROGRAMS.len(),
            capacity in proptest::option::of(-50_i64..400),
            bandwidth in -50_i64..900,
            overlap in -50_i64..900,
            pull in proptest::option::of((-3_i64..60, -5_i64..60)),
        ) {
            let mut state = State::new(crate::state::Source::Shipped("attention_grad".to_owned()));
            state = state.with_param("program", PROGRAMS[program].id);
            state = state.with_param("bandwidth", bandwidth).with_param("overlap", overlap);
            if let Some(capacity) = capacity {
                state = state.with_param("capacity", capacity);
            }
            if let Some((n, start)) = pull {
                state = state.with_param("pull", n).with_param("start", start);
            }
            let setting = Setting::of(&state);
            let back = State::decode(&state.encode()).expect("what was written can be read");
            proptest::prop_assert_eq!(&Setting::of(&back), &setting);
            // Whatever the address says, there is an answer with a reason for every reader.
            let run = run(&setting);
            proptest::prop_assert!(run.is_some());
            if let (Some(run), Some((n, _))) = (run, setting.pull) {
                proptest::prop_assert!(!run.why(n).is_empty() && run.verdict(n).is_some());
            }
        }
    }

    #[test]
    fn every_cause_can_be_met() {
        let mut met = std::collections::BTreeSet::new();
        for n in 0..PROGRAMS.len() {
            let count = loaded(n).expect("it can be read").requests.len();
            for i in 0..count {
                met.extend(starts(&Setting::first(n), i).into_iter().map(|(_, v)| v));
            }
        }
        let never: Vec<Verdict> = Verdict::ALL.into_iter().filter(|v| !met.contains(v)).collect();
        // The compiler allows forty copies at a time.
        assert_eq!(never, [Verdict::TooMany]);
    }
}
