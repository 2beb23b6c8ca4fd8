//! What the page and its worker say to each other. All of it is plain data; the bytes of opened files go beside it.

use questions::Role;
pub use questions::{Edit, Repacked};
use serde::{Deserialize, Serialize};

/// A question with its ticket, by which the answer is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Counted up by the page.
    pub ticket: u32,
    /// What is asked.
    pub ask: Ask,
}

/// What the worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// It is there and listens; what was sent before is lost.
    Ready,
    /// It is still at it.
    Progress {
        /// Which request.
        ticket: u32,
        /// How far.
        progress: Progress,
    },
    /// An answer.
    Answer {
        /// Which request.
        ticket: u32,
        /// The answer.
        answer: Box<Answer>,
    },
    /// It has stopped for good, and why.
    Crashed(String),
}

/// How far a long request is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done: `Reading`, `Unpacking`, ...
    pub stage: String,
    /// The file or module at hand.
    pub what: String,
    /// How much is done, in bytes or in pieces.
    pub done: u64,
    /// Of how much, where it is known.
    pub of: Option<u64>,
    /// Are these bytes?
    pub bytes: bool,
}

/// Whose assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// As XLA's files have it.
    #[default]
    Dump,
    /// As our engine makes it of the module.
    Ours,
    /// The same with what is being tried.
    Tried,
    /// One of ours with its heaps packed as a search found it.
    Packed,
}

/// What can be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Open the files that come with the request, or the text in it.
    Open {
        /// Pasted text.
        text: Option<String>,
    },
    /// Read everything about a module.
    Choose {
        /// Its number in the list.
        module: u32,
    },
    /// All that is drawn of an assignment.
    Map {
        /// Whose.
        source: Source,
    },
    /// Values, filtered, sorted and grouped.
    Rows(RowsQuery),
    /// One value's line, for what is under the pointer.
    Line {
        /// Whose assignment.
        source: Source,
        /// The row.
        row: u32,
    },
    /// The names of values, as the map writes them into its bands.
    Names {
        /// Whose assignment.
        source: Source,
        /// The rows.
        rows: Vec<u32>,
    },
    /// The line of the value of that name.
    Named {
        /// Whose assignment.
        source: Source,
        /// Its name.
        name: String,
    },
    /// Everything about one value.
    Value {
        /// Whose assignment.
        source: Source,
        /// The row.
        row: u32,
    },
    /// Allocations with their owners.
    Slabs {
        /// Whose assignment.
        source: Source,
    },
    /// Lines of the module's text.
    Text {
        /// The first line, from 0.
        from: u32,
        /// How many.
        count: u32,
    },
    /// The next line that matches.
    Find {
        /// A regular expression.
        pattern: String,
        /// The line to begin after; from 0.
        after: Option<u32>,
        /// Backwards?
        back: bool,
    },
    /// Decisions of our assignment.
    Decisions {
        /// Only of this kind, as [`DECISION_KINDS`] names them.
        kind: Option<String>,
        /// A regular expression that the words must match.
        pattern: String,
        /// How many of those that fit to pass over.
        from: u32,
        /// How many.
        count: u32,
    },
    /// Why two values do or do not share.
    Pair {
        /// A row of our assignment, by name.
        a: String,
        /// Another.
        b: String,
    },
    /// Answers in words about the whole module, by topic.
    Topic {
        /// Whose assignment.
        source: Source,
        /// Which: a name of [`crate::topics::TOPICS`].
        topic: String,
    },
    /// The scopes of what is alive, as a tree.
    Tree {
        /// Whose assignment.
        source: Source,
        /// At which step; at any if there is none.
        alive_at: Option<u32>,
    },
    /// Another run with changes.
    Try(Trial),
    /// What can be tried with one value: where its instruction may run, and which reads of it can be left out.
    Hands {
        /// The value's name.
        name: String,
        /// Of the program as it was tried last, or as it is?
        tried: bool,
    },
    /// The changes as a part of an address.
    Link {
        /// The sample that is open, if it is one.
        sample: Option<String>,
        /// The changes.
        trial: Trial,
        /// What the module is compared with, if it is.
        beside: Option<Beside>,
    },
    /// The module with the changes as a file.
    Keep(Trial),
    /// Is the assignment right? It is executed.
    Check {
        /// Whose.
        source: Source,
    },
    /// Ends a search, for what would help most, the smallest heap or a small module, with what it has found; it has no
    /// answer of its own.
    Stop,
    /// What can be tried with donation.
    Donations,
    /// Which single changes would help most.
    Advise,
    /// How small the heaps could be: an exact search, as long as it is given.
    Smallest {
        /// Whose assignment.
        source: Source,
        /// When to end with what was found.
        seconds: u32,
    },
    /// Pack the heaps as a search found it; they are then [`Source::Packed`].
    Pack {
        /// Whose heaps.
        source: Source,
        /// Each of them.
        packings: Vec<Repacked>,
    },
    /// A file to be taken away.
    Export {
        /// Whose assignment.
        source: Source,
        /// A name of [`crate::export::FILES`].
        what: String,
    },
    /// The module as one page, with what is tried. The shell of such pages comes with the request, if there is one.
    Report(Trial),
    /// What differs between the module that is chosen and another one.
    Compare {
        /// Whose assignment of the one that is chosen.
        source: Source,
        /// The other one's number in the list.
        module: u32,
    },
    /// What makes the difference between the module that is chosen and the one it was compared with last, at a step of each.
    CompareAt {
        /// Whose assignment of the one that is chosen.
        source: Source,
        /// The memory space.
        color: u32,
        /// The step here and the step there; `None` where the program is over.
        steps: (Option<u32>, Option<u32>),
    },
    /// A small module that still shows why two values do or do not share.
    Reduce {
        /// A value by name.
        a: String,
        /// Another.
        b: String,
    },
}

