//! Sentences of an [`Explanation`].

use super::{an, bytes, grouped, interference_words, refusal};
use crate::explain::{Explanation, Fit, Reason, Until};
use crate::{AllocationId, NewKind, Placed};
use analysis::chain::{Link, LinkKind};
use analysis::sharing::{Clause, Interference};
use analysis::{Facts, LiveRange, ValueId};
use hlo::Module;

/// Free chunks that end beyond this go on for ever.
const FOR_EVER: u64 = 1 << 62;

/// Why two values do or do not share, in a few sentences: the answer first, then the reason.
#[must_use]
pub fn explanation(module: &Module, facts: &Facts, e: &Explanation) -> String {
    let name = |v| facts.label(module, v);
    let [a, b] = e.values.map(name);
    let answer = match (&e.reason, e.shares()) {
        (Reason::Same, _) => return format!("{a} is one value: both names mean it."),
        (Reason::MustAlias(_), _) => format!("{a} and {b} must share."),
        (_, true) => format!("{a} and {b} share {}.", bytes(e.common_bytes)),
        (_, false) => format!("{a} and {b} do not share."),
    };
    format!("{answer} {}", reason(module, facts, e))
}

/// Where a value stands and when: `256 B at 0 of allocation 11, steps 17 to 20`.
#[must_use]
pub fn place_words(place: Option<(AllocationId, Placed)>, range: Option<LiveRange>) -> String {
    let place = match place {
        Some((a, p)) => format!("{} at {} of allocation {}", bytes(p.size), grouped(p.offset), a.0),
        None => "no memory of its own".to_owned(),
    };
    match range {
        Some(r) if r.start == r.end => format!("{place}, step {}", r.start),
        Some(r) => format!("{place}, steps {} to {}", r.start, r.end),
        None => place,
    }
}

fn sentence(text: &str) -> String {
    let mut out = text.to_owned();
    out.push('.');
    out
}

/// One or more sentences.
fn reason(module: &Module, facts: &Facts, e: &Explanation) -> String {
    let name = |v| facts.label(module, v);
    match &e.reason {
        Reason::Same => String::new(),
        Reason::MustAlias(links) => {
            links.iter().map(|l| sentence(&link_words(module, facts, *l))).collect::<Vec<_>>().join(" ")
        }
        Reason::Disjoint { .. } if e.ranges.contains(&None) => {
            "One of them is certainly done before the other starts.".to_owned()
        }
        Reason::Disjoint { first, second } => {
            format!("{} is done before {} starts.", name(*first), name(*second))
        }
        Reason::WrittenOver { ends, starts, at, clause } => {
            let user = module.instruction(facts.defining(*starts));
            format!(
                "{} is read for the last time at step {at}, by the very instruction that writes {}, and {}.",
                name(*ends),
                name(*starts),
                allowed(*clause, module.str(user.opcode_name))
            )
        }
        Reason::NoMemory(v) => {
            let computation = module.instruction(facts.defining(*v)).computation;
            format!(
                "{} has no memory of its own: it is computed inside %{}, whose values stay in registers.",
                name(*v),
                module.computation_name(computation)
            )
        }
        Reason::Color([a, b]) => format!("They are in different memory spaces, {a} and {b}."),
        Reason::Category { value, kind } => {
            let v = name(*value);
            match kind {
                NewKind::Constant => format!("{v} is a constant, over which nothing may be written."),
                NewKind::Parameter => {
                    format!("{v} is in a parameter that was not donated, over which nothing may be written.")
                }
                NewKind::ThreadLocal => {
                    format!("{v} is in a computation that runs per element, with memory for each thread.")
                }
                NewKind::Tuple => format!("{v} is a tuple's table of addresses, which is never shared."),
                NewKind::Other => format!("{v} has an allocation of its own."),
            }
        }
        Reason::Interference { why: Interference::MayInterfere, .. } => {
            "Nothing says that one is done before the other starts.".to_owned()
        }
        Reason::Interference { why, holder, until } => {
            let [a, b] = match *why {
                Interference::Touch { ends, starts, .. } => [ends, starts],
                _ => [*holder, *holder],
            };
            let why = match why {
                Interference::Overlap(overlap) => {
                    let when = if overlap.from == overlap.to {
                        format!("at step {}", overlap.from)
                    } else {
                        format!("from step {} to step {}", overlap.from, overlap.to)
                    };
                    format!("Both are wanted {when}")
                }
                _ => interference_words(module, facts, a, b, why),
            };
            format!("{why}. {}", sentence(&until_words(module, facts, *holder, *until)))
        }
        Reason::InterferenceOfBuffers { a, b, why } => format!(
            "By themselves they could, but each brings along the values it must share an address with: {}.",
            interference_words(module, facts, *a, *b, why)
        ),
        Reason::Refused { value, allocation_of, refusal: why } => format!(
            "They could, but {} was refused the allocation of {}: {}.",
            name(*value),
            name(*allocation_of),
            refusal(module, facts, why)
        ),
        Reason::NeverTried { value, was_too_late: true } => format!(
            "They could, but the other one had its turn before there was an allocation of {}.",
            name(*value)
        ),
        Reason::NeverTried { value, was_too_late: false } => {
            format!(
                "They could, but another allocation was found first, and that of {} was not tried.",
                name(*value)
            )
        }
        Reason::HeapClock { first, second } => format!(
            "The heap takes one event after another, and there {} begins before {} is free; only a value that is written over its operand is spared that.",
            name(*second),
            name(*first)
        ),
        Reason::OtherHeap => "A limit on the size of a heap put them into different ones.".to_owned(),
        Reason::BestFit { earlier, later, fit } => {
            let (earlier, later) = (name(*earlier), name(*later));
            let chunk = |(from, to): (u64, u64)| {
                if to < FOR_EVER {
                    format!("from {} to {}", grouped(from), grouped(to))
                } else {
                    format!("from {} on", grouped(from))
                }
            };
            let why = match fit {
                Fit::Taken(by) => {
                    format!("by then {} was there, which is alive together with {later}", name(*by))
                }
                Fit::Tighter { chosen, other } => format!(
                    "the free chunk {} fits {later} more tightly than the one {}",
                    chunk(*chosen),
                    chunk(*other)
                ),
                Fit::StartOfChunk { from } => {
                    format!(
                        "it was put at the start, {}, of a free chunk that reaches so far",
                        grouped(*from)
                    )
                }
                Fit::NotWeighed => "that place was not among those the packer weighed".to_owned(),
            };
            format!(
                "Nothing between the two stands against it, but the packer places one after another: {earlier} had its place when the turn came to {later}, and {why}."
            )
        }
    }
}

