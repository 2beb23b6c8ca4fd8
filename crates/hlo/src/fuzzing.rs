//! Bodies of fuzz targets, here so that tests run them too.

use crate::{
    InstructionId, Module, Read, instruction_text, print, read, read_bytes, read_proto, read_proto_orders,
};

/// Whatever the bytes are, reading them ends and says something sensible; what was read without error prints as a text
/// that is read as the same module.
///
/// # Panics
///
/// When that is not so.
pub fn read_print_read(bytes: &[u8]) {
    check(read_bytes(bytes));
}

/// The same for a serialised proto; its orders are those of the module.
///
/// # Panics
///
/// When that is not so.
pub fn read_proto_print_read(bytes: &[u8]) {
    let read = read_proto(bytes);
    if let (Some(module), Ok(orders)) = (&read.module, read_proto_orders(bytes))
        && !read.has_errors()
    {
        assert_eq!(orders.computations.len(), module.computations.len());
        let instructions: usize = orders.computations.iter().map(|c| c.instructions.len()).sum();
        assert_eq!(instructions, module.instructions.len());
    }
    check(read);
}

fn check(first: Read) {
    let ok = !first.has_errors();
    assert!(first.module.is_some() || !ok, "no module, and no error that says why");
    let Some(module) = first.module else { return };
    let printed = print(&module);
    for id in module.instruction_ids() {
        _ = instruction_text(&module, id);
        _ = module.parameter_number(id);
        assert!(module.operands(id).iter().all(|o| o.index() < module.instructions.len()));
        assert!(module.called(id).iter().all(|c| c.index() < module.computations.len()));
        assert!(module.instruction(id).computation.index() < module.computations.len() || !ok);
    }
    if !ok {
        return;
    }
    let second = read(&printed);
    let errors: Vec<_> = second.diagnostics.iter().map(ToString::to_string).collect();
    assert!(!second.has_errors(), "{errors:?}\n{printed}");
    let again = second.module.expect("a module when there is no error");
    assert_eq!(print(&again), printed);
    assert_eq!(outline(&again), outline(&module));
}

/// What a module is apart from the numbers of its instructions: those made up by the reader stand elsewhere in the
/// text that is printed.
fn outline(module: &Module) -> Vec<String> {
    let mut out = Vec::new();
    for c in module.computation_ids() {
        let computation = module.computation(c);
        let names =
            |ids: &[InstructionId]| ids.iter().map(|i| module.name_of(*i)).collect::<Vec<_>>().join(" ");
        out.push(format!("{} ({})", module.computation_name(c), names(&computation.parameters)));
        for &i in &computation.instructions {
            let called: Vec<_> = module.called(i).iter().map(|c| module.computation_name(*c)).collect();
            out.push(format!(
                "{} {:?} {} [{}] [{}] {called:?}",
                module.name_of(i),
                module.instruction(i).opcode,
                module.shapes.long(module.instruction(i).shape),
                names(module.operands(i)),
                names(module.control_predecessors(i)),
            ));
        }
    }
    out
}