/// The kinds by which the decision log is filtered.
pub const DECISION_KINDS: [&str; 9] =
    ["assign", "try", "refuse", "new", "reuse", "delay", "place", "heap", "absorb"];

/// A question about values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowsQuery {
    /// Whose assignment.
    pub source: Source,
    /// Which.
    pub filter: Filter,
    /// By what they are put together.
    pub group: Group,
    /// The group that is opened, if one is.
    pub within: Option<String>,
    /// In which order.
    pub sort: Sort,
    /// How many to pass over.
    pub from: u32,
    /// How many.
    pub count: u32,
}

/// Which values are wanted: all that meet every condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// A regular expression that name, opcode, shape, `op_name` or source must match; empty for all.
    pub pattern: String,
    /// Only in allocations of this kind.
    pub kind: Option<Kind>,
    /// Only in this memory space.
    pub color: Option<u32>,
    /// Only values of at least so many bytes.
    pub min_bytes: u64,
    /// Only what is alive at this step.
    pub alive_at: Option<u32>,
    /// Only what is alive for at least so many steps.
    pub min_steps: u32,
    /// Only in this allocation.
    pub allocation: Option<u32>,
}

impl Filter {
    /// Does it leave everything in?
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// By what values are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// Each for itself.
    #[default]
    None,
    /// The same shape and opcode: `32 × f32[64,128] fusion`.
    Shape,
    /// The same operation, numbers of layers and repetitions left out.
    Op,
    /// The same scope: the `op_name` without its last part.
    Scope,
    /// The same line of the program.
    Line,
    /// The same opcode.
    Opcode,
    /// The same kind of allocation.
    Kind,
    /// The same memory space.
    Space,
    /// Forward, recomputed or backward.
    Pass,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sort {
    /// The largest first.
    #[default]
    Bytes,
    /// By first step.
    Start,
    /// The longest alive first.
    Length,
    /// By allocation and offset.
    Place,
    /// By name.
    Name,
}

/// What an allocation is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// An entry parameter's memory.
    Argument,
    /// Holds a part of the result and is no argument.
    Output,
    /// Temporaries, reserved before the program runs.
    #[default]
    Temp,
    /// A constant.
    Constant,
    /// Memory of a computation that runs per element.
    ThreadLocal,
}

