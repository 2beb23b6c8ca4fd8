//! Requests of compiled modules.

use collective::module::{devices, groups, needs, scenario};
use flate2::read::GzDecoder;
use hlo::Module;
use std::io::Read;
use std::path::Path;

fn with_groups(attributes: &str) -> Module {
    let text = format!(
        "HloModule m, is_scheduled=true, num_partitions=8\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\nENTRY main {{\n  x = f32[4]{{0}} parameter(0)\n  ROOT r = f32[4]{{0}} all-reduce(x), {attributes}, to_apply=add\n}}\n"
    );
    hlo::read_owned(text).complete().expect("a module")
}

#[track_caller]
fn check(attributes: &str, expected: &[&[u32]]) {
    let module = with_groups(attributes);
    let root = module.root(module.entry);
    assert_eq!(groups(&module, root), expected, "{attributes}");
}

#[test]
fn groups_in_every_form() {
    assert_eq!(devices(&with_groups("channel_id=1")), 8);
    let all: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
    check("channel_id=1", &[all]);
    check("replica_groups={}", &[all]);
    check("replica_groups={{0,2},{1,3}}", &[&[0, 2], &[1, 3]]);
    check("replica_groups=[2,4]<=[8]", &[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
    check("replica_groups=[4,2]<=[2,4]T(1,0)", &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]);
    check("replica_groups=mesh['a'=2,'b'=4] {'b'}", &[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
    check("replica_groups=mesh['a'=2,'b'=4] {'a'}", &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]);
    check("replica_groups=mesh['a'=2,'b'=4] {'b','a'}", &[&[0, 4, 1, 5, 2, 6, 3, 7]]);
    check("source_target_pairs={{0,1},{1,0},{5,1}}", &[&[0, 1, 5]]);
    // What makes no sense is everybody.
    check("replica_groups=[3,3]<=[8]", &[all]);
    check("replica_groups=[2,4]<=[8]T(3)", &[all]);
}

fn real(name: &str) -> Vec<(String, usize, u64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dumps/tests/golden/gpu_collective");
    let file = std::fs::File::open(path.join(name).join("module.txt.gz")).expect("the module");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("text");
    let module = hlo::read_owned(text).complete().expect("a module");
    let target = analysis::Target::detect(&module);
    let orders = analysis::Orders::guess(&module, &target);
    let facts = analysis::Facts::new(&module, orders, target).expect("facts");
    let (assignment, _) = assigner::assign(&module, &facts, &facts.ranges, &assigner::Options::default());
    let scenario = scenario(&module, &facts, &assignment);
    assert_eq!(scenario.refusal(), None);
    let outcome = collective::run(&scenario);
    let needs = needs(&module, &facts, &assignment);
    for result in outcome.runs[0].ranks.values() {
        let tables = result.as_ref().expect("all agree");
        for need in &needs {
            for clique in &need.groups {
                assert!(tables.symmetric.contains_key(&(clique.clone(), need.allocation)));
            }
        }
    }
    let size = |n: usize| assignment.allocations[n].size;
    needs
        .iter()
        .map(|n| (module.name_of(n.instruction).to_owned(), n.allocation, size(n.allocation)))
        .collect()
}

/// The numbers and sizes are those of XLA's own dumps of these modules.
#[test]
fn allocations_of_colour_one() {
    let own = |list: &[(&str, usize, u64)]| -> Vec<(String, usize, u64)> {
        list.iter().map(|(n, a, s)| ((*n).to_owned(), *a, *s)).collect()
    };
    assert_eq!(real("psum_shardmap"), own(&[("all-reduce-start", 6, 16384)]));
    assert_eq!(
        real("tensor_parallel_mlp"),
        own(&[("all-reduce-start", 10, 8192), ("all-reduce-start.1", 10, 8192)])
    );
    assert_eq!(
        real("alltoall_permute"),
        own(&[("all_to_all.13.1", 3, 2048), ("collective-permute-start", 3, 2048)])
    );
}
