//! Which arguments were donated, which output took them, and why nobody took the rest.

use crate::copies::{CopyKind, copied};
use crate::hold::value_at;
use crate::study::{Program, Role, Study};
use assigner::words::{bytes, list};
use hlo::{Alias, AliasKind, InstructionId, Module, ShapeId, ShapeIndex};
use std::collections::{HashMap, HashSet};

/// One argument: a leaf of an entry parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The parameter's number.
    pub parameter: u32,
    /// Where in it.
    pub index: ShapeIndex,
    /// The parameter's name, or the name that the program gave it.
    pub name: String,
    /// Its shape with layout.
    pub shape: String,
    /// Bytes it takes.
    pub bytes: u64,
    /// Its memory space.
    pub space: u32,
    /// What became of it.
    pub state: State,
    /// What is needed although it was taken, because it is read late, or because it is wanted otherwise.
    pub extras: Vec<Extra>,
}

/// What became of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// An output stands in its memory.
    Taken {
        /// Where in the result.
        output: ShapeIndex,
        /// May or must.
        kind: AliasKind,
    },
    /// It was offered (`buffer_donor`), and nobody took it.
    NotTaken(Vec<(ShapeIndex, WhyNot)>),
    /// It was not offered. These outputs would fit.
    NotOffered(Vec<ShapeIndex>),
}

/// Why an output did not take an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// It stands in another argument's memory.
    HasAnother,
    /// It has another number of bytes.
    Bytes(u64),
    /// It has as many bytes, but another shape or type; XLA would take it, JAX does not offer it.
    Shape,
    /// It has another sharding.
    Sharding,
    /// It is in another memory space, such as the host's.
    Space,
    /// Nothing is in the way: XLA could have taken it.
    Nothing,
}

/// What is needed beside an argument, and beside its output if that takes its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The output is computed in work space and copied into the argument's memory in the end.
    CopiedAtTheEnd {
        /// The copy.
        copy: InstructionId,
        /// What it copies: an index into [`Study::rows`].
        from: usize,
        /// Bytes of the work space.
        bytes: u64,
    },
    /// The argument is saved before it is written over.
    Saved {
        /// The copy.
        copy: InstructionId,
        /// Who reads the copy last.
        reader: Option<InstructionId>,
        /// Bytes of the copy.
        bytes: u64,
        /// The argument in whose memory the copy is, if it is not in work space: its parameter number.
        inside: Option<u32>,
    },
    /// The argument as a whole is made once more as its reader wants it: in another order, or with other elements.
    Otherwise {
        /// What makes it.
        copy: InstructionId,
        /// What is other than in the argument.
        kind: CopyKind,
        /// Who reads that last.
        reader: Option<InstructionId>,
        /// Bytes of it.
        bytes: u64,
    },
}

/// One array of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where in the result.
    pub index: ShapeIndex,
    /// Its shape with layout.
    pub shape: String,
    /// Bytes it takes.
    pub bytes: u64,
    /// Its memory space.
    pub space: u32,
    /// The argument in whose memory it stands: parameter and index.
    pub takes: Option<(u32, ShapeIndex)>,
    /// An argument of which it is a plain copy: its parameter number, and the copy.
    pub copy_of: Option<(u32, InstructionId)>,
}

/// Arguments and outputs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Donation {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
    /// Bytes of arguments that an output took.
    pub taken: u64,
    /// Bytes of outputs that could stand in arguments that are not donated, each argument and output once.
    pub could_save: u64,
}

impl Donation {
    /// What has to be said of arguments that no output fits: the program may have offered them. `None` where there are none.
    #[must_use]
    pub fn unseen_offers(&self) -> Option<&'static str> {
        let fits_nothing = |a: &Argument| matches!(&a.state, State::NotOffered(fits) if fits.is_empty());
        self.arguments.iter().any(fits_nothing).then_some(
            "An argument that is not donated in the module may have been in the program: JAX leaves an offer out, with a warning, where no output of a device has its shape and type.",
        )
    }
}