impl Kind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Kind; 5] = [Kind::Argument, Kind::Output, Kind::Temp, Kind::Constant, Kind::ThreadLocal];

    /// The engine's word for it.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Kind::Argument => Role::Argument,
            Kind::Output => Role::Output,
            Kind::Temp => Role::Temp,
            Kind::Constant => Role::Constant,
            Kind::ThreadLocal => Role::ThreadLocal,
        }
    }

    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.role().name()
    }
}

impl From<Role> for Kind {
    fn from(role: Role) -> Self {
        match role {
            Role::Argument => Kind::Argument,
            Role::Output => Kind::Output,
            Role::Temp => Kind::Temp,
            Role::Constant => Kind::Constant,
            Role::ThreadLocal => Kind::ThreadLocal,
        }
    }
}

/// What the worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// What was opened.
    Opened(Box<Opened>),
    /// A module, read.
    Chosen(Box<Chosen>),
    /// What is drawn.
    Map(Box<MapData>),
    /// Values.
    Rows(Rows),
    /// One value's line.
    Line(Box<RowLine>),
    /// One value.
    Value(Box<Detail>),
    /// Allocations.
    Slabs(Vec<SlabRow>),
    /// Lines of text.
    Text {
        /// The first line's number, from 0.
        from: u32,
        /// The lines; long ones are cut.
        lines: Vec<String>,
        /// How many there are.
        of: u32,
    },
    /// A line that matches, from 0, if there is one.
    Found(Option<u32>),
    /// Decisions.
    Decisions {
        /// Number and words of each.
        lines: Vec<DecisionLine>,
        /// How many fit.
        fitting: u32,
        /// How many there are.
        of: u32,
    },
    /// An answer in words.
    Words(Words),
    /// Scopes, depth first.
    Tree(Vec<TreeLine>),
    /// What a change came to.
    Tried(Box<Tried>),
    /// How small the heaps could be.
    Smallest {
        /// In words and a table.
        words: Words,
        /// The packings that were found.
        packings: Vec<Repacked>,
    },
    /// Two assignments side by side.
    Compared(Box<Compared>),
    /// What makes the difference at a step of each.
    ComparedAt(Box<Section>),
    /// A small module, and how many instructions there were and are.
    Reduced {
        /// Its text.
        text: String,
        /// Instructions of the module as it was.
        before: u64,
        /// Instructions that are left.
        after: u64,
        /// Was the search ended before it was done?
        stopped: bool,
    },
    /// The heaps are packed so; the sums.
    Packed(Box<SourceLine>),
    /// The names that were asked for, in that order.
    Names(Vec<String>),
    /// What can be tried with donation.
    Donations(Donations),
    /// What can be tried with one value.
    Hands(Box<Hands>),
    /// A part of an address, behind its `#`; `None` if it would be too long.
    Link {
        /// The part.
        hash: Option<String>,
        /// Its characters.
        length: u32,
        /// The most that an address may have.
        most: u32,
    },
    /// What would help most.
    Advised(Advised),
    /// A file.
    File {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
    /// It cannot be answered, and why.
    Failed(String),
}

/// What would help most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advised {
    /// The changes, the most bytes first.
    pub changes: Vec<ChangeLine>,
    /// How much was tried.
    pub tried: String,
    /// Of a program that does not fit: that no single change makes it, and what takes most.
    pub gap: Option<String>,
    /// What the savings are measured against, and what they leave out: sentences.
    pub cautions: Vec<String>,
}

/// A change that saves bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeLine {
    /// The change, as a clause.
    pub what: String,
    /// Bytes of all allocations that it saves.
    pub saves: u64,
    /// Bytes of temporaries, before and after.
    pub temp: (u64, u64),
    /// How it is made.
    pub edits: Vec<Edit>,
}

