//! Who calls whom, who reads whom, and the order in which a computation is walked (1.2 to 1.4).

use crate::Orders;
use hlo::{ComputationId, InstructionId, Module, Opcode};
use rustc_hash::FxHashMap;

/// How a computation is called (1.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// By call, while, conditional or an async operation: it runs once a visit, and its buffers are global.
    ControlFlow,
    /// By a fusion, reducer, comparator or the like: it runs per element.
    Embedded,
}

/// Does this opcode call computations as control flow (1.4)?
#[must_use]
pub fn is_control_flow(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Call
            | Opcode::Conditional
            | Opcode::While
            | Opcode::AsyncStart
            | Opcode::AsyncUpdate
            | Opcode::AsyncDone
    )
}

/// One read of an instruction: the reader and the operand number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The reader.
    pub user: InstructionId,
    /// Which of its operands.
    pub operand: u32,
}

/// Calls, readers and walking orders of a module.
#[derive(Debug)]
pub struct CallGraph {
    callers: Vec<Vec<InstructionId>>,
    context: Vec<Context>,
    post_order: Vec<Vec<InstructionId>>,
    reads: Vec<Read>,
    reads_start: Vec<u32>,
    changed_reads: FxHashMap<InstructionId, Vec<Read>>,
}

impl CallGraph {
    /// Builds the graph. `orders` must have passed [`Orders`]'s own checks: calls are acyclic.
    #[must_use]
    pub fn new(module: &Module, orders: &Orders) -> Self {
        let computations = module.computations.len();
        let mut callers: Vec<Vec<InstructionId>> = vec![Vec::new(); computations];
        for id in module.instruction_ids() {
            for callee in module.called(id) {
                // A call site that names a computation twice is one caller.
                if callers[callee.index()].last() != Some(&id) {
                    callers[callee.index()].push(id);
                }
            }
        }

        // Readers, by counting sort; within an instruction they keep the order of the text.
        let mut reads_start = vec![0u32; module.instructions.len() + 1];
        for id in module.instruction_ids() {
            for operand in module.operands(id) {
                reads_start[operand.index() + 1] += 1;
            }
        }
        for i in 1..reads_start.len() {
            reads_start[i] += reads_start[i - 1];
        }
        let mut next = reads_start.clone();
        let mut reads =
            vec![Read { user: InstructionId(0), operand: 0 }; *reads_start.last().unwrap_or(&0) as usize];
        for user in module.instruction_ids() {
            for (operand, read) in module.operands(user).iter().enumerate() {
                let slot = &mut next[read.index()];
                reads[*slot as usize] = Read { user, operand: operand as u32 };
                *slot += 1;
            }
        }

        let mut graph = Self {
            callers,
            context: vec![Context::ControlFlow; computations],
            post_order: Vec::new(),
            reads,
            reads_start,
            changed_reads: FxHashMap::default(),
        };

        // Callers come last in the callee-first order, so walking it backwards sees each caller first.
        for &callee in orders.callee_first.iter().rev() {
            let embedded = graph.callers[callee.index()].iter().any(|&site| {
                !is_control_flow(module.instruction(site).opcode)
                    || graph.context[module.instruction(site).computation.index()] == Context::Embedded
            });
            if embedded {
                graph.context[callee.index()] = Context::Embedded;
            }
        }

        let mut visit = vec![0u8; module.instructions.len()];
        graph.post_order = module
            .computation_ids()
            .map(|c| graph.walk(module, &orders.instructions[c.index()], &mut visit))
            .collect();
        graph
    }

    /// The call sites of a computation, in the order of the text, each once.
    #[must_use]
    pub fn callers(&self, id: ComputationId) -> &[InstructionId] {
        &self.callers[id.index()]
    }

    /// How a computation is called. The entry counts as control flow.
    #[must_use]
    pub fn context(&self, id: ComputationId) -> Context {
        self.context[id.index()]
    }

    /// The instructions of a computation, operands before their readers (1.2).
    #[must_use]
    pub fn post_order(&self, id: ComputationId) -> &[InstructionId] {
        &self.post_order[id.index()]
    }

    /// Who reads an instruction's result, as which operand, in the order of the text.
    #[must_use]
    pub fn reads(&self, id: InstructionId) -> &[Read] {
        // Almost always there is none.
        if !self.changed_reads.is_empty()
            && let Some(reads) = self.changed_reads.get(&id)
        {
            return reads;
        }
        &self.reads[self.reads_start[id.index()] as usize..self.reads_start[id.index() + 1] as usize]
    }

    /// Notes that operands have changed: who reads `id` now. Reads by one instruction stand together.
    pub fn set_reads(&mut self, id: InstructionId, reads: Vec<Read>) {
        self.changed_reads.insert(id, reads);
    }

    /// The instructions that read `id`, each once, in the order of the text.
    pub fn users(&self, id: InstructionId) -> impl Iterator<Item = InstructionId> + '_ {
        let reads = self.reads(id);
        reads
            .iter()
            .enumerate()
            .filter(move |(i, r)| *i == 0 || reads[i - 1].user != r.user)
            .map(|(_, r)| r.user)
    }

    /// Depth first from each instruction that nobody reads. 0: new, 1: on the stack, 2: done.
    fn walk(&self, module: &Module, instructions: &[InstructionId], visit: &mut [u8]) -> Vec<InstructionId> {
        let mut out = Vec::with_capacity(instructions.len());
        let mut stack: Vec<InstructionId> = Vec::new();
        for &start in instructions {
            if !self.reads(start).is_empty() {
                continue;
            }
            stack.push(start);
            while let Some(&at) = stack.last() {
                match visit[at.index()] {
                    0 => {
                        visit[at.index()] = 1;
                        let unfinished = |i: &&InstructionId| visit[i.index()] != 2;
                        stack.extend(module.operands(at).iter().rev().filter(unfinished));
                        stack.extend(module.control_predecessors(at).iter().filter(unfinished));
                    }
                    1 => {
                        visit[at.index()] = 2;
                        out.push(at);
                        stack.pop();
                    }
                    _ => {
                        stack.pop();
                    }
                }
            }
        }
        out
    }
}