impl WhyNot {
    /// In words: what the output does instead; `own` is the argument's number of bytes.
    #[must_use]
    pub fn words(self, own: u64) -> String {
        match self {
            Self::HasAnother => "stands in another argument".to_owned(),
            Self::Bytes(n) if n < own => format!("takes {} only", bytes(n)),
            Self::Bytes(n) => format!("takes {}", bytes(n)),
            Self::Shape => "has another shape or type, though as many bytes".to_owned(),
            Self::Sharding => "has another sharding".to_owned(),
            Self::Space => "is in another memory space".to_owned(),
            Self::Nothing => "would fit".to_owned(),
        }
    }
}

impl Argument {
    /// What became of it, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.state {
            State::Taken { output, kind } => {
                let kind = if *kind == AliasKind::Must { "must" } else { "may" };
                format!("taken by output {output} ({kind} alias)")
            }
            State::NotTaken(why) if why.is_empty() => "offered, but there is no output".to_owned(),
            State::NotTaken(why) => {
                let why: Vec<String> =
                    why.iter().map(|(o, w)| format!("{o} {}", w.words(self.bytes))).collect();
                format!("offered, and nobody took it: output {}", list(&why, 6))
            }
            State::NotOffered(fits) if fits.is_empty() => {
                "not donated in this module; no free output has its size".to_owned()
            }
            State::NotOffered(fits) => {
                let fits: Vec<String> = fits.iter().map(ToString::to_string).collect();
                format!("not donated; output {} could stand there", list(&fits, 4))
            }
        }
    }
}

impl Extra {
    /// In words, as what follows upon the state of the argument. Needs the study that the table is of.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        let name = |id: InstructionId| study.program.as_ref().map_or("", |p| p.module.name_of(id));
        match self {
            Self::CopiedAtTheEnd { copy, from, bytes: n } => format!(
                "yet the output is computed in {} of work space ({}) and copied there by {}",
                bytes(*n),
                study.rows[*from].name,
                name(*copy)
            ),
            Self::Saved { copy, reader, bytes: n, inside } => {
                let reader = reader.map(|r| format!(", which {} reads last", name(r))).unwrap_or_default();
                let inside = inside.map(|p| format!(", in the memory of argument {p}")).unwrap_or_default();
                format!(
                    "it is still wanted when it is written over: {} saves it{inside}, {}{reader}",
                    name(*copy),
                    bytes(*n)
                )
            }
            Self::Otherwise { copy, kind, reader, bytes: n } => {
                let reader = reader.map(|r| format!(", which {} reads last", name(r))).unwrap_or_default();
                let (copy, n) = (name(*copy), bytes(*n));
                match kind {
                    CopyKind::Widening => {
                        format!("{copy} makes it once more with wider elements, {n}{reader}")
                    }
                    CopyKind::Narrowing => {
                        format!("{copy} makes it once more with narrower elements, {n}{reader}")
                    }
                    CopyKind::Retile => format!("{copy} makes it once more in other tiles, {n}{reader}"),
                    _ => format!("{copy} makes it once more in another order of dimensions, {n}{reader}"),
                }
            }
        }
    }
}

