func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %z = memref.alloc() : memref<8xf32>
  %r = scf.for %i = %n to %n step %n iter_args(%s = %z) -> (memref<8xf32>) {
    %q = scf.for %j = %n to %n step %n iter_args(%t = %s) -> (memref<8xf32>) {
      %a = memref.alloc() : memref<8xf32>
      "test.use"(%t, %a) : (memref<8xf32>, memref<8xf32>) -> ()
      scf.yield %a : memref<8xf32>
    }
    scf.yield %q : memref<8xf32>
  }
  "test.use"(%r) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  return
}