/// What can be tried with donation, each in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Donations {
    /// All that can be made together, if there are several.
    pub all: Option<(String, Vec<Edit>)>,
    /// Those that can be made, the largest first.
    pub free: Vec<(String, Edit)>,
    /// How many more there are.
    pub more: u32,
    /// Those that can be taken back, the largest first.
    pub taken: Vec<(String, Edit)>,
}

/// A decision in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionLine {
    /// Its number, from 0.
    pub number: u32,
    /// Its kind, one of [`DECISION_KINDS`].
    pub kind: String,
    /// What was decided.
    pub text: String,
    /// The row of our assignment it is about.
    pub row: Option<u32>,
}

/// Something said of a file, with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Is it an error?
    pub is_error: bool,
    /// `FILE:LINE:COLUMN`, or the name of a contradiction.
    pub place: String,
    /// What is to be said.
    pub text: String,
}

/// What was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// How many files there were, once archives were unpacked.
    pub files: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The modules, the largest first.
    pub modules: Vec<ModuleLine>,
    /// Out-of-memory errors.
    pub errors: Vec<OutOfMemory>,
    /// Verbose logs, in words.
    pub logs: Vec<Words>,
    /// What has to be said of files.
    pub notes: Vec<Note>,
    /// What to do, where there is no module.
    pub advice: Option<String>,
    /// Changes that were kept in a file beside their module.
    pub kept: Option<crate::address::Kept>,
}

/// A module of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleLine {
    /// Its number, by which it is chosen.
    pub module: u32,
    /// XLA's number.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The folder it was in.
    pub folder: String,
    /// The stage of the compilation.
    pub stage: String,
    /// The compiler.
    pub backend: String,
    /// Instructions.
    pub instructions: Option<u64>,
    /// The peak of live values, in bytes: of XLA's file, which misses parts of tuples, else ours.
    pub peak: Option<u64>,
    /// Is the peak worked out here, not read from a file?
    pub peak_is_ours: bool,
    /// The sum of XLA's allocations, in bytes.
    pub total: Option<u64>,
    /// Of it temporaries.
    pub temp: Option<u64>,
    /// Parameters and result.
    pub signature: String,
    /// How many modules have the same name.
    pub same_name: u32,
    /// Bytes that there were when it did not fit, as an out-of-memory error beside it says.
    pub limit: Option<u64>,
    /// How many contradictions were found in its files.
    pub findings: u32,
    /// What of the files is there.
    pub has: Vec<String>,
}

/// An out-of-memory error, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// The file.
    pub file: String,
    /// The modules it is about, by number.
    pub modules: Vec<u32>,
    /// XLA's own sentence.
    pub sentence: String,
    /// What it comes to, in our words.
    pub words: Vec<String>,
    /// What a number of the message is not, though its name says so.
    pub caution: Option<String>,
    /// The listing: bytes, shape, kind, what it is.
    pub buffers: Vec<[String; 4]>,
}

/// A module, read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its line of the list.
    pub line: ModuleLine,
    /// What it comes to: a few sentences.
    pub headline: Vec<String>,
    /// Contradictions between its files.
    pub findings: Vec<Note>,
    /// What is missing, what it costs, how to get it.
    pub missing: Vec<[String; 3]>,
    /// What is said of its files.
    pub notes: Vec<Note>,
    /// Whose assignments there are.
    pub sources: Vec<SourceLine>,
    /// How the dump's own assignment and ours differ.
    pub difference: Option<Words>,
    /// Sums by memory space.
    pub spaces: Vec<SpaceLine>,
    /// Lines of the module's text; 0 if it is not there.
    pub lines: u32,
    /// Can changes be tried: is there a module that our engine takes?
    pub can_try: bool,
    /// What is said first of each of `sources`.
    pub faces: Vec<Face>,
}

/// What is said first of an assignment: what makes its peak, and what stands out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Face {
    /// What stands out, the most bytes first.
    pub notable: Vec<Notable>,
    /// What most of the peak of the temporaries is made of, the most bytes first.
    pub makers: Vec<Maker>,
    /// Bytes in use at the peak of all memory, where there are no temporaries; else 0.
    pub in_use: u64,
    /// The instruction at the peak.
    pub peak_at: String,
    /// Of a program that did not fit: whether any packing can.
    pub packing: Option<String>,
    /// What most of the arguments, outputs and constants is made of, the most bytes first: only what counts beside the
    /// temporaries. Its operation is what it is for.
    pub beside: Vec<Maker>,
}

