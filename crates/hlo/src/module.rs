//! Modules, computations and instructions, in typed arenas.

use crate::{Opcode, ShapeId, ShapeIndex, Shapes};

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into its arena.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type! {
    /// An instruction, numbered through the whole module in the order of the text.
    InstructionId
}
index_type! {
    /// A computation, in the order of the text.
    ComputationId
}

/// A piece of the module's own text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// Where it starts.
    pub start: u32,
    /// How long it is.
    pub len: u32,
}

/// A run of entries in one of the module's pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// The first entry.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Slice {
    /// As a range of indices.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// One `name=value` behind an instruction or in the module's header; kept as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// The name.
    pub name: Span,
    /// The value, braces and quotes included.
    pub value: Span,
}

/// Must, or may, an output stand in a parameter's buffer?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AliasKind {
    /// `may-alias`: the caller decides at run time.
    May,
    /// `must-alias`.
    Must,
}

/// One entry of `input_output_alias`: an output that stands in a donated parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// Where in the entry's result.
    pub output: ShapeIndex,
    /// The parameter's number.
    pub parameter: u32,
    /// Where in the parameter.
    pub parameter_index: ShapeIndex,
    /// May or must.
    pub kind: AliasKind,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Its name, without `%`.
    pub name: Span,
    /// The opcode as written.
    pub opcode_name: Span,
    /// What stands between the parentheses when that is no list of operands: a parameter's number, a constant's literal.
    pub payload: Span,
    /// The whole line as written, from the name (without `ROOT`) to the end of its last attribute.
    pub text: Span,
    /// The opcode.
    pub opcode: Opcode,
    /// The result's shape.
    pub shape: ShapeId,
    /// Where it stands.
    pub computation: ComputationId,
    pub(crate) operands: Slice,
    pub(crate) control_predecessors: Slice,
    pub(crate) called: Slice,
    pub(crate) attributes: Slice,
}

/// One computation.
#[derive(Clone, Debug)]
pub struct Computation {
    /// Its name, without `%`.
    pub name: Span,
    /// Its instructions in the order of the text: the schedule, if the module has one.
    pub instructions: Vec<InstructionId>,
    /// The instruction whose result is the computation's.
    pub root: InstructionId,
    /// Its parameters by number.
    pub parameters: Vec<InstructionId>,
    /// Attributes behind the closing brace (`execution_thread="..."`), as read.
    pub attributes: Slice,
}

/// A whole HLO module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The source text, and behind it whatever text was made since. Every [`Span`] points into it.
    pub(crate) text: String,
    /// The module's name.
    pub name: Span,
    /// The header's attributes.
    pub header: Vec<Attribute>,
    /// Tables between header and computations (`FileNames`, `StackFrames`, ...), as read.
    pub tables: Span,
    /// The computations in the order of the text.
    pub computations: Vec<Computation>,
    /// The instructions in the order of the text.
    pub instructions: Vec<Instruction>,
    /// The computation where the program starts.
    pub entry: ComputationId,
    /// All shapes.
    pub shapes: Shapes,
    /// Does the order of the text say in which order instructions run?
    pub is_scheduled: bool,
    /// Donated parameters and the outputs that take their buffers.
    pub input_output_alias: Vec<Alias>,
    pub(crate) operand_pool: Vec<InstructionId>,
    pub(crate) called_pool: Vec<ComputationId>,
    pub(crate) attribute_pool: Vec<Attribute>,
}

impl Module {
    /// A piece of the module's text.
    #[must_use]
    pub fn str(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.start as usize + span.len as usize).unwrap_or("")
    }

    /// Where a byte of the module's text stands.
    #[must_use]
    pub fn location(&self, offset: u32) -> crate::Location {
        crate::Location::of(&self.text, offset)
    }

    /// An instruction.
    #[must_use]
    pub fn instruction(&self, id: InstructionId) -> &Instruction {
        &self.instructions[id.index()]
    }

    /// A computation.
    #[must_use]
    pub fn computation(&self, id: ComputationId) -> &Computation {
        &self.computations[id.index()]
    }

    /// An instruction's name, without `%`.
    #[must_use]
    pub fn name_of(&self, id: InstructionId) -> &str {
        self.str(self.instruction(id).name)
    }

    /// A computation's name, without `%`.
    #[must_use]
    pub fn computation_name(&self, id: ComputationId) -> &str {
        self.str(self.computation(id).name)
    }

    /// The instructions whose results it reads, in order.
    #[must_use]
    pub fn operands(&self, id: InstructionId) -> &[InstructionId] {
        &self.operand_pool[self.instruction(id).operands.range()]
    }

    /// Instructions that must run before it though it does not read them, in the order written.
    #[must_use]
    pub fn control_predecessors(&self, id: InstructionId) -> &[InstructionId] {
        &self.operand_pool[self.instruction(id).control_predecessors.range()]
    }

    /// The computations it calls, in XLA's order (specification, 1.3): a while's body before its condition.
    #[must_use]
    pub fn called(&self, id: InstructionId) -> &[ComputationId] {
        &self.called_pool[self.instruction(id).called.range()]
    }

    /// Its attributes in the order written.
    #[must_use]
    pub fn attributes(&self, id: InstructionId) -> &[Attribute] {
        &self.attribute_pool[self.instruction(id).attributes.range()]
    }

    /// The value of one attribute as written, quotes and braces included.
    #[must_use]
    pub fn attribute(&self, id: InstructionId, name: &str) -> Option<&str> {
        self.attributes(id).iter().find(|a| self.str(a.name) == name).map(|a| self.str(a.value))
    }

    /// The value of one attribute of the header as written.
    #[must_use]
    pub fn header_attribute(&self, name: &str) -> Option<&str> {
        self.header.iter().find(|a| self.str(a.name) == name).map(|a| self.str(a.value))
    }

    /// The number of a parameter.
    #[must_use]
    pub fn parameter_number(&self, id: InstructionId) -> Option<u32> {
        match self.instruction(id).opcode {
            Opcode::Parameter => self.str(self.instruction(id).payload).trim().parse().ok(),
            _ => None,
        }
    }

    /// The root of a computation.
    #[must_use]
    pub fn root(&self, id: ComputationId) -> InstructionId {
        self.computation(id).root
    }

    /// Is it the root of its computation?
    #[must_use]
    pub fn is_root(&self, id: InstructionId) -> bool {
        self.computation(self.instruction(id).computation).root == id
    }

    /// All instructions.
    pub fn instruction_ids(&self) -> impl Iterator<Item = InstructionId> + use<> {
        (0..u32::try_from(self.instructions.len()).unwrap_or(u32::MAX)).map(InstructionId)
    }

    /// All computations.
    pub fn computation_ids(&self) -> impl Iterator<Item = ComputationId> + use<> {
        (0..u32::try_from(self.computations.len()).unwrap_or(u32::MAX)).map(ComputationId)
    }
}