/// What keeps a value: a sentence without its full stop.
fn until_words(module: &Module, facts: &Facts, value: ValueId, until: Until) -> String {
    let v = facts.label(module, value);
    match until {
        Until::Read(user) => format!("{} reads {v} last", module.name_of(user)),
        Until::Parameter => format!("{v} is a parameter that was not donated, so it is wanted to the end"),
        Until::Result => format!("{v} is a part of the result, so it is wanted to the end"),
        Until::Carried => {
            format!("{v} is carried on in the result of its computation or in a value that takes its place")
        }
    }
}

/// A link of a chain: a sentence without its full stop.
#[must_use]
pub fn link_words(module: &Module, facts: &Facts, link: Link) -> String {
    let (from, to) = (facts.label(module, link.from), facts.label(module, link.to));
    let at = module.name_of(link.at);
    match link.kind {
        LinkKind::Donation => format!("{from} is the output that takes the memory of the donated {to}"),
        LinkKind::WhileInit => {
            format!("{from} enters the loop {at} and so stands where its state {to} stands")
        }
        LinkKind::WhileParameter => format!("{from} is what the loop {at} sees of its state {to}"),
        LinkKind::WhileResult => {
            format!("{from} is what the body of the loop {at} gives back as its state {to}")
        }
        LinkKind::ConditionalResult => format!("{from} is what a branch of {at} gives back as {to}"),
        LinkKind::InPlace => format!("{at} writes {to} into its operand {from}"),
    }
}

/// Why an instruction may write over its operand: a clause without its full stop.
fn allowed(clause: Clause, opcode: &str) -> String {
    match clause {
        Clause::InPlace | Clause::Update => format!("{} writes into that operand", an(opcode)),
        Clause::BackendHint => "the backend allows it".to_owned(),
        Clause::LoopFusion => "all that this fusion does to it is element by element".to_owned(),
        Clause::OutputFusion => "in this fusion it is the addend of the product".to_owned(),
        Clause::ControlFlow => format!("{} may take over its operand", an(opcode)),
        Clause::Sort => "a sort may sort in place".to_owned(),
        Clause::Call => "the called computation ends in an element-by-element operation on it".to_owned(),
        Clause::Elementwise => format!("{} works element by element", an(opcode)),
        Clause::MatmulWorkspace | Clause::ConstantOperand | Clause::ShapesDiffer => {
            "that is allowed".to_owned()
        }
    }
}

/// Why a value that ends where another is written cannot be written over although nothing was asked of the operation: a
/// clause without its full stop.
///
/// XLA looks at the place where the value stands last, in a loop's result say; the instruction may well read it by
/// another name.
pub(super) fn not_an_operand(module: &Module, facts: &Facts, ends: ValueId, starts: ValueId) -> String {
    let (old, new) = (facts.label(module, ends), facts.label(module, starts));
    let user = facts.defining(starts);
    let reads = facts.value(ends).uses.iter().any(|u| u.user == user);
    match facts.ranges.get(ends).filter(|_| reads) {
        Some(range) => {
            let last = range.end_position;
            let shape = module.instruction(last.instruction).shape;
            let index = &module.shapes.subshapes(shape)[last.sub as usize].index;
            let index = if module.shapes.is_tuple(shape) { index.to_string() } else { String::new() };
            format!(
                "though {new} reads {old}, only the place where that stands last could be handed over, {}{index}, which {new} does not read",
                module.name_of(last.instruction)
            )
        }
        None => format!("{new} does not read {old}, so it cannot write over it"),
    }
}