/// Something that stands out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notable {
    /// In a sentence or two.
    pub words: String,
    /// The row it is about, if it is about one.
    pub row: Option<u32>,
}

/// Values alike in shape, operation and scope that are alive at the peak, or whose allocations are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// How many places in memory they take.
    pub count: u32,
    /// Their shape.
    pub shape: String,
    /// Their operation, and forward, recomputed or backward where that is known.
    pub operation: String,
    /// The source line of the first.
    pub line: String,
    /// Their bytes.
    pub bytes: u64,
    /// The row of the largest.
    pub row: u32,
}

/// The sums of one assignment, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// Whose.
    pub source: Source,
    /// All allocations.
    pub total: u64,
    /// Sums by kind.
    pub by_kind: Vec<(Kind, u64, u32)>,
    /// Memory space and step at which most of the temporaries is taken, and how much; of a program without temporaries the
    /// step at which most of all memory is in use, and 0.
    pub peak: (u32, u32, u64),
}

/// One memory space of one assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceLine {
    /// Its number.
    pub color: u32,
    /// What it is.
    pub name: String,
    /// The sum of its allocations, in bytes.
    pub total: u64,
    /// Of it temporaries.
    pub temp: u64,
    /// The step at which most of those is taken, and how much.
    pub peak: (u32, u64),
    /// Its values.
    pub values: u32,
}

/// All that is drawn of an assignment, in columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapData {
    /// Whose.
    pub source: Source,
    /// One past the last step.
    pub end: u32,
    /// The allocations, in the order of the map.
    pub slabs: Vec<SlabFace>,
    /// For each band its row.
    pub row: Vec<u32>,
    /// Its slab, an index into `slabs`.
    pub slab: Vec<u32>,
    /// Its first step.
    pub start: Vec<u32>,
    /// Its last step.
    pub last: Vec<u32>,
    /// Where it begins in the slab, in bytes.
    pub offset: Vec<u64>,
    /// Its bytes.
    pub size: Vec<u64>,
    /// Its colour, one of ten.
    pub hue: Vec<u8>,
    /// Where the heap was packed otherwise: where the packer had each band. Else empty.
    pub was: Vec<u64>,
    /// The memory spaces that have temporaries.
    pub curves: Vec<SpaceCurve>,
    /// Each memory space with all that is reserved in it before the program runs.
    pub spaces: Vec<SpaceCurve>,
    /// The same of all memory spaces together.
    pub everything: SpaceCurve,
}

/// How much of a memory space is taken, step by step: of its temporaries, or of all in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceCurve {
    /// The memory space.
    pub color: u32,
    /// Bytes of the allocations: its temporary ones, or all.
    pub temp: u64,
    /// The step at which most is taken, and how much.
    pub peak: (u32, u64),
    /// From which step on how many bytes are taken.
    pub points: Vec<(u32, u64)>,
    /// Where the heap was packed otherwise: what the packer takes, and what no packing is below.
    pub bounds: Option<(u64, u64)>,
}

/// An allocation as the map shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabFace {
    /// Its number.
    pub number: u32,
    /// What it is.
    pub kind: Kind,
    /// Its memory space.
    pub color: u32,
    /// Its bytes.
    pub size: u64,
}

/// An allocation as the table shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabRow {
    /// Number, kind, space, bytes; `None` for the line into which many small ones are folded.
    pub face: SlabFace,
    /// How many allocations the line stands for.
    pub count: u32,
    /// What is in it.
    pub words: String,
    /// How many values.
    pub values: u32,
    /// Most that is alive in it at once, in bytes.
    pub most_live: u64,
}