/// The donation table. Needs the program.
#[must_use]
pub fn donation(study: &Study) -> Option<Donation> {
    let program = study.program.as_ref()?;
    let Program { module, facts, .. } = program;
    let entry = module.computation(module.entry);
    let bytes = |shape: ShapeId| facts.target.bytes(&module.shapes, shape);
    let root = entry.root;
    let by_output: HashMap<&ShapeIndex, &Alias> =
        module.input_output_alias.iter().map(|a| (&a.output, a)).collect();
    let by_argument: HashMap<(u32, &ShapeIndex), &Alias> =
        module.input_output_alias.iter().map(|a| ((a.parameter, &a.parameter_index), a)).collect();
    let mut outputs: Vec<Output> = leaves(module, module.instruction(root).shape)
        .map(|(sub, index, shape)| Output {
            takes: by_output.get(&index).map(|a| (a.parameter, a.parameter_index.clone())),
            copy_of: copied_argument(program, root, sub),
            shape: module.shapes.long(shape).to_owned(),
            bytes: bytes(shape),
            space: module.shapes.memory_space(shape),
            index,
        })
        .collect();
    // A scalar that every program returns is no use as a taker; it is listed all the same.
    outputs.sort_by(|a, b| a.index.0.cmp(&b.index.0));
    let offered = donors(module.header_attribute("buffer_donor").unwrap_or(""));
    let mut out = Donation::default();
    for (number, id) in entry.parameters.iter().enumerate() {
        let number = number as u32;
        for (sub, index, shape) in leaves(module, module.instruction(*id).shape) {
            let alias = by_argument.get(&(number, &index)).copied();
            let own = bytes(shape);
            let long = module.shapes.long(shape).to_owned();
            let space = module.shapes.memory_space(shape);
            let is_offered = offered.contains(&(number, index.clone()));
            let state = match alias {
                Some(a) => State::Taken { output: a.output.clone(), kind: a.kind },
                None if is_offered => {
                    let why = outputs
                        .iter()
                        .map(|o| (o.index.clone(), why_not(module, *id, root, o, (own, space), &long)));
                    State::NotTaken(why.collect())
                }
                None => State::NotOffered(
                    outputs
                        .iter()
                        .filter(|o| o.takes.is_none() && o.bytes == own && o.space == space)
                        .map(|o| o.index.clone())
                        .collect(),
                ),
            };
            if alias.is_some() {
                out.taken = out.taken.saturating_add(own);
            }
            let extras = extras(study, program, *id, sub, alias.map(|a| &a.output));
            out.arguments.push(Argument {
                parameter: number,
                space,
                name: name_of(module, *id),
                index,
                shape: long,
                bytes: own,
                state,
                extras,
            });
        }
    }
    // Each argument can be taken once: the largest first.
    let mut free: Vec<&Output> = outputs.iter().filter(|o| o.takes.is_none()).collect();
    let mut arguments: Vec<&Argument> =
        out.arguments.iter().filter(|a| !matches!(a.state, State::Taken { .. })).collect();
    arguments.sort_by_key(|a| std::cmp::Reverse(a.bytes));
    let mut could_save = 0u64;
    for a in arguments {
        if let Some(i) = free.iter().position(|o| o.bytes == a.bytes && o.space == a.space) {
            could_save = could_save.saturating_add(free.remove(i).bytes);
        }
    }
    out.could_save = could_save;
    out.outputs = outputs;
    Some(out)
}

/// The arrays in a shape: their number among its parts, index and shape.
fn leaves(module: &Module, shape: ShapeId) -> impl Iterator<Item = (u32, ShapeIndex, ShapeId)> + '_ {
    module
        .shapes
        .subshapes(shape)
        .iter()
        .enumerate()
        .filter(|(_, s)| module.shapes.is_array(s.shape))
        .map(|(i, s)| (i as u32, s.index.clone(), s.shape))
}

fn name_of(module: &Module, parameter: InstructionId) -> String {
    dumps::op_name(module, parameter).unwrap_or_else(|| module.name_of(parameter).to_owned())
}

/// `{ (0, {}), (1, {0}) }`
pub(crate) fn donors(text: &str) -> HashSet<(u32, ShapeIndex)> {
    let mut out = HashSet::new();
    for piece in text.split('(').skip(1) {
        let piece = piece.split(')').next().unwrap_or("");
        let Some((number, index)) = piece.split_once(',') else { continue };
        let numbers = index.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
        if let Ok(number) = number.trim().parse() {
            out.insert((number, ShapeIndex(numbers.collect())));
        }
    }
    out
}

