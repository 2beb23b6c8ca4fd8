//! What libtpu wrote into the fusions of real modules comes back when it is cleared and carried in anew.

use flate2::read::GzDecoder;
use hlo::Opcode;
use memory_space::propagation::{Change, Place, apply, propagate};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

#[test]
fn fusions_get_back_what_libtpu_gave_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/placed");
    let mut cleared = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        let original = hlo::read(&text).complete().unwrap();
        let mut module = original.clone();
        let fused: BTreeSet<hlo::ComputationId> = module
            .instruction_ids()
            .filter(|id| module.instruction(*id).opcode == Opcode::Fusion)
            .flat_map(|id| module.called(id).to_vec())
            .collect();
        let inside: Vec<hlo::InstructionId> = module
            .instruction_ids()
            .filter(|id| fused.contains(&module.instruction(*id).computation))
            .collect();
        let mut changes = Vec::new();
        for id in &inside {
            let places = module.shapes.subshapes(module.instruction(*id).shape).iter().enumerate();
            for (sub, place) in places {
                let from = module.shapes.memory_space(place.shape);
                if from != 0 {
                    let place = Place { instruction: *id, sub: sub as u32 };
                    changes.push(Change { place, from, to: 0 });
                }
            }
        }
        cleared += changes.len();
        assert_eq!(apply(&mut module, &changes), 0);
        let changes = propagate(&module);
        assert_eq!(apply(&mut module, &changes), 0);
        for id in inside {
            let shape = |m: &hlo::Module| m.shapes.long(m.instruction(id).shape).to_owned();
            assert_eq!(shape(&module), shape(&original), "{}: %{}", path.display(), module.name_of(id));
        }
    }
    assert!(cleared > 100, "{cleared}");
}