/// Values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The lines that were asked for.
    pub lines: Vec<RowLine>,
    /// How many lines there are.
    pub of: u32,
    /// How many values fit.
    pub values: u32,
    /// The sum of their bytes, each address counted once.
    pub bytes: u64,
    /// Against what shares are counted: the bytes alive at the step, or of all allocations.
    pub whole: u64,
    /// What `whole` is.
    pub whole_words: String,
    /// The rows that fit, if the filter leaves some out: for the map.
    pub fitting: Option<Vec<u32>>,
    /// What is wrong with the regular expression.
    pub problem: Option<String>,
}

/// A value, or a group of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowLine {
    /// The row, or the largest of the group.
    pub row: u32,
    /// The group's key, if it is a group.
    pub key: Option<String>,
    /// How many values.
    pub count: u32,
    /// The name, or what the group has in common.
    pub name: String,
    /// Opcode.
    pub opcode: String,
    /// Shape.
    pub shape: String,
    /// Bytes in memory; of a group each address once.
    pub bytes: u64,
    /// The bytes of this line and of all before it.
    pub cumulative: u64,
    /// Bytes without padding.
    pub logical: Option<u64>,
    /// First and last step; `None` where they are not known.
    pub range: Option<(u32, u32)>,
    /// Allocation and offset.
    pub place: Option<(u32, u64)>,
    /// What the allocation is.
    pub kind: Option<Kind>,
    /// The memory space.
    pub color: u32,
    /// `op_name`.
    pub op: String,
    /// Source line.
    pub line: String,
    /// Forward, backward or recomputed, by the `op_name`.
    pub pass: String,
    /// Of a group whose values come from several places: these, each with how many values; the most values first. Then
    /// `op` is what their scopes have in common.
    pub places: Vec<(String, u32)>,
    /// How many more such places there are.
    pub more_places: u32,
}

/// Everything about one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Its line.
    pub line: RowLine,
    /// The text of its instruction.
    pub instruction: String,
    /// The line of the text, from 0.
    pub text_line: Option<u32>,
    /// What keeps it, why it is where it is, who shares with it: a heading and a few sentences each.
    pub words: Vec<Words>,
    /// Rows that share its memory.
    pub sharers: Vec<(u32, String)>,
    /// Rows of what it is made of.
    pub operands: Vec<(u32, String)>,
    /// Rows of what reads it.
    pub readers: Vec<(u32, String)>,
}

/// A heading and what stands under it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The heading.
    pub title: String,
    /// Sentences, or items.
    pub lines: Vec<String>,
    /// A table, its headings first. Lines of a cell are items of a list.
    pub table: Vec<Vec<String>>,
}

/// Two assignments side by side: in words and tables, and what is drawn of them on shared axes. Left is the module that is
/// chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// What differs. The first table is of sums.
    pub sections: Vec<Section>,
    /// Does nothing differ?
    pub same: bool,
    /// The last step of each.
    pub ends: (u32, u32),
    /// Steps of both at which the same is written, ascending on both sides. Of a run in which both go on at the same
    /// pace, only the first and the last.
    pub anchors: Vec<(u32, u32)>,
    /// How many such steps there are, and how many values were matched.
    pub aligned: (u32, u32),
    /// Matched values that begin at such a step.
    pub in_order: u32,
    /// The memory spaces that have temporaries on a side, by number; then [`ALL_MEMORY`].
    pub spaces: Vec<SharedSpace>,
    /// What is shown first of these, if it is not the one with the highest peak: all memory, where a sum says the opposite of
    /// the temporaries.
    pub first: Option<u32>,
    /// What is drawn of the other one. Values that are matched have the colours of this one's.
    pub other: MapData,
}

/// In place of a memory space's number: all memory that is reserved before the program runs.
pub const ALL_MEMORY: u32 = u32::MAX;

/// The temporaries of one memory space on both sides, or all memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSpace {
    /// Its number.
    pub color: u32,
    /// What it is.
    pub name: String,
    /// Here; empty if there are none.
    pub left: SpaceCurve,
    /// There.
    pub right: SpaceCurve,
}

