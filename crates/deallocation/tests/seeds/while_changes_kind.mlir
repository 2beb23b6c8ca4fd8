func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %r:2 = scf.while (%s = %a) : (memref<8xf32>) -> (index, memref<8xf32>) {
    "test.use"(%s) : (memref<8xf32>) -> ()
    %b = memref.alloc() : memref<8xf32>
    scf.condition(%c) %n, %b : index, memref<8xf32>
  } do {
  ^bb0(%k: index, %t: memref<8xf32>):
    "test.use"(%t) : (memref<8xf32>) -> ()
    scf.yield %t : memref<8xf32>
  }
  "test.use"(%r#1) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  return
}