fn why_not(
    module: &Module,
    parameter: InstructionId,
    root: InstructionId,
    o: &Output,
    (own, space): (u64, u32),
    shape: &str,
) -> WhyNot {
    let sharding = |i| module.attribute(i, "sharding");
    if o.takes.is_some() {
        WhyNot::HasAnother
    } else if o.bytes != own {
        WhyNot::Bytes(o.bytes)
    } else if o.space != space {
        WhyNot::Space
    } else if o.shape != shape {
        WhyNot::Shape
    } else if sharding(parameter).is_some()
        && sharding(root).is_some()
        && sharding(parameter) != sharding(root)
    {
        WhyNot::Sharding
    } else {
        WhyNot::Nothing
    }
}

/// The argument that an output is a plain copy of, be it through another memory space, and the last copy.
fn copied_argument(program: &Program, root: InstructionId, sub: u32) -> Option<(u32, InstructionId)> {
    let Program { module, facts, .. } = program;
    let mut value = value_at(program, root, sub)?;
    let mut last = None;
    for _ in 0..16 {
        let at = facts.value(value).defined_at();
        if let (Some(number), true) = (
            module.parameter_number(at.instruction),
            module.instruction(at.instruction).computation == module.entry,
        ) {
            return last.map(|copy| (number, copy));
        }
        let found = copied(module, at.instruction)
            .into_iter()
            .find(|c| c.part == at.sub && matches!(c.kind, CopyKind::Plain | CopyKind::Transfer));
        // A piece of an array is not the array.
        let whole = found.filter(|_| module.instruction(at.instruction).opcode != hlo::Opcode::AsyncStart)?;
        last = last.or(Some(at.instruction));
        value = value_at(program, whole.operand, 0)?;
    }
    None
}

fn extras(
    study: &Study,
    program: &Program,
    parameter: InstructionId,
    sub: u32,
    output: Option<&ShapeIndex>,
) -> Vec<Extra> {
    let Program { module, facts, .. } = program;
    let mut out = Vec::new();
    let root = module.root(module.entry);
    let place = output.and_then(|o| module.shapes.find(module.instruction(root).shape, &o.0));
    if let Some(value) = place.and_then(|sub| value_at(program, root, sub)) {
        let at = facts.value(value).defined_at();
        // What only changes the memory space stands in none beside it.
        let found = copied(module, at.instruction)
            .into_iter()
            .find(|c| c.part == at.sub && c.kind != CopyKind::Transfer);
        if let Some(source) = found.and_then(|c| value_at(program, c.operand, 0))
            && let Some(from) = study.row_of(source)
            && study.slab(&study.rows[from]).role == Role::Temp
        {
            out.push(Extra::CopiedAtTheEnd { copy: at.instruction, from, bytes: study.rows[from].size });
        }
    }
    let Some(value) = value_at(program, parameter, sub) else { return out };
    let mut seen = HashSet::new();
    for user in facts.value(value).uses.iter().map(|u| u.user).filter(|u| seen.insert(*u)) {
        for c in copied(module, user) {
            if value_at(program, c.operand, 0) != Some(value) {
                continue;
            }
            let Some(made) = value_at(program, user, c.part) else { continue };
            let Some(row) = study.row_of(made).filter(|_| !facts.value(made).live_out) else { continue };
            let size = study.rows[row].size;
            let reader = crate::hold::hold(study, row).and_then(|h| h.last_readers.last().copied());
            match c.kind {
                // Nobody writes over what is not taken, so that nothing has to be saved from it.
                CopyKind::Plain if output.is_some() => out.push(Extra::Saved {
                    copy: user,
                    reader,
                    bytes: size,
                    inside: study.slab(&study.rows[row]).parameter.as_ref().map(|p| p.0),
                }),
                CopyKind::Plain | CopyKind::Transfer => {}
                kind => out.push(Extra::Otherwise { copy: user, kind, reader, bytes: size }),
            }
        }
    }
    out
}