/// An answer whose table says of which values of both sides each line is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The words.
    pub words: Words,
    /// For each line of the table but its headings; empty if the table is of no values.
    pub about: Vec<About>,
}

/// Values of both sides of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Here.
    pub left: Spans,
    /// There.
    pub right: Spans,
}

/// Values, and when they are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// Their rows.
    pub rows: Vec<u32>,
    /// First and last steps, apart from each other and ascending.
    pub steps: Vec<(u32, u32)>,
}

/// With what a module is compared, and how that is looked at: what an address keeps of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// The other module's number in the list.
    pub module: u32,
    /// How the two programs stand under each other.
    pub scale: Scale,
    /// The memory space; the one with the highest peak if there is none.
    pub space: Option<u32>,
    /// The place on the axis that is looked at, in whole places.
    pub at: Option<u32>,
}

/// How the steps of two programs are put on one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scale {
    /// What is matched stands under each other.
    #[default]
    Matched,
    /// Both are as wide as the axis.
    Share,
    /// A step is as wide on both sides.
    Steps,
}

impl Scale {
    /// All, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Matched, Self::Share, Self::Steps];

    /// A word for addresses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Share => "share",
            Self::Steps => "steps",
        }
    }
}

/// A scope of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLine {
    /// How deep, from 0.
    pub depth: u32,
    /// The part of the scope.
    pub name: String,
    /// Bytes of it and of all below, each address once.
    pub bytes: u64,
    /// Values of it and of all below.
    pub count: u32,
    /// The largest value.
    pub row: u32,
}

/// A run with changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The changes, in the order in which they are made.
    pub edits: Vec<Edit>,
}

/// What a trial came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The edits in words.
    pub edits: Vec<String>,
    /// The same with many donations in one clause.
    pub short: Vec<String>,
    /// What became of sizes and sharings, a sentence each.
    pub words: Vec<String>,
    /// All allocations, before and after, in bytes.
    pub total: (u64, u64),
    /// Temporaries.
    pub temp: (u64, u64),
    /// Most of them in use at once.
    pub peak: (u64, u64),
    /// The sums of the run.
    pub line: SourceLine,
    /// Is it right? In words.
    pub sound: String,
    /// Would running it spoil a value?
    pub is_unsound: bool,
    /// What is said first of the run.
    pub face: Face,
}

/// What can be tried with one value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hands {
    /// The value.
    pub value: String,
    /// The instruction that makes it.
    pub instruction: String,
    /// Where that may run, or why it cannot be moved.
    pub words: String,
    /// Where it may run.
    pub room: Option<RoomLine>,
    /// Reads that can be left out.
    pub reads: Vec<(String, Edit)>,
    /// Is it a copy that could be left out?
    pub is_copy: bool,
}

/// Where an instruction may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomLine {
    /// The step at which it runs.
    pub now: u32,
    /// Runs of steps that it may take, in order: first and last of each. Between them other computations run.
    pub runs: Vec<(u32, u32)>,
}

impl RoomLine {
    /// The step it may take that is nearest.
    #[must_use]
    pub fn nearest(&self, to: u32) -> u32 {
        self.runs
            .iter()
            .map(|(a, b)| to.clamp(*a, *b))
            .min_by_key(|s| (s.abs_diff(to), *s))
            .unwrap_or(self.now)
    }

    /// The next step it may take, later or earlier.
    #[must_use]
    pub fn next(&self, from: u32, later: bool) -> u32 {
        let steps = self.runs.iter().flat_map(|(a, b)| {
            [*a, *b, from.saturating_add(1).clamp(*a, *b), from.saturating_sub(1).clamp(*a, *b)]
        });
        let found = if later { steps.filter(|s| *s > from).min() } else { steps.filter(|s| *s < from).max() };
        found.unwrap_or(from)
    }

    /// The earliest step and the latest.
    #[must_use]
    pub fn ends(&self) -> (u32, u32) {
        let first = self.runs.first().map_or(self.now, |r| r.0);
        (first, self.runs.last().map_or(self.now, |r| r.1))
    }
}
